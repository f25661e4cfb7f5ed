import ChatModel

/// A client's operation on its way to the room's leader. Its limits were enforced where the client said it.
public struct OperationMessage: WireMessage, Hashable {
    public var operation: ClientOperation

    public static var blank: OperationMessage { OperationMessage(.ping) }

    public init(_ operation: ClientOperation) { self.operation = operation }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let seen = try operation.walk(&walker)
        if W.isDecoding, seen != 1 { throw .missing("operation") }
    }
}

/// The answer to an `enter`, on its way to the session's node. Protobuf has no empty lists, but a client in JSON is to
/// see them, so they are told apart from lists that are not there.
public struct EnterReply: WireMessage, Hashable {
    public var result: EnterResult

    public static var blank: EnterReply { EnterReply(.blank) }

    public init(_ result: EnterResult) { self.result = result }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var isQueueEmpty = result.queue?.isEmpty ?? false
        var isMissedEmpty = result.missed?.isEmpty ?? false
        try walker.required(1, "result", &result)
        try walker.shown(2, "queueEmpty", &isQueueEmpty)
        try walker.shown(3, "missedEmpty", &isMissedEmpty)
        guard W.isDecoding else { return }
        if isQueueEmpty, result.queue == nil { result.queue = [] }
        if isMissedEmpty, result.missed == nil { result.missed = [] }
    }
}
