import ChatModel

/// The answer of the system group's leader to another node.
extension SystemResult: WireMessage {
    public static var blank: SystemResult { .done }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(1, "done", { if case .done = current { Empty() } else { nil } }, { _ in self = .done })
            ? 1 : 0
        try seen +=
            walker.choice(
                2, "revoked", { if case .revoked(let time) = current { RevokedBody(time: time) } else { nil } },
                { self = .revoked(at: $0.time) }) ? 1 : 0
        try seen +=
            walker.choice(
                3, "answered", { if case .answered(let it) = current { AnswerBody(answer: it) } else { nil } },
                { self = .answered($0.answer ?? []) }) ? 1 : 0
        try seen +=
            walker.choice(4, "begun", { if case .begun = current { Empty() } else { nil } }, { _ in self = .begun })
            ? 1 : 0
        try seen +=
            walker.choice(
                5, "refused", { if case .refused(let it) = current { it } else { nil } }, { self = .refused($0) })
            ? 1 : 0
        if W.isDecoding, seen != 1 { throw .missing("result") }
    }
}

/// When a revocation was.
struct RevokedBody: WireMessage {
    var time: Timestamp

    static var blank: RevokedBody { RevokedBody(time: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.required(1, "time", &time) }
}
