import ChatModel
import Wire

/// A question of the server API to one room; its leader answers.
public enum RoomQuestion: Sendable, Equatable {
    /// A durable command. `moderate`: words and hook are asked about what it shows.
    case command(CommandBody, Actor, showing: Profile?, moderate: Bool, id: CommandID?)
    /// A recall of what the leader finds.
    case recall(RecallScope, NotifyOptions, Actor, id: CommandID?)
    case view
    case history(HistoryRequest)
    /// One kept message.
    case message(String)
    /// Copies of messages of this room, if the user (nil: anybody) is here.
    case copies([String], for: UserID?)
    case members(MemberKind, after: String?, limit: Int)
    case member(UserID)
    case queue(after: String?, limit: Int)
    case explain
    /// The sender's `ext` is not shown in barrage, and does not get here.
    case barrage(BarrageItem)
}

/// The messages to recall.
public enum RecallScope: Sendable, Hashable {
    /// One message that is kept.
    case message(String)
    /// All of a user's kept messages that are not recalled, of that time and later; nil: as far as history goes.
    case messages(of: UserID, since: Timestamp?)
}

/// A room's answer to a `RoomQuestion`.
public enum RoomAnswer: Sendable, Equatable {
    /// To `command` and `recall`; never `.refused`.
    case command(CommandResult)
    case view(RoomView)
    case history(HistoryPage)
    case message(Message)
    /// Those of the messages that exist, by ID.
    case copies([String: Message])
    case members(Page<Member, String>)
    case member(Member)
    case queue(QueueResult)
    case explain(StateFigures)
    /// To `barrage`.
    case done
}
