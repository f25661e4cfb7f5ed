import ChatModel

/// The barrage of one room in one window, sampled to what a viewer may get (PROTOCOL.md, "Rates"): the second of two
/// levels, behind the gateways' `BarrageSieve`s.
///
/// Every viewer gets the same sample: HIGH before NORMAL before LOW, within a priority each sender's first item before
/// anybody's second one, and then those with the smallest hash, so that no sender is preferred. Items that are equal but
/// for their senders become one, with a count: that of the first sender who had the highest of their priorities. The
/// sender of an item that was not picked still gets it, alone: from here, or from its gateway, where that has sifted it.
///
/// Bounded: at most `itemsMax` distinct items are held; further ones are counted as skipped and echoed to their
/// senders only, and at most `BarrageEchoes.itemsMax` items of a session in a window are echoed at all.
public struct BarrageWindow: Sendable {
    /// The items that one window shows.
    public struct Sample: Sendable, Hashable {
        public struct Echo: Sendable, Hashable {
            public var sender: PresenceKey
            public var item: BarrageItem
        }

        public var items: [BarrageItem] = []
        /// Items that a viewer does not get; its own are in `echoes`, or with its gateway, and not spared to it.
        public var skipped = 0
        public var echoes: [Echo] = []
        /// The candidates that are among `items`, or counted in one of them.
        public var shown: [Part] = []
    }

    /// A candidate of a gateway's window: which window of those that came, and which of its candidates.
    public struct Part: Sendable, Hashable {
        public var window: Int
        public var candidate: Int

        public init(window: Int, candidate: Int) {
            self.window = window
            self.candidate = candidate
        }
    }

    private struct Held: Sendable {
        var item: BarrageItem
        var rank: BarrageRank
        /// The part of the session whose item it is, which nearly all items have to themselves, if its gateway does not
        /// echo it; none of the server API.
        var own: Own?
        /// The items of other such sessions.
        var others: [PresenceKey: BarrageItem] = [:]
        var parts: [Part] = []
    }

    /// The difference between a session's item and the one that is shown.
    private struct Own: Sendable {
        var sender: PresenceKey
        var priority: Priority
        var count: Int64
    }

    /// A session's part in the window.
    private struct Brought: Sendable {
        var items = 0
        /// The echoes that it has been given, bounded as `BarrageEchoes` are.
        var echoes = 0
        var echoedBytes = 0
    }

    private struct Shown: Sendable {
        var time: Int64
        var count: Int
        var high: Int
    }

    public static let itemsMax = 4096
    private static let windowsPerSecond = 10

    private let perSecond: Int
    /// HIGH items a second; further ones count as NORMAL.
    public var highPerSecond: Int
    /// Numbers of items that the windows of the last second showed.
    private var shown = Fifo<Shown>()
    private var shownCount = 0
    private var shownHigh = 0
    /// When the HIGH items of the last second came: people's, and those of the server API, which has as many again.
    private var high = Fifo<Int64>()
    private var serverHigh = Fifo<Int64>()
    private var held: [Held] = []
    private var byBody: [BarrageBody: Int] = [:]
    private var overflow: [Sample.Echo] = []
    private var senders: [PresenceKey: Brought] = [:]
    /// Items that are not shown whatever the sample is.
    private var leftOut = 0
    private var counter: UInt64 = 0

    /// - Parameters:
    ///   - perSecond: items a second to one viewer, at least 1.
    ///   - highPerSecond: HIGH items a second; further ones count as NORMAL.
    public init(perSecond: Int, highPerSecond: Int) {
        self.perSecond = max(1, perSecond)
        self.highPerSecond = max(0, highPerSecond)
    }

    public var isEmpty: Bool { held.isEmpty && leftOut == 0 }

    /// Adds an item, whose `time` is now.
    /// - Parameters:
    ///   - sender: nil for the server API.
    ///   - hash: see `SampleHash`; nil: of the items without a sender.
    public mutating func add(_ item: BarrageItem, from sender: PresenceKey?, hash: UInt64? = nil) {
        let item = ranked(item, ofServer: sender == nil)
        let place = place(of: item, rank(of: hash ?? nextHash(), sender))
        guard let (index, isNew) = place else {
            leftOut += Int(clamping: item.count)
            if let sender, takeEcho(of: item, sender) { overflow.append(Sample.Echo(sender: sender, item: item)) }
            return
        }
        guard let sender else { return }
        if isNew {
            guard takeEcho(of: item, sender) else { return }
            held[index].own = Own(sender: sender, priority: item.priority, count: item.count)
        } else if held[index].own?.sender == sender {
            held[index].own?.count += item.count
        } else if let other = held[index].others[sender] {
            held[index].others[sender]?.count = other.count + item.count
        } else if takeEcho(of: item, sender) {
            held[index].others[sender] = item
        }
    }

    /// The hash by which the next item of a session, or one of the server API, is ranked.
    private mutating func rank(of hash: UInt64, _ sender: PresenceKey?) -> UInt64 {
        guard let sender else { return BarrageRank.hash(hash, after: 0) }
        return BarrageRank.hash(hash, next: &senders[sender, default: Brought()].items)
    }

    private mutating func takeEcho(of item: BarrageItem, _ sender: PresenceKey) -> Bool {
        // In one look at the table.
        Self.take(BarrageEchoes.size(of: item), &senders[sender, default: Brought()])
    }

