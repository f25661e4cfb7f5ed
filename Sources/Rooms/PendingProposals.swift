import ChatModel

/// Proposals in log order until they are committed.
///
/// Bounded by what the log takes uncommitted (`RaftConfiguration.proposalBytesMax`).
struct PendingProposals {
    private struct Item {
        var index: UInt64
        var proposal: ProposedCommand
        var time: Timestamp
    }

    /// Under load it is hardly ever empty, so each one is let go of when it is removed.
    private var items = Fifo<Item>()
    private var roomCounts: [RoomID: Int] = [:]

    mutating func append(_ proposals: [ProposedCommand], from first: UInt64, time: Timestamp) {
        var index = first
        for proposal in proposals {
            items.append(Item(index: index, proposal: proposal, time: time))
            roomCounts[proposal.content.command.room, default: 0] += 1
            index += 1
        }
    }

    var count: Int { items.count }

    func mentions(_ room: RoomID) -> Bool { roomCounts[room] != nil }

    /// The proposal with that index and its stamp's time, if this node made it.
    func peek(_ index: UInt64) -> (ProposedCommand, Timestamp)? {
        guard let item = items.first, item.index == index else { return nil }
        return (item.proposal, item.time)
    }

    /// Forgets everything up to that index.
    mutating func drop(_ index: UInt64) {
        while let item = items.first, item.index <= index {
            release(item.proposal.content.command.room)
            items.removeFirst()
        }
    }

    mutating func takeAll() -> [ProposedCommand] {
        var all: [ProposedCommand] = []
        all.reserveCapacity(items.count)
        while let item = items.first {
            all.append(item.proposal)
            items.removeFirst()
        }
        roomCounts = [:]
        return all
    }

    private mutating func release(_ room: RoomID) {
        guard let count = roomCounts[room] else { return }
        roomCounts[room] = count > 1 ? count - 1 : nil
    }
}
