import ChatModel

/// A client's durable operation: the command that it becomes, and the result that its client gets.
public struct OperationChange: Sendable {
    /// The look-up of the room's leader before it proposes the command.
    public enum Lookup: Sendable, Hashable {
        /// One message that is to be recalled.
        case message(String)
        /// All of a user's kept messages that are not recalled.
        case messages(of: UserID)
    }

    public var body: CommandBody
    public var clientID: String?
    public var answer: Answer
    public var lookup: Lookup?

    init(_ body: CommandBody, _ clientID: String?, _ answer: Answer, after lookup: Lookup? = nil) {
        self.body = body
        self.clientID = clientID
        self.answer = answer
        self.lookup = lookup
    }

    /// Which result an operation has when its command is applied.
    public enum Answer: Sendable {
        /// - Parameter asked: the message's priority as its sender asked for it.
        case sent(asked: Priority)
        indirect case done(OperationResult)
        case room
        case member(@Sendable (MemberResult) -> OperationResult)
        case element(@Sendable (ElementResult) -> OperationResult)
        case missing
        case pinned
        case amended
        /// A tally's.
        case total
        case upload
        case poll(@Sendable (PollResult) -> OperationResult)
        /// A held message's.
        case decided

        /// - Parameter online: how many are in the room.
        public func answer(_ result: CommandResult, online: Int64) -> Result<OperationResult, ChatError> {
            switch (self, result) {
            case (_, .refused(let error)):
                .failure(error)
            case (.sent(let asked), .posted(let messageID, let place, let time, let priority, let delivered)):
                .success(
                    .send(
                        Self.sent(
                            messageID, place, time: time, lowered: priority == asked ? nil : priority,
                            delivered: delivered)))
            case (.sent, .held(let heldID)): .success(.send(SendResult(heldID: heldID)))
            case (.decided, .decided(let message)): .success(.held(HeldResult(message: message)))
            case (.decided, .decidedBefore): .success(.held(HeldResult()))
            case (.done(let done), .done): .success(done)
            case (.room, .room(let info)):
                .success(.updateRoom(RoomResult(room: RoomView(info: info, online: online))))
            case (.member(let make), .member(let member)): .success(make(MemberResult(member: member)))
            case (.element(let make), .element(let element)): .success(make(ElementResult(element: element)))
            case (.missing, .missing(let keys)): .success(.queueSetMany(MissingResult(missing: keys)))
            case (.poll(let make), .poll(let poll)): .success(make(PollResult(poll: poll)))
            case (.total, .tally(let tally)): .success(.tally(TapResult(total: tally.total)))
            case (.pinned, .pinned(let pinned)): .success(.pin(PinResult(pinned: pinned)))
            case (.amended, .amended(let message)): .success(.amend(MessageResult(message: message)))
            case (.upload, .upload(let ticket)): .success(.upload(UploadResult(ticket)))
            default:
                // A clientId that was used for another kind of operation before.
                .failure(ChatError(.conflict, "this clientId belongs to another operation"))
            }
        }

        /// Whether it is a message's.
        public var isOfMessage: Bool { if case .sent = self { true } else { false } }

        private static func sent(
            _ messageID: String, _ place: MessagePlace, time: Timestamp, lowered: Priority?, delivered: Int64?
        ) -> SendResult {
            var sent = SendResult(messageID: messageID, time: time)
            sent.place = place
            sent.priority = lowered
            sent.delivered = delivered
            return sent
        }
    }
}
