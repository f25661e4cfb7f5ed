import ChatModel
import Wire

/// An operation of the server API on a room that no client has.
public enum ServerOperation: Sendable, Equatable {
    /// A durable command.
    case command(ServerCommand)
    /// A recall of what the leader finds.
    case recall(ServerRecall)
    /// One kept message.
    case message(String)
    /// Copies of messages of this room, if the user (nil: anybody) is here.
    case copies([String], for: UserID?)
    case explain
    /// All tallies.
    case tallies
    /// The sender's `ext` is not shown in barrage, and does not get here.
    case barrage(BarrageItem)

    /// Whether it goes through the log.
    public var isDurable: Bool {
        switch self {
        case .command, .recall: true
        case .message, .copies, .explain, .tallies, .barrage: false
        }
    }
}
