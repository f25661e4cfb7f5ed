/// The fields of a kept message that `amend` may set; nil leaves a field as it is (PROTOCOL.md, "Amended messages"). It is also
/// `data.set` of 360.
public struct MessageChanges: Sendable, Hashable {
    /// TEXT and TIP have it.
    public var text: String?
    /// CUSTOM has it.
    public var content: String?
    public var ext: String?

    public init(text: String? = nil, content: String? = nil, ext: String? = nil) {
        self.text = text
        self.content = content
        self.ext = ext
    }

    public var isEmpty: Bool { text == nil && content == nil && ext == nil }

    public var bytes: Int { (text?.utf8.count ?? 0) + (content?.utf8.count ?? 0) + (ext?.utf8.count ?? 0) }

    /// The body with what of it is changed.
    /// - Throws: 414 for what a message of that type has not.
    public func applied(to body: MessageBody) throws(ChatError) -> MessageBody {
        guard !isEmpty else {
            throw ChatError(.badParameter, "one of text, content and ext must be there", field: "set")
        }
        switch body {
        case .text, .tip:
            guard content == nil else { throw Self.hasNone("content", body, "CUSTOM") }
            guard let text else { return body }
            return if case .tip = body { .tip(text) } else { .text(text) }
        case .custom(_, let subtype, let searchable):
            guard text == nil else { throw Self.hasNone("text", body, "TEXT and TIP") }
            return content.map { .custom(content: $0, subtype: subtype, searchable: searchable) } ?? body
        case .image, .audio, .video, .file, .location, .combine:
            guard text == nil else { throw Self.hasNone("text", body, "TEXT and TIP") }
            guard content == nil else { throw Self.hasNone("content", body, "CUSTOM") }
            return body
        case .command, .notification, .recalled, .unknown:
            throw ChatError(.badParameter, "a \(body.type.rawValue) can't be amended", field: "messageId")
        }
    }

    private static func hasNone(_ field: String, _ body: MessageBody, _ types: String) -> ChatError {
        ChatError(
            .badParameter, "only \(types) have \(field), and this is a \(body.type.rawValue)",
            field: "set.\(field)")
    }
}
