import ChatModel

extension ChatError {
    /// 414: a required field is not there.
    @usableFromInline
    static func missing(_ name: StaticString) -> ChatError {
        ChatError(.badParameter, "\(name) is required", field: name.description)
    }

    /// 414 for a value of another type than the schema's; `inside` adds the field.
    @usableFromInline
    static func wrongType(_ wanted: StaticString) -> ChatError {
        ChatError(.badParameter, "must be \(wanted)")
    }

    /// 413; `inside` adds the field.
    @usableFromInline
    static func tooLong(_ count: Int, max: Int) -> ChatError {
        ChatError(.tooLarge, "has \(count) bytes, at most \(max) are allowed")
    }

    /// 414 for a list with too many items.
    @usableFromInline
    static func tooMany(_ count: Int, max: Int) -> ChatError {
        ChatError(.badParameter, "has \(count) items, at most \(max) are allowed")
    }

    /// 400: the text or bytes are not what every message must be.
    @usableFromInline
    static func malformed(_ message: String) -> ChatError { ChatError(.malformed, message) }

    /// The same error seen from the message that holds the field `name`: the path grows at its front. Errors about
    /// the form of the whole input have no field.
    @usableFromInline
    func inside(_ name: StaticString) -> ChatError {
        guard code != .malformed else { return self }
        var error = self
        if let field {
            error.field = "\(name).\(field)"
        } else {
            error.field = name.description
            error.message = "\(name) \(message)"
        }
        return error
    }

    /// The same error seen from the message whose choice `name` is: fields are named from within it, since a request's
    /// fields are those of its operation.
    @usableFromInline
    func inside(choice name: StaticString) -> ChatError { field == nil ? inside(name) : self }
}
