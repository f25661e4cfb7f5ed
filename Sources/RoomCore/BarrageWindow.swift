import ChatModel

/// The barrage of one room in one window, sampled to what a viewer may get (contract, "Rates").
///
/// Every viewer gets the same sample: HIGH before NORMAL before LOW, and within a priority those with the smallest
/// hash, so that no sender is preferred. Equal texts become one item with a count. Whoever sent an item that was not
/// picked still gets it, alone.
///
/// Bounded: at most `itemsMax` distinct texts are held; further ones are counted as skipped and echoed to their
/// senders only.
public struct BarrageWindow: Sendable {
    /// What one window shows.
    public struct Sample: Sendable, Hashable {
        public struct Echo: Sendable, Hashable {
            public var sender: PresenceKey
            public var item: BarrageItem
        }

        public var items: [BarrageItem] = []
        /// Items that a viewer does not get; its own are in `echoes` and not spared to it.
        public var skipped = 0
        public var echoes: [Echo] = []
    }

    private struct Held: Sendable {
        var item: BarrageItem
        var hash: UInt64
        /// Whoever sent this text; nil for the server API.
        var senders: [PresenceKey]
    }

    public static let itemsMax = 4096
    public static let windowMilliseconds: Int64 = 100
    private static let windowsPerSecond = 10

    private let perSecond: Int
    /// What the last windows showed, so that no second shows more than the budget.
    private var shown: [Int]
    private var held: [Held] = []
    private var byText: [String: Int] = [:]
    private var overflow: [Sample.Echo] = []
    private var overflowWithoutSender = 0
    private var counter: UInt64 = 0

    /// - Parameter perSecond: items a second to one viewer, at least 1.
    public init(perSecond: Int) {
        self.perSecond = max(1, perSecond)
        shown = [Int](repeating: 0, count: Self.windowsPerSecond - 1)
    }

    public var isEmpty: Bool { held.isEmpty && overflow.isEmpty && overflowWithoutSender == 0 }

    public mutating func add(_ item: BarrageItem, from sender: PresenceKey?) {
        if let index = byText[item.text], held[index].item.priority == item.priority {
            held[index].item.count += item.count
            if let sender { held[index].senders.append(sender) }
            return
        }
        guard held.count < Self.itemsMax else {
            if let sender {
                overflow.append(Sample.Echo(sender: sender, item: item))
            } else {
                overflowWithoutSender += 1
            }
            return
        }
        counter &+= 1
        byText[item.text] = held.count
        held.append(Held(item: item, hash: Self.mix(counter), senders: sender.map { [$0] } ?? []))
    }

    /// Ends the window.
    public mutating func take() -> Sample {
        let budget = perSecond - shown.reduce(0, +)
        // Half of what is left of the second, but at least an even share, so that a burst leaves room for the next.
        let allowed = max(0, min(budget, max(perSecond / Self.windowsPerSecond, budget / 2, 1)))
        var sample = Sample()
        if held.count <= allowed {
            sample.items = held.map(\.item)
        } else {
            let order = held.indices.sorted { Self.goesBefore(held[$0], held[$1]) }
            let picked = Set(order.prefix(allowed))
            for index in held.indices {
                if picked.contains(index) {
                    sample.items.append(held[index].item)
                } else {
                    sample.skipped += Int(held[index].item.count)
                    for sender in held[index].senders {
                        var item = held[index].item
                        item.count = 1
                        sample.echoes.append(Sample.Echo(sender: sender, item: item))
                    }
                }
            }
        }
        sample.skipped += overflow.count + overflowWithoutSender
        sample.echoes += overflow
        shown.removeFirst()
        shown.append(sample.items.count)
        held.removeAll(keepingCapacity: true)
        byText.removeAll(keepingCapacity: true)
        overflow = []
        overflowWithoutSender = 0
        return sample
    }

    private static func goesBefore(_ a: Held, _ b: Held) -> Bool {
        let (rankA, rankB) = (rank(a.item.priority), rank(b.item.priority))
        return rankA != rankB ? rankA > rankB : a.hash < b.hash
    }

    private static func rank(_ priority: Priority) -> Int {
        switch priority {
        case .low: 0
        case .normal: 1
        case .high: 2
        }
    }

    /// SplitMix64's finalizer: the place in the window decides, whoever sent it.
    private static func mix(_ value: UInt64) -> UInt64 {
        var z = value &* 0x9e37_79b9_7f4a_7c15
        z = (z ^ (z >> 30)) &* 0xbf58_476d_1ce4_e5b9
        z = (z ^ (z >> 27)) &* 0x94d0_49bb_1331_11eb
        return z ^ (z >> 31)
    }
}
