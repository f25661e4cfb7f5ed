import ChatModel

/// The barrage of one room in one window, sampled to what a viewer may get (contract, "Rates").
///
/// Every viewer gets the same sample: HIGH before NORMAL before LOW, and within a priority those with the smallest
/// hash, so that no sender is preferred. Equal texts become one item, that of the first who sent it, with the highest
/// of their priorities and a count. Whoever sent an item that was not picked still gets its own, alone.
///
/// Bounded: at most `itemsMax` distinct texts are held; further ones are counted as skipped and echoed to their
/// senders only. The echoes follow from what gateways read in a window.
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
        /// What each session has sent of it; without what the server API sent.
        var own: [PresenceKey: BarrageItem] = [:]
    }

    private struct Shown: Sendable {
        var time: Int64
        var count: Int
    }

    public static let itemsMax = 4096
    private static let windowsPerSecond = 10

    private let perSecond: Int
    private let highPerSecond: Int
    /// What the windows of the last second showed.
    private var shown = Fifo<Shown>()
    private var shownCount = 0
    /// When the HIGH items of the last second came.
    private var high = Fifo<Int64>()
    private var held: [Held] = []
    private var byText: [String: Int] = [:]
    private var overflow: [Sample.Echo] = []
    private var overflowCount = 0
    private var counter: UInt64 = 0

    /// - Parameters:
    ///   - perSecond: items a second to one viewer, at least 1.
    ///   - highPerSecond: HIGH items a second; further ones count as NORMAL.
    public init(perSecond: Int, highPerSecond: Int) {
        self.perSecond = max(1, perSecond)
        self.highPerSecond = max(0, highPerSecond)
    }

    public var isEmpty: Bool { held.isEmpty && overflowCount == 0 }

    /// Adds an item, whose `time` is now.
    /// - Parameter sender: nil for the server API.
    public mutating func add(_ item: BarrageItem, from sender: PresenceKey?) {
        var item = item
        if item.priority == .high, !takeHigh(at: item.time.milliseconds) { item.priority = .normal }
        guard let index = place(of: item) else {
            overflowCount += 1
            if let sender { overflow.append(Sample.Echo(sender: sender, item: item)) }
            return
        }
        guard let sender else { return }
        item.count += held[index].own[sender]?.count ?? 0
        held[index].own[sender] = item
    }

    /// Counts the item in where its text is held; nil when there is no place for another text.
    private mutating func place(of item: BarrageItem) -> Int? {
        if let index = byText[item.text] {
            held[index].item.count += item.count
            if Self.rank(item.priority) > Self.rank(held[index].item.priority) {
                held[index].item.priority = item.priority
            }
            return index
        }
        guard held.count < Self.itemsMax else { return nil }
        counter &+= 1
        byText[item.text] = held.count
        held.append(Held(item: item, hash: SampleHash.mix(counter)))
        return held.count - 1
    }

    private mutating func takeHigh(at now: Int64) -> Bool {
        while let oldest = high.first, oldest <= now - 1000 { high.removeFirst() }
        guard high.count < highPerSecond else { return false }
        high.append(now)
        return true
    }

    /// Ends the window.
    public mutating func take(at now: Timestamp) -> Sample {
        let allowed = allowance(at: now.milliseconds)
        var sample = Sample()
        var picked = Set(held.indices)
        if held.count > allowed {
            picked = Set(held.indices.sorted { Self.goesBefore(held[$0], held[$1]) }.prefix(allowed))
        }
        for index in held.indices {
            guard !picked.contains(index) else {
                sample.items.append(held[index].item)
                continue
            }
            sample.skipped += Int(clamping: held[index].item.count)
            for (sender, item) in held[index].own { sample.echoes.append(Sample.Echo(sender: sender, item: item)) }
        }
        sample.skipped += overflowCount
        sample.echoes += overflow
        shown.append(Shown(time: now.milliseconds, count: sample.items.count))
        shownCount += sample.items.count
        held.removeAll(keepingCapacity: true)
        byText.removeAll(keepingCapacity: true)
        overflow = []
        overflowCount = 0
        return sample
    }

    /// Half of what is left of the second, but at least an even share, so that a burst leaves room for the next.
    private mutating func allowance(at now: Int64) -> Int {
        while let oldest = shown.first, oldest.time <= now - 1000 {
            shown.removeFirst()
            shownCount -= oldest.count
        }
        let left = perSecond - shownCount
        return max(0, min(left, max(perSecond / Self.windowsPerSecond, left / 2, 1)))
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
}
