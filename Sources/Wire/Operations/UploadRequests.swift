import ChatModel

extension UploadKind: WireEnum {
    public static var blank: UploadKind { .file }
    public var number: Int {
        switch self {
        case .image: 1
        case .audio: 2
        case .video: 3
        case .file: 4
        case .avatar: 5
        }
    }
}

extension UploadDraft: WireMessage {
    public static var blank: UploadDraft { UploadDraft(kind: .blank, name: "", contentType: "", size: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walkFields(&walker)
    }

    /// Content is described with the numbers 2 to 6 wherever it is.
    mutating func walkFields<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(2, "kind", &kind)
        try walker.required(3, "name", &name, .bytes(Limits.uploadNameBytes))
        try walker.required(4, "contentType", &contentType, .nonEmptyBytes(Limits.uploadNameBytes))
        try walker.required(5, "size", &size, .integers(1, .max))
        try walker.optional(6, "sha256", &sha256, .nonEmptyBytes(64))
        guard W.isDecoding, walker.enforcesLimits else { return }
        guard size <= kind.bytesMax else {
            throw ChatError(.tooLarge, "\(kind.rawValue) may have \(kind.bytesMax) bytes", field: "size")
        }
        guard Self.isHeaderValue(contentType) else {
            throw ChatError(.badParameter, "must be a media type such as image/png", field: "contentType")
        }
        // Everybody reads avatars without a token: they are pictures, and no place to leave other files.
        guard kind != .avatar || PictureType(contentType: contentType) != nil else {
            throw ChatError(
                .badParameter, "an AVATAR must be \(PictureType.allCases.map(\.rawValue).joined(separator: ", "))",
                field: "contentType")
        }
        guard sha256.map(Self.isDigest) ?? true else {
            throw ChatError(.badParameter, "must be 64 hexadecimal digits of lower case", field: "sha256")
        }
    }

    /// It comes back in a header of HTTP.
    private static func isHeaderValue(_ text: String) -> Bool {
        text.utf8.allSatisfy { 0x20..<0x7F ~= $0 } && text.utf8.contains(UInt8(ascii: "/"))
    }

    private static func isDigest(_ text: String) -> Bool {
        text.utf8.count == 64 && text.utf8.allSatisfy { 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }
    }
}

/// A place for content.
public struct UploadRequest: ChangeBody, Hashable {
    public var room: RoomID
    public var draft: UploadDraft
    public var clientID: String?

    public static var blank: UploadRequest { UploadRequest(room: .blank, draft: .blank) }

    public init(room: RoomID, draft: UploadDraft, clientID: String? = nil) {
        self.room = room
        self.draft = draft
        self.clientID = clientID
    }

    var contentBytes: Int { bytes(draft.name, draft.contentType) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try draft.walkFields(&walker)
        try walker.optional(40, "clientId", &clientID, .nonEmptyBytes(Limits.clientIDBytes))
    }
}

/// The reply to `upload`: where to send the content.
public struct UploadResult: WireMessage, Hashable {
    public var mediaID: String
    /// Relative to the gateway.
    public var url = ""
    public var method = "PUT"
    /// The headers that the PUT must have.
    public var headers: [QueuePair] = []
    public var expiresAt: Timestamp

    public static var blank: UploadResult {
        UploadResult(UploadTicket(mediaID: "", contentType: "", expiresAt: .blank))
    }

    public init(_ ticket: UploadTicket) {
        mediaID = ticket.mediaID
        expiresAt = ticket.expiresAt
        if !ticket.contentType.isEmpty { headers = [QueuePair(key: "Content-Type", value: ticket.contentType)] }
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "mediaId", &mediaID)
        try walker.shown(2, "url", &url)
        try walker.shown(3, "method", &method)
        try walker.map(4, "headers", &headers, itemsMax: 16, keyBytes: 64, valueBytes: 1024)
        try walker.required(5, "expiresAt", &expiresAt)
    }
}

/// A session's right to read the content of a room: in the reply to `enter`, and the reply to `mediaToken`.
public struct MediaToken: WireMessage, Hashable {
    public var token: String
    public var expiresAt: Timestamp

    public static var blank: MediaToken { MediaToken(token: "", expiresAt: .blank) }

    public init(token: String, expiresAt: Timestamp) {
        self.token = token
        self.expiresAt = expiresAt
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "token", &token)
        try walker.required(2, "expiresAt", &expiresAt)
    }
}
