import ChatModel
import RoomProtocol
import Synchronization
import Wire

/// Knowledge that a command needs and neither the room's state nor its presence has (ARCHITECTURE.md, "Facts"): the
/// leader looks it up once, before it proposes.
enum FactLookup: Sendable {
    /// One message that is to be recalled.
    case message(String)
    /// All of a user's kept messages that are not recalled, of that time and later; nil: as far as history goes.
    case messages(of: UserID, since: Timestamp?)
    /// The messages that a COMBINE names, of rooms that the user (nil: the app server) is in.
    case copies([String], for: UserID?, from: [RoomID])
    /// Only what the command names: a message (`CommandBody.original`), or content of which the room does not know yet whether it
    /// was sent. Both are looked up besides any of the others.
    case original
    /// The newest message that the room has.
    case newest
    /// Whether a user may send so many bytes of content today.
    case uploadUse(UserID, bytes: Int64)
}

extension FactLookup {
    /// The look-up of a recall by the server API.
    init(_ recall: ServerRecall) {
        if let user = recall.user {
            self = .messages(of: user, since: recall.since)
        } else {
            self = .message(recall.messageID ?? "")
        }
    }
}

/// The result of a look-up, to go into the command.
struct FoundFacts: Sendable {
    /// At most `RoomActor.recalledAtOnceMax`.
    var targets: [RecallTarget] = []
    var copies = MessageCopies()
    var original: OriginalMessage?
    var amended: Message?
    var newest: NewestMessage?
    /// Content of other rooms that is this room's, too.
    var shared: [SharedUpload] = []
    /// How many messages had been recalled before (`RecentSeqs`).
    var erasuresBefore: UInt64 = 0
    /// Those that had to be recalled before.
    let batches = RecalledBatches()

    /// The command with what was found in it.
    func complete(_ command: Command) -> Command {
        var command = command
        command.facts.original = original
        command.facts.amended = amended
        switch command.body {
        case .recall(_, let options): command.body = .recall(targets, options)
        case .setBlacklist: command.facts.recalled = targets
        case .importMessages(let messages, _): command.body = .importMessages(messages, after: newest)
        case .post: (command.facts.copies, command.facts.sharedUploads) = (copies.messages, shared)
        default: break
        }
        return command
    }
}

/// Recalls that go before the command that asked for them, which must not be acked without them.
final class RecalledBatches: Sendable {
    private let wasRefused = Atomic(false)

    /// Whether one of them was not taken.
    var isIncomplete: Bool { wasRefused.load(ordering: .relaxed) }

    /// One of them was refused.
    func refused(_ error: ChatError) {
        // The room refuses the command for the other reasons itself.
        if error.code == .unavailable { wasRefused.store(true, ordering: .relaxed) }
    }
}
