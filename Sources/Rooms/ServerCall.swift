import ChatModel
import RoomCore
import RoomLink
import Wire

/// What the server API asks of one room. The completion is called exactly once, on the room's loop.
struct ServerCall: Sendable {
    enum Body: Sendable {
        /// `moderate`: words and hook are asked about what it shows.
        case command(
            CommandBody, Actor, showing: Profile?, moderate: Bool, id: CommandID?,
            @Sendable (Result<CommandResult, ChatError>) -> Void)
        /// A recall of what the lookup finds.
        case recall(
            FactLookup, NotifyOptions, Actor, id: CommandID?, @Sendable (Result<CommandResult, ChatError>) -> Void)
        case view(@Sendable (Result<RoomView, ChatError>) -> Void)
        case history(HistoryRequest, @Sendable (Result<ChatModel.HistoryPage, ChatError>) -> Void)
        case message(String, @Sendable (Result<Message, ChatError>) -> Void)
        /// Copies of messages of this room, if the user (nil: anybody) is here; what there is of them, by ID.
        case copies([String], for: UserID?, @Sendable (Result<[String: Message], ChatError>) -> Void)
        case members(
            MemberKind, after: String?, limit: Int, @Sendable (Result<Page<Member, String>, ChatError>) -> Void)
        case member(UserID, @Sendable (Result<Member, ChatError>) -> Void)
        case queue(QueueRequest, @Sendable (Result<QueueResult, ChatError>) -> Void)
        case explain(@Sendable (Result<StateFigures, ChatError>) -> Void)
        case barrage(BarrageItem, @Sendable (Result<Void, ChatError>) -> Void)
    }

    var room: RoomID
    var body: Body

    /// Whether it goes through the log, which then says whether this node still leads.
    var isDurable: Bool {
        switch body {
        case .command, .recall: true
        default: false
        }
    }

    func fail(_ error: ChatError) {
        switch body {
        case .command(_, _, _, _, _, let completion): completion(.failure(error))
        case .recall(_, _, _, _, let completion): completion(.failure(error))
        case .view(let completion): completion(.failure(error))
        case .history(_, let completion): completion(.failure(error))
        case .message(_, let completion): completion(.failure(error))
        case .copies(_, _, let completion): completion(.failure(error))
        case .members(_, _, _, let completion): completion(.failure(error))
        case .member(_, let completion): completion(.failure(error))
        case .queue(_, let completion): completion(.failure(error))
        case .explain(let completion): completion(.failure(error))
        case .barrage(_, let completion): completion(.failure(error))
        }
    }
}

/// A command on its way through the log, and who waits for it.
struct Proposal: Sendable {
    enum Origin: Sendable {
        case session(SessionRequest)
        case server(@Sendable (Result<CommandResult, ChatError>) -> Void)
        /// The room's own: nobody waits.
        case room
    }

    var command: Command
    var key: CommandKey?
    var origin: Origin
    /// Whether words and hook are asked before it is proposed.
    var moderate = false
    /// Whose calls wait until it is decided, because it throws the user out.
    var throwsOut: UserID?
    /// Messages whose other recalls wait until it is decided.
    var recalls: [UInt64] = []

    var isWaitedFor: Bool { throwsOut != nil || !recalls.isEmpty }
}

/// Whom to answer, which of its requests, and in what shape.
struct SessionRequest: Sendable {
    var address: SessionAddress
    var request: UInt32?
    var shape: AnswerShape
    /// When the room took it up.
    var startedAt = ContinuousClock.now
}
