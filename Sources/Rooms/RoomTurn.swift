import ChatModel
import RoomCore
import RoomProtocol

/// The output of a room in a turn beside what its lanes are told, and whether the host knows that there is some.
struct RoomTurn {
    /// Commands that the room wants proposed, in order, until the host takes them.
    var proposed: [ProposedCommand] = []
    /// Answers to the server API.
    var answers: [(NodeID, ServerAnswer)] = []
    /// The newest entry that has changed the room's row. It changes with every message: one is written a turn.
    var roomChange: UInt64?
    /// The first message of this turn, whose row is not with storage yet.
    var unwrittenFrom: UInt64?
    /// Whether storage has not got all rows of this turn that concern history.
    var hasUnwrittenHistory = false
    /// Work that reads history, and waits until they are with storage.
    var waitingReads: [CheckedContinuation<Void, Never>] = []
    /// The log entry that has changed the room last.
    var lastChangeIndex: UInt64 = 0
    var dirt = Dirt.clean

    enum Dirt {
        /// Nothing has happened since the last turn's end.
        case clean
        /// There may be something to publish, and the host has to be told.
        case dirty
        /// The host has the room on its list.
        case reported
    }

    var isEmpty: Bool { proposed.isEmpty && answers.isEmpty && waitingReads.isEmpty && dirt == .clean }
}
