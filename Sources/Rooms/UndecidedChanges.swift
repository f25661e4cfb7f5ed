import ChatModel
import RoomCore

/// Changes that sessions have asked of the room and that are on their way through the log. A call of the same session that is answered
/// without the log waits for them: else its answer would come before theirs and lack what they do, and an exit would be told
/// before the session's last message.
///
/// They are counted by a few characters of the session's ID, which costs each change two additions. So a session may wait for one of
/// another session, for as long as it was asked before.
struct UndecidedChanges {
    /// How many there are, by slot; empty: there has been none.
    private var counts: [UInt32] = []
    /// All that were proposed, and those of them that were applied since: in the order in which they were proposed.
    private var (proposed, decided) = (UInt64(0), UInt64(0))
    /// Those that were given up while others may be on their way that were proposed before them: counted when these are decided.
    private var givenUp = UInt64(0)
    /// Sessions whose calls wait, and how many have to be decided for that; ascending.
    private var waiting = Fifo<(until: UInt64, key: PresenceKey)>()

    private static let slots = 256

    /// Nobody chooses the ID of a session.
    static func slot(of session: SessionID) -> UInt8 {
        UInt8(truncatingIfNeeded: session.text.utf8.prefix(6).reduce(0) { $0 &* 31 &+ UInt($1) })
    }

    var isEmpty: Bool { proposed == decided && waiting.isEmpty }

    /// Whether changes of the session may be among them.
    func mayHave(_ session: SessionID) -> Bool {
        proposed > decided && counts[Int(Self.slot(of: session))] > 0
    }

    mutating func propose(_ slot: UInt8) {
        if counts.isEmpty { counts = [UInt32](repeating: 0, count: Self.slots) }
        counts[Int(slot)] += 1
        proposed += 1
    }

    mutating func apply(_ slot: UInt8) {
        guard remove(slot) else { return }
        decided += 1
        settle()
    }

    /// It never comes to the log.
    mutating func giveUp(_ slot: UInt8) {
        guard remove(slot) else { return }
        givenUp += 1
        settle()
    }

    private mutating func remove(_ slot: UInt8) -> Bool {
        guard !counts.isEmpty, counts[Int(slot)] > 0 else { return false }
        counts[Int(slot)] -= 1
        return true
    }

    private mutating func settle() {
        guard decided + givenUp == proposed else { return }
        (decided, givenUp) = (proposed, 0)
    }

    /// The session's calls wait for all that have been proposed until now.
    mutating func wait(_ key: PresenceKey) { waiting.append((proposed, key)) }

    /// The next session whose changes have been decided.
    mutating func takeDue() -> PresenceKey? {
        guard let first = waiting.first, first.until <= decided else { return nil }
        return waiting.popFirst()?.key
    }
}
