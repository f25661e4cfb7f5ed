import ChatModel
import Consensus
import Wire

/// Committed entries that wait until their room is loaded, and all that follow them: an array used as a queue.
struct ApplyQueue {
    private var entries: [Entry] = []
    private var head = 0
    /// Up to here the rooms that are not in memory have been asked for.
    private var fetchHead = 0

    /// Everything that is committed has been applied.
    var isEmpty: Bool { head == entries.count }

    /// The next to be applied.
    var first: Entry? { head < entries.count ? entries[head] : nil }

    /// Whether nothing is applied before that room is loaded.
    func isHeldUp(by room: RoomID) -> Bool {
        guard let first else { return false }
        return (try? LogCodec.decode(first.payload))?.0.room == room
    }

    mutating func append(contentsOf committed: [Entry]) { entries.append(contentsOf: committed) }

    /// The first has been applied.
    mutating func removeFirst() {
        head += 1
        // Applied entries are let go of also when the queue never gets empty, at most half of it at a time.
        guard isEmpty || head >= 1_024 && head >= entries.count / 2 else { return }
        if isEmpty { entries.removeAll(keepingCapacity: true) } else { entries.removeFirst(head) }
        fetchHead -= min(fetchHead, head)
        head = 0
    }

    mutating func removeAll() { self = ApplyQueue() }

    /// The room of the next command of which nobody has asked yet, the one to be applied first; nil behind the last.
    mutating func nextRoom() -> RoomID? {
        fetchHead = max(fetchHead, head)
        while fetchHead < entries.count {
            let entry = entries[fetchHead]
            fetchHead += 1
            if entry.kind == .command, let room = try? LogCodec.decode(entry.payload).0.room { return room }
        }
        return nil
    }

    /// The rooms have left memory: ``nextRoom()`` begins anew.
    mutating func forgetFetched() { fetchHead = head }
}