    private static func take(_ bytes: Int, _ taken: inout Brought) -> Bool {
        guard taken.echoes < BarrageEchoes.itemsMax, taken.echoedBytes + bytes <= BarrageEchoes.bytesMax else {
            return false
        }
        taken.echoes += 1
        taken.echoedBytes += bytes
        return true
    }

    /// Adds a candidate of a gateway's window, which echoes it itself.
    public mutating func add(_ item: BarrageItem, hash: UInt64, part: Part) {
        let item = ranked(item, ofServer: false)
        guard let (index, _) = place(of: item, hash) else { return leaveOut(item.count) }
        held[index].parts.append(part)
    }

    /// Counts items that are not shown, and that their gateway echoes.
    public mutating func leaveOut(_ count: Int64) { leftOut += Int(clamping: count) }

    private mutating func nextHash() -> UInt64 {
        counter &+= 1
        return SampleHash.mix(counter)
    }

    private mutating func ranked(_ given: BarrageItem, ofServer: Bool) -> BarrageItem {
        var item = given
        guard item.priority == .high else { return item }
        let now = item.time.milliseconds
        let isTaken =
            ofServer ? serverHigh.take(at: now, most: highPerSecond) : high.take(at: now, most: highPerSecond)
        if !isTaken { item.priority = .normal }
        return item
    }

    /// Counts the item in where an equal one is held; nil when there is no place for another one.
    private mutating func place(of item: BarrageItem, _ hash: UInt64) -> (index: Int, isNew: Bool)? {
        let rank = BarrageRank(priority: item.priority, hash: hash)
        let body = BarrageBody(item)
        let index = held.count < Self.itemsMax ? Self.index(&byBody[body, default: -1], next: held.count) : byBody[body]
        guard let index else { return nil }
        guard index < held.count else {
            held.append(Held(item: item, rank: rank))
            return (index, true)
        }
        if rank.isHigher(than: held[index].rank) { show(item, at: index) }
        held[index].item.count += item.count
        held[index].rank = min(held[index].rank, rank)
        return (index, false)
    }

    /// The item is that of another sender from here on, with a higher priority: nobody takes its place with an equal one.
    private mutating func show(_ item: BarrageItem, at index: Int) {
        if let own = held[index].own {
            var former = held[index].item
            (former.priority, former.count) = (own.priority, own.count)
            held[index].others[own.sender] = former
            held[index].own = nil
        }
        (held[index].item.from, held[index].item.time) = (item.from, item.time)
        held[index].item.priority = item.priority
    }

    /// A body that is not known gets the next place.
    private static func index(_ known: inout Int, next: Int) -> Int {
        if known < 0 { known = next }
        return known
    }

    /// Ends the window.
    public mutating func take(at now: Timestamp) -> Sample {
        let high = held.count { $0.rank.priority == .high }
        let allowed = allowance(at: now.milliseconds, high: high)
        var sample = Sample()
        var isPicked = [Bool](repeating: true, count: held.count)
        for rest in BarrageRank.rest(of: held.map(\.rank), after: allowed) { isPicked[rest] = false }
        for index in held.indices {
            guard !isPicked[index] else {
                sample.items.append(held[index].item)
                sample.shown += held[index].parts
                continue
            }
            sample.skipped += Int(clamping: held[index].item.count)
            if let own = held[index].own {
                var item = held[index].item
                (item.priority, item.count) = (own.priority, own.count)
                sample.echoes.append(Sample.Echo(sender: own.sender, item: item))
            }
            for (sender, item) in held[index].others { sample.echoes.append(Sample.Echo(sender: sender, item: item)) }
        }
        sample.skipped += leftOut
        sample.echoes += overflow
        let entry = Shown(time: now.milliseconds, count: sample.items.count, high: min(high, sample.items.count))
        shown.append(entry)
        shownCount += entry.count
        shownHigh += entry.high
        held.removeAll(keepingCapacity: true)
        byBody.removeAll(keepingCapacity: true)
        overflow = []
        senders.removeAll(keepingCapacity: true)
        leftOut = 0
        return sample
    }

    /// Half of what is left of the second, but at least an even share, so that a burst leaves room for the next; and all
    /// HIGH items for which the second has room. As many places as HIGH items may come in a second are kept for them,
    /// though never more than a quarter of all: no crowd of others takes the place of what comes later in the second.
    private mutating func allowance(at now: Int64, high: Int) -> Int {
        while let oldest = shown.first, oldest.time <= now - 1000 {
            shown.removeFirst()
            shownCount -= oldest.count
            shownHigh -= oldest.high
        }
        let left = max(0, perSecond - shownCount)
        let kept = max(0, min(2 * highPerSecond, perSecond / 4) - shownHigh)
        let high = min(high, left)
        let others = max(0, left - max(kept, high))
        return max(high, min(high + others, max(perSecond / Self.windowsPerSecond, left / 2, 1)))
    }
}

extension Fifo<Int64> {
    /// Takes note of one more within a second, in milliseconds; false when there have been as many as may be.
    fileprivate mutating func take(at now: Int64, most: Int) -> Bool {
        while let oldest = first, oldest <= now - 1000 { removeFirst() }
        guard count < most else { return false }
        append(now)
        return true
    }
}
