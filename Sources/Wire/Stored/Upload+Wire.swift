import ChatModel

extension UploadRecord: WireMessage {
    public static var blank: UploadRecord { UploadRecord(draft: .blank, user: nil, createdAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "draft", &draft)
        try walker.optional(2, "user", &user)
        try walker.required(3, "createdAt", &createdAt)
        try walker.optional(4, "digest", &digest)
        try walker.shown(5, "isInline", &isInline)
        try walker.repeated(6, "references", &references)
        try walker.optional(7, "shownUntil", &shownUntil)
        try walker.optional(8, "replacedAt", &replacedAt)
        try walker.optional(9, "heldUntil", &heldUntil)
    }
}

extension UploadReference: WireMessage {
    public static var blank: UploadReference { UploadReference(seq: 0, keptUntil: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "seq", &seq)
        try walker.required(2, "keptUntil", &keptUntil)
        try walker.optional(3, "time", &time)
    }
}

extension SharedUpload: WireMessage {
    public static var blank: SharedUpload { SharedUpload(mediaID: "", record: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "mediaId", &mediaID)
        try walker.required(2, "record", &record)
    }
}

extension UploadTicket: WireMessage {
    public static var blank: UploadTicket { UploadTicket(mediaID: "", contentType: "", expiresAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "mediaId", &mediaID)
        try walker.shown(2, "contentType", &contentType)
        try walker.required(3, "expiresAt", &expiresAt)
    }
}

extension MediaReader: WireMessage {
    public static var blank: MediaReader { MediaReader(user: .blank, session: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "session", &session)
    }
}

extension MediaStatus: WireMessage {
    public static var blank: MediaStatus { MediaStatus(record: .blank, isReaderHere: false, isReadable: false) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "record", &record)
        try walker.shown(2, "isReaderHere", &isReaderHere)
        try walker.shown(3, "isReadable", &isReadable)
    }
}
