import ChatModel
import Wire

struct WiredReply: WireMessage {
    private var session: SessionID
    /// With the request as its ID.
    private var item: ServerItem
    private var isRepeat: Bool
    /// In the place of an item that has lists which may be empty.
    private var enter: EnterReply?
    private var request: UInt32
    private var charged: UInt32 = 0

    static var blank: WiredReply {
        WiredReply(session: .blank, item: .unknown, isRepeat: false, enter: nil, request: 0)
    }
    static var schemaName: String { "ReplyOutput" }

    private init(session: SessionID, item: ServerItem, isRepeat: Bool, enter: EnterReply?, request: UInt32) {
        self.session = session
        self.item = item
        self.isRepeat = isRepeat
        self.enter = enter
        self.request = request
    }

    init?(_ output: RoomOutput) {
        guard case .reply(let session, let request, let result, let isRepeat, let charged) = output else { return nil }
        if case .success(.enter(let result)) = result {
            self.init(
                session: session, item: .unknown, isRepeat: isRepeat, enter: EnterReply(result), request: request)
        } else {
            self.init(
                session: session, item: .reply(id: request, result), isRepeat: isRepeat, enter: nil, request: request)
        }
        self.charged = UInt32(clamping: charged)
    }

    var output: RoomOutput {
        if let enter {
            return .reply(
                session, request: request, .success(.enter(enter.result)), isRepeat: isRepeat, charged: Int(charged))
        }
        guard case .reply(let request?, let result) = item else {
            let error = ChatError(.internal, "an answer of a later version")
            return .reply(session, request: request, .failure(error), isRepeat: isRepeat, charged: Int(charged))
        }
        return .reply(session, request: request, result, isRepeat: isRepeat, charged: Int(charged))
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.shown(2, "request", &request)
        try walker.shown(3, "repeat", &isRepeat)
        var reply: ServerItem? = enter == nil ? item : nil
        try walker.optional(4, "item", &reply)
        try walker.optional(5, "enter", &enter)
        try walker.defaulted(6, "charged", &charged, default: 0)
        if W.isDecoding { item = reply ?? .unknown }
    }
}

struct WiredEntered: WireMessage {
    private var session: SessionID
    private var request: UInt32?
    private var reply: EnterReply?
    private var error: ChatError?
    private var missedAfter: UInt64?

    static var blank: WiredEntered { WiredEntered(session: .blank) }
    static var schemaName: String { "EnteredOutput" }

    private init(session: SessionID) { self.session = session }

    init?(_ output: RoomOutput) {
        guard case .entered(let session, let request, let result, let missedAfter) = output else { return nil }
        self.session = session
        self.request = request
        self.missedAfter = missedAfter
        switch result {
        case .success(let result): reply = EnterReply(result)
        case .failure(let error): self.error = error
        }
    }

    var output: RoomOutput {
        let unknown = ChatError(.internal, "an answer of a later version")
        return .entered(
            session, request: request, reply.map { .success($0.result) } ?? .failure(error ?? unknown),
            missedAfter: missedAfter)
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "session", &session)
        try walker.optional(2, "request", &request)
        try walker.optional(3, "result", &reply)
        try walker.optional(4, "error", &error)
        try walker.optional(5, "missedAfter", &missedAfter)
    }
}
