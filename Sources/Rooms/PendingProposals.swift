import ChatModel

/// Proposals in log order until they are committed: an array used as a queue, indices without holes.
///
/// Bounded by what the log takes uncommitted (`RaftConfiguration.proposalBytesMax`).
struct PendingProposals {
    private struct Item {
        var index: UInt64
        var proposal: Proposal
        var time: Timestamp
    }

    private var items: ContiguousArray<Item> = []
    private var head = 0
    private var roomCounts: [RoomID: Int] = [:]

    mutating func append(_ proposals: [Proposal], from first: UInt64, time: Timestamp) {
        var index = first
        for proposal in proposals {
            items.append(Item(index: index, proposal: proposal, time: time))
            roomCounts[proposal.command.room, default: 0] += 1
            index += 1
        }
    }

    var count: Int { items.count - head }

    func mentions(_ room: RoomID) -> Bool { roomCounts[room] != nil }

    /// The proposal with that index and its stamp's time, if this node made it.
    func peek(_ index: UInt64) -> (Proposal, Timestamp)? {
        guard head < items.count, items[head].index == index else { return nil }
        return (items[head].proposal, items[head].time)
    }

    /// Forgets everything up to that index.
    mutating func drop(_ index: UInt64) {
        while head < items.count, items[head].index <= index {
            release(items[head].proposal.command.room)
            head += 1
        }
        if head == items.count {
            items.removeAll(keepingCapacity: true)
            head = 0
        } else if head >= 256, head > items.count / 2 {
            // Under load it is hardly ever empty.
            items.removeFirst(head)
            head = 0
        }
    }

    mutating func takeAll() -> [Proposal] {
        let all = items[head...].map(\.proposal)
        items = []
        head = 0
        roomCounts = [:]
        return all
    }

    private mutating func release(_ room: RoomID) {
        guard let count = roomCounts[room] else { return }
        roomCounts[room] = count > 1 ? count - 1 : nil
    }
}
