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
        var given: (url: String?, name: String?, size: Int64?, contentType: String?) = (url, name, size, contentType)
        try walker.optional(1, "url", &given.url, .bytes(Limits.urlBytes))
        try walker.optional(2, "name", &given.name, .bytes(Limits.urlBytes))
        try walker.optional(3, "size", &given.size, .integers(0, .max))
        try walker.optional(4, "contentType", &given.contentType, .bytes(Limits.urlBytes))
        try walker.optional(5, "width", &width, .integers(0, .max))
        try walker.optional(6, "height", &height, .integers(0, .max))
        try walker.optional(7, "durationSeconds", &durationSeconds, .numbers(0, .greatestFiniteMagnitude))
        var small = Thumbnail(url: thumbnail, id: nil)
        var shown: Thumbnail? = thumbnail == nil ? nil : small
        try walker.optional(8, "thumbnail", &shown, .bytes(Limits.urlBytes))
        try walker.optional(9, "id", &id, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.optional(10, "thumbnailId", &thumbnailID, .nonEmptyBytes(Limits.opaqueIDBytes))
        try walker.optional(11, "reviewUrl", &reviewURL, .bytes(Limits.urlBytes))
        try walker.optional(15, "thumbnailReviewUrl", &thumbnailReviewURL, .bytes(Limits.urlBytes))
        guard W.isDecoding else { return }
        // Nobody sends one.
        if walker.enforcesLimits { (reviewURL, thumbnailReviewURL) = (nil, nil) }
        small = shown ?? Thumbnail(url: nil, id: nil)
        (thumbnail, thumbnailID) = (small.url, small.id ?? thumbnailID)
        // The node fills in what it knows of content that it stores.
        if id == nil {
            if given.url == nil { throw .missing("url") }
            if given.name == nil { throw .missing("name") }
            if given.size == nil { throw .missing("size") }
            if given.contentType == nil { throw .missing("contentType") }
        }
        (url, name) = (given.url ?? "", given.name ?? "")
        (size, contentType) = (given.size ?? 0, given.contentType ?? "")
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

/// A thumbnail as its sender names it: a URL, or in JSON also `{"id"}` of content that the cluster stores. It is shown as a
/// URL.
public struct Thumbnail: WireValue {
    public var url: String?
    public var id: String?

    public static var blank: Thumbnail { Thumbnail(url: "", id: nil) }
    public static var protobufType: ProtobufWireType { .lengthDelimited }

    public func violation(of limit: FieldLimit) -> ChatError? {
        id?.violation(of: .nonEmptyBytes(Limits.opaqueIDBytes)) ?? url?.violation(of: limit)
    }

    public func writeJSON(to writer: inout JSONWriter) { (url ?? "").writeJSON(to: &writer) }
    public func writeProtobuf(to writer: inout ProtobufWriter) { (url ?? "").writeProtobuf(to: &writer) }

    public static func readJSON(_ value: JSONValue) throws(ChatError) -> Thumbnail {
        guard let named = try? NamedContent.readJSON(value) else {
            return Thumbnail(url: try value.string(), id: nil)
        }
        return Thumbnail(url: nil, id: named.id)
    }

    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> Thumbnail {
        Thumbnail(url: try value.string(), id: nil)
    }

    public static func describe(in schema: inout SchemaWriter) -> String { "string" }
}

private struct NamedContent: WireMessage {
    var id: String

    static var blank: NamedContent { NamedContent(id: "") }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.required(1, "id", &id) }
}
