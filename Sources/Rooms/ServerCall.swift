import ChatModel
import RoomCore
import RoomLink
import Wire

/// A call of the server API to one room. The completion is called exactly once, on the room's loop.
struct ServerCall: Sendable {
    var room: RoomID
    var question: RoomQuestion
    var completion: @Sendable (Result<RoomAnswer, ChatError>) -> Void

    /// Whether it goes through the log, which then says whether this node still leads.
    var isDurable: Bool {
        switch question {
        case .command, .recall: true
        default: false
        }
    }

    func fail(_ error: ChatError) { completion(.failure(error)) }
}

/// The value of an answer; nil for the answer to another question.
extension RoomAnswer {
    var command: CommandResult? { if case .command(let result) = self { result } else { nil } }
    var view: RoomView? { if case .view(let view) = self { view } else { nil } }
    var history: ChatModel.HistoryPage? { if case .history(let page) = self { page } else { nil } }
    var message: Message? { if case .message(let message) = self { message } else { nil } }
    var copies: [String: Message]? { if case .copies(let copies) = self { copies } else { nil } }
    var members: Page<Member, String>? { if case .members(let page) = self { page } else { nil } }
    var member: Member? { if case .member(let member) = self { member } else { nil } }
    var queue: QueueResult? { if case .queue(let result) = self { result } else { nil } }
    var figures: StateFigures? { if case .explain(let figures) = self { figures } else { nil } }
}

/// A command on its way through the log, and who waits for it.
struct Proposal: Sendable {
    enum Origin: Sendable {
        case session(SessionRequest)
        case server(@Sendable (Result<CommandResult, ChatError>) -> Void)
        /// The room's own: nobody waits.
        case room

        /// The same, with what was read for the change to be brought along besides its request.
        func charged(_ bytes: Int) -> Origin {
            guard case .session(var request) = self else { return self }
            request.charged = bytes
            return .session(request)
        }
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

/// Whom to answer, which of its requests, and with which result.
struct SessionRequest: Sendable {
    var address: SessionAddress
    var request: UInt32?
    var answer: OperationChange.Answer
    /// The bytes that it has brought along besides the request, or would have, for its session's rate in bytes.
    var charged = 0
    /// When the room took it up.
    var startedAt = ContinuousClock.now
}
