import ChatModel
import Wire

/// A room's answer to the server API.
public enum RoomAnswer: Sendable, Equatable {
    /// The answer to a client's operation that reads.
    case result(OperationResult)
    /// The answer to `command` and `recall`; never `.refused`.
    case command(CommandResult)
    case message(Message)
    /// Those of the messages that exist, by ID.
    case copies([String: Message])
    case explain(StateFigures)
    case tallies([Tally])
    case polls([Poll])
    case reports(ReportsResult)
    /// The answer to `barrage`.
    case done
    case media(MediaStatus)
    /// The digests of what must be kept, by ID; empty where it has not been sent.
    case keptMedia([String: String])
}

/// The end of a call of the server API, for the lane that waits for it.
public struct ServerAnswer: Sendable, Equatable {
    public enum Outcome: Sendable, Equatable {
        case answered(Result<RoomAnswer, ChatError>)
        /// The node does not lead the room, or does so no more: it is to be asked again where the leader is.
        case retry
    }

    public var lane: Int
    public var request: UInt32
    public var outcome: Outcome

    public init(to origin: ServerOrigin, _ outcome: Outcome) {
        lane = origin.lane
        request = origin.request
        self.outcome = outcome
    }
}
