import ChatModel

extension MessageBody {
    /// Visits the fields of a body of `type`; fields of other types are not looked at. They stand beside the message's
    /// own fields, with the numbers 20 to 44.
    mutating func walk<W: FieldWalker>(type: MessageType, _ walker: inout W) throws(ChatError) {
        guard !W.describesSchema else {
            for each in MessageType.allCases { try walkFields(of: each, &walker) }
            return
        }
        try walkFields(of: type, &walker)
    }

    private mutating func walkFields<W: FieldWalker>(of type: MessageType, _ walker: inout W) throws(ChatError) {
        switch type {
        case .text, .tip: try walkText(type, &walker)
        case .command: try walkCommand(&walker)
        case .image, .audio, .video, .file: try walkMedia(type, &walker)
        case .location: try walkLocation(&walker)
        case .custom: try walkCustom(&walker)
        case .combine: try walkCombine(&walker)
        case .notification: try walkNotification(&walker)
        case .unknown: break
        }
    }

    private mutating func walkText<W: FieldWalker>(_ type: MessageType, _ walker: inout W) throws(ChatError) {
        var text: String
        switch self {
        case .text(let content), .tip(let content): text = content
        default: text = ""
        }
        try walker.required(20, "text", &text, .bytes(Limits.textBytes))
        if W.isDecoding { self = type == .tip ? .tip(text) : .text(text) }
    }

    private mutating func walkCommand<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var payload: [UInt8] = []
        if case .command(let content) = self { payload = content }
        try walker.required(21, "payload", &payload, .bytes(Limits.commandPayloadBytes))
        if W.isDecoding { self = .command(payload: payload) }
    }

    private mutating func walkMedia<W: FieldWalker>(_ type: MessageType, _ walker: inout W) throws(ChatError) {
        var media = Media.blank
        switch self {
        case .image(let content), .audio(let content), .video(let content), .file(let content): media = content
        default: break
        }
        try walker.required(22, "media", &media)
        guard W.isDecoding else { return }
        if walker.enforcesLimits { try media.checkLimits(of: type) }
        switch type {
        case .image: self = .image(media)
        case .audio: self = .audio(media)
        case .video: self = .video(media)
        default: self = .file(media)
        }
    }

    private mutating func walkLocation<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (latitude, longitude, title) = (0.0, 0.0, "")
        if case .location(let north, let east, let name) = self { (latitude, longitude, title) = (north, east, name) }
        try walker.required(23, "latitude", &latitude, .numbers(-90, 90))
        try walker.required(24, "longitude", &longitude, .numbers(-180, 180))
        try walker.required(28, "title", &title, .bytes(Limits.titleBytes))
        if W.isDecoding { self = .location(latitude: latitude, longitude: longitude, title: title) }
    }

    private mutating func walkCustom<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (content, subtype, searchable): (String, Int64, String?) = ("", 0, nil)
        if case .custom(let text, let number, let words) = self {
            (content, subtype, searchable) = (text, number, words)
        }
        try walker.required(25, "content", &content, .bytes(Limits.textBytes))
        try walker.required(26, "subtype", &subtype, .integers(0, Limits.customSubtypeMax))
        try walker.optional(27, "searchable", &searchable, .bytes(Limits.searchableBytes))
        if W.isDecoding { self = .custom(content: content, subtype: subtype, searchable: searchable) }
    }

    private mutating func walkCombine<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var (title, summary, messageIDs): (String, String, [String]) = ("", "", [])
        if case .combine(let name, let text, let list) = self { (title, summary, messageIDs) = (name, text, list) }
        try walker.required(28, "title", &title, .bytes(Limits.titleBytes))
        try walker.required(29, "summary", &summary, .bytes(Limits.titleBytes))
        try walker.list(
            30, "messageIds", &messageIDs, itemsMax: Limits.combineMessages, .nonEmptyBytes(Limits.opaqueIDBytes))
        guard W.isDecoding else { return }
        if walker.enforcesLimits, messageIDs.isEmpty { throw .missing("messageIds") }
        self = .combine(title: title, summary: summary, messageIDs: messageIDs)
    }

    private mutating func walkNotification<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var notification = Notification(.enter)
        if case .notification(let content) = self { notification = content }
        try notification.walk(&walker)
        if W.isDecoding { self = .notification(notification) }
    }
}

extension Media: WireMessage {
    public static var blank: Media { Media(url: "", name: "", size: 0, contentType: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "url", &url, .bytes(Limits.urlBytes))
        try walker.required(2, "name", &name, .bytes(Limits.urlBytes))
        try walker.required(3, "size", &size, .integers(0, .max))
        try walker.required(4, "contentType", &contentType, .bytes(Limits.urlBytes))
        try walker.optional(5, "width", &width, .integers(0, .max))
        try walker.optional(6, "height", &height, .integers(0, .max))
        try walker.optional(7, "durationSeconds", &durationSeconds, .numbers(0, .greatestFiniteMagnitude))
        try walker.optional(8, "thumbnail", &thumbnail, .bytes(Limits.urlBytes))
    }

    /// The limits of PROTOCOL.md, "Message", which differ by type. The content itself is never seen.
    fileprivate func checkLimits(of type: MessageType) throws(ChatError) {
        let sizeMax =
            switch type {
            case .image: Limits.imageBytes
            case .audio: Limits.audioBytes
            case .video: Limits.videoBytes
            default: Limits.fileBytes
            }
        guard size <= sizeMax else {
            throw ChatError(.tooLarge, "\(type.rawValue) may have \(sizeMax) bytes", field: "media.size")
        }
        if type == .audio, let durationSeconds, durationSeconds > Limits.audioSeconds {
            throw ChatError(
                .tooLarge, "AUDIO may last \(Int64(Limits.audioSeconds)) s", field: "media.durationSeconds")
        }
    }
}
