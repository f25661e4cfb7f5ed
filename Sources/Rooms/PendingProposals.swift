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

    mutating func append(_ proposals: [ProposedCommand], from first: UInt64, time: Timestamp) {
        var index = first
        for proposal in proposals {
            items.append(Item(index: index, proposal: proposal, time: time))
            index += 1
        }
    }

    var count: Int { items.count }

    /// Looks at all of them.
    var rooms: Set<RoomID> { Set(items.lazy.map(\.proposal.content.command.room)) }

    /// The proposal with that index and its stamp's time, if this node made it.
    func peek(_ index: UInt64) -> (ProposedCommand, Timestamp)? {
        guard let item = items.first, item.index == index else { return nil }
        return (item.proposal, item.time)
    }

    /// Forgets everything up to that index.
    mutating func drop(_ index: UInt64) {
        while let item = items.first, item.index <= index {
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
        return all
    }
}
