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
    case polls
    /// A page of the reports of messages.
    case reports(after: String?, limit: Int)
    /// The sender's `ext` is not shown in barrage, and does not get here.
    case barrage(BarrageItem)
    /// A piece of content, and whether a session may read it.
    case media(String, for: MediaReader?)
    /// Those of the pieces of content that must be kept; also of a room that was deleted.
    case keptMedia([String])

    /// Whether it goes through the log.
    public var isDurable: Bool {
        switch self {
        case .command, .recall: true
        case .message, .copies, .explain, .tallies, .polls, .barrage, .media, .keptMedia, .reports: false
        }
    }
}
