import ChatModel
import Consensus
import Wire

/// Committed entries that wait until their room is loaded, and all that follow them.
struct ApplyQueue {
    private var entries = Fifo<Entry>()
    /// The number of entries, from the first on, whose rooms have been asked for where they are not in memory.
    private var fetched = 0

    /// Everything that is committed has been applied.
    var isEmpty: Bool { entries.isEmpty }

    /// The next to be applied.
    var first: Entry? { entries.first }

    /// Whether nothing is applied before that room is loaded.
    func isHeldUp(by room: RoomID) -> Bool {
        guard let first else { return false }
        return LogCodec.room(of: first.payload) == room
    }

    mutating func append(contentsOf committed: [Entry]) { entries.append(contentsOf: committed) }

    /// The first has been applied.
    mutating func removeFirst() {
        entries.removeFirst()
        fetched -= min(fetched, 1)
    }

    mutating func removeAll() { self = ApplyQueue() }

    /// The room of the next command of which nobody has asked yet, the one to be applied first; nil behind the last.
    mutating func nextRoom() -> RoomID? {
        while fetched < entries.count {
            let entry = entries[fetched]
            fetched += 1
            if entry.kind == .command, let room = LogCodec.room(of: entry.payload) { return room }
        }
        return nil
    }

    /// The rooms have left memory: ``nextRoom()`` begins anew.
    mutating func forgetFetched() { fetched = 0 }
}
