import ChatModel
import RoomCore
import RoomProtocol

/// Sessions whose requests wait for something, and what is decided soon.
struct WaitingSessions {
    var holds: [PresenceKey: Hold] = [:]
    /// Changes that sessions have asked for, and who waits for them.
    var undecided = UndecidedChanges()
    /// Users whom a proposal is about to throw out.
    var throwingOut: [UserID: ThrowingOut] = [:]
    /// Messages that proposals are about to recall, and how many proposals.
    var recalling: [UInt64: Int] = [:]
    /// Messages that proposals are about to amend: one each.
    var amending: Set<UInt64> = []
    /// Look-ups that wait until others' recalls and amendments of the same messages are decided.
    var laterRecalls: [CheckedContinuation<Void, Never>] = []

    /// Whether a proposal is about to recall one of them.
    func isRecalling(_ targets: [RecallTarget]) -> Bool { targets.contains { recalling[$0.seq] != nil } }

    var isEmpty: Bool {
        holds.isEmpty && undecided.isEmpty
            && throwingOut.isEmpty && recalling.isEmpty && amending.isEmpty && laterRecalls.isEmpty
    }
}

/// Calls of a session that has to wait, in their order.
struct Hold {
    /// How many things it waits for.
    var reasons = 1
    /// Earlier proposals of the session that wait only for a kick that is on its way.
    var ready: [Proposal] = []
    var calls: [RoomRequest] = []
    /// Whether the first of them has waited for the session's changes: it is not to wait for others that have come since.
    var isInOrder = false
    /// Whether one of its reasons is that changes of the session are on their way.
    var isForChanges = false
}

/// A user whom proposals are about to throw out.
struct ThrowingOut {
    /// How many of them are not decided yet.
    var proposals = 1
    /// The user's sessions, whose calls wait for that.
    var held: [PresenceKey]
}
