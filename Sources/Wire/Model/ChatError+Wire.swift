import ChatModel

extension ChatError: WireMessage {
    public static var blank: ChatError { ChatError(.internal, "") }
    public static var schemaName: String { "Error" }

    /// A code that this version does not know is `unknown` and stands in the message: clients never fail on it.
    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = Int64(code.number)
        var name = code.name
        try walker.required(1, "code", &number)
        try walker.shown(2, "name", &name)
        try walker.shown(3, "message", &message)
        try walker.optional(4, "retryAfterMs", &retryAfterMs)
        try walker.optional(5, "field", &field)
        guard W.isDecoding else { return }
        let known = Int(exactly: number).flatMap { ErrorCode(number: $0, name: name) } ?? .unknown
        code = known
        // The number of `unknown` itself: its message says the code already.
        if known == .unknown, number != Int64(ErrorCode.unknown.rawValue) {
            message = "\(number) \(name): \(message)"
        }
    }
}
