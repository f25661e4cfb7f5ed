import ChatModel

/// News to be sent with other packets, each a bounded number of times: that reaches everybody with high probability
/// (SWIM section 4.1). Newer news about the same member replaces older news, so there is at most one per member.
struct BroadcastQueue: Sendable {
    private struct Item: Sendable {
        var message: GossipMessage
        var bytes: Int
        var transmissions = 0
        /// The number of its place in `levels`.
        var number: UInt64
    }

    private struct Place: Sendable {
        var node: NodeID
        var number: UInt64
    }

    private var items: [NodeID: Item] = [:]
    /// By transmissions, what came there last at the end: so the next one is found without a look at the others. The
    /// place of what was replaced, removed or sent since is void, and goes when it is met.
    private var levels: [[Place]] = []
    private var placeCount = 0
    private var nextNumber: UInt64 = 0

    /// News that does not fit a packet any more is passed over, but not for ever.
    private static let misfitsMax = 8

    var isEmpty: Bool { items.isEmpty }
    var count: Int { items.count }

    func contains(_ node: NodeID) -> Bool { items[node] != nil }

    /// Queues a piece of news; probes are not.
    mutating func add(_ message: GossipMessage) {
        guard let subject = message.subject else { return }
        put(Item(message: message, bytes: GossipCodec.encodedBytes(message), number: 0), about: subject)
        // Void places are at most as many as the others, and a few.
        if placeCount > 2 * items.count + 64 { sweep() }
    }

    mutating func remove(_ node: NodeID) { items[node] = nil }

    /// The news for the rest of a packet: the least sent first, and among those the last queued or sent. News that has
    /// been sent `limit` times is dropped.
    mutating func take(bytesMax: Int, limit: Int) -> [GossipMessage] {
        guard !items.isEmpty else { return [] }
        var bytesLeft = bytesMax
        var misfits = 0
        var taken: [(node: NodeID, item: Item)] = []
        for level in levels.indices where misfits < Self.misfitsMax {
            var left: [Place] = []
            while misfits < Self.misfitsMax, let place = levels[level].popLast() {
                placeCount -= 1
                guard let item = items[place.node], item.number == place.number else { continue }
                if item.bytes <= bytesLeft {
                    bytesLeft -= item.bytes
                    taken.append((place.node, item))
                } else {
                    misfits += 1
                    left.append(place)
                }
            }
            levels[level] += left.reversed()
            placeCount += left.count
        }
        // After all levels, so that nothing is taken twice.
        for (node, item) in taken.reversed() {
            if item.transmissions + 1 >= limit {
                items[node] = nil
            } else {
                var item = item
                item.transmissions += 1
                put(item, about: node)
            }
        }
        return taken.map(\.item.message)
    }

    private mutating func put(_ item: Item, about node: NodeID) {
        while levels.count <= item.transmissions { levels.append([]) }
        var item = item
        item.number = nextNumber
        nextNumber += 1
        levels[item.transmissions].append(Place(node: node, number: item.number))
        placeCount += 1
        items[node] = item
    }

    private mutating func sweep() {
        for level in levels.indices { levels[level].removeAll { items[$0.node]?.number != $0.number } }
        placeCount = levels.reduce(0) { $0 + $1.count }
    }
}
