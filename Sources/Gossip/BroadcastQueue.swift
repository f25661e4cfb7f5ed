import ChatModel

/// News to be sent with other packets, each a bounded number of times: that reaches everybody with high probability
/// (SWIM section 4.1). What is newer about the same member replaces what is older, so there is at most one per member.
struct BroadcastQueue: Hashable, Sendable {
    private struct Item: Hashable, Sendable {
        var message: GossipMessage
        var bytes: Int
        var transmissions = 0
        var number: UInt64
    }

    private var items: [NodeID: Item] = [:]
    private var nextNumber: UInt64 = 0

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    func contains(_ node: NodeID) -> Bool { items[node] != nil }

    /// Queues a piece of news; probes are not.
    mutating func add(_ message: GossipMessage) {
        guard let subject = message.subject else { return }
        items[subject] = Item(message: message, bytes: GossipCodec.encodedBytes(message), number: nextNumber)
        nextNumber += 1
    }

    mutating func remove(_ node: NodeID) { items[node] = nil }

    /// What goes into the rest of a packet: the least sent first, of those the newest. What has been sent `limit` times
    /// is dropped.
    mutating func take(bytesMax: Int, limit: Int) -> [GossipMessage] {
        guard !items.isEmpty else { return [] }
        var bytesLeft = bytesMax
        var taken: [GossipMessage] = []
        let order = items.sorted {
            ($0.value.transmissions, $1.value.number) < ($1.value.transmissions, $0.value.number)
        }
        for (node, item) in order where item.bytes <= bytesLeft {
            bytesLeft -= item.bytes
            taken.append(item.message)
            if item.transmissions + 1 >= limit {
                items[node] = nil
            } else {
                items[node]?.transmissions += 1
            }
        }
        return taken
    }
}
