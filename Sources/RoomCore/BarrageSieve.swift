import ChatModel

/// The first of two levels of sampling (ARCHITECTURE.md, "Barrage"): what the sessions of one gateway loop send to one
/// room in one window of 100 ms. When that is more than the room can show, only the best by `BarrageRank` go on to the
/// room's leader, whose `BarrageWindow` picks among those of all gateways by the same rank; the rest is counted, and
/// comes back to those who sent it. Whatever is among the best of all is among the best of its gateway, so the sample
/// is the one that the leader would have picked from everything.
///
/// Only a crowd is sifted: while fewer come than the leader could show, each item goes on at once, and the leader
/// answers it.
///
/// Bounded: `itemsMax` items in a window, whose end then comes early; as many in windows under way.
public struct BarrageSieve: Sendable {
    /// The end of a window: what goes to the leader.
    public struct Window: Sendable, Hashable {
        /// Counts from 1.
        public var number: UInt64
        public var candidates: [BarrageCandidate] = []
        /// Items that no candidate stands for.
        public var leftOut: Int64 = 0
    }

    /// A window that the leader has not answered.
    private struct Open: Sendable {
        var number: UInt64
        var items: [BarrageCandidate]
        /// For each item which candidate stands for it; -1: none.
        var places: [Int32]
        /// Items of it that nobody gets back any more.
        var uncounted: Int64
        /// When it was sent.
        var closedAt: UInt64
    }

    public static let windowMilliseconds: UInt64 = 100
    public static let itemsMax = 4096
    /// A leader that has not answered a window for so long does not answer it any more, or has not got it.
    public static let answerMilliseconds: UInt64 = 3_000

    private let candidatesMax: Int
    private let highMax: Int
    private var windowStart: UInt64 = 0
    /// Items that went on at once in this window.
    private var passed = 0
    /// The window before brought more than may go on at once.
    private var isCrowded = false
    private var held: [BarrageCandidate] = []
    /// How many items each session has sent in this window.
    private var counts: [SessionID: Int] = [:]
    private var highCount = 0
    /// Items of windows that a leader did not answer: left out, and not yet counted by any.
    private var lost: [BarrageCandidate] = []
    private var uncounted: Int64 = 0
    private var lastNumber: UInt64 = 0
    private var open: [Open] = []
    private var openCount = 0

    /// - Parameters:
    ///   - perSecond: items a second to one viewer. A window of the leader shows half of that at most.
    ///   - highPerSecond: HIGH items a second; further ones count as NORMAL.
    public init(perSecond: Int, highPerSecond: Int) {
        candidatesMax = max(1, (perSecond + 1) / 2)
        highMax = max(0, highPerSecond)
    }

    /// Whether there is nothing to tell the leader at the end of the window.
    public var isEmpty: Bool { held.isEmpty && lost.isEmpty && uncounted == 0 }
    /// Whether the window must end now, because no more items have room.
    public var isFull: Bool { held.count >= Self.itemsMax }
    /// Whether the leader has not answered something.
    public var isWaiting: Bool { !open.isEmpty }

    /// Whether an item that comes now goes on at once; else it is to be held.
    public mutating func passes(from session: SessionID, at nowMilliseconds: UInt64) -> Bool {
        if nowMilliseconds >= windowStart + Self.windowMilliseconds, held.isEmpty {
            isCrowded = false
            windowStart = nowMilliseconds
            passed = 0
            counts.removeAll(keepingCapacity: true)
        }
        guard !isCrowded, held.isEmpty, passed < candidatesMax else { return false }
        passed += 1
        counts[session, default: 0] += 1
        return true
    }

    /// Keeps an item until the end of the window.
    public mutating func hold(_ item: BarrageCandidate) {
        var item = item
        if item.priority == .high {
            highCount += 1
            if highCount > highMax { item.priority = .normal }
        }
        item.hash = BarrageRank.hash(item.hash, next: &counts[item.sender, default: 0])
        held.append(item)
    }

    // MARK: - The end of a window

    private struct Group {
        /// The first one of the highest priority.
        var shown: Int
        var rank: BarrageRank
        var count: Int64
    }

    /// Ends the window.
    public mutating func close(at nowMilliseconds: UInt64) -> Window {
        lastNumber += 1
        isCrowded = passed + held.count > candidatesMax
        passed = 0
        highCount = 0
        windowStart = nowMilliseconds
        var window = Window(number: lastNumber)
        var groups: [Group] = []
        var places = groupByBody(&groups)
        let numbers = pick(groups)
        for index in places.indices { places[index] = numbers[Int(places[index])] }
        for (group, number) in zip(groups, numbers) {
            guard number >= 0 else {
                window.leftOut += group.count
                continue
            }
            var candidate = held[group.shown]
            (candidate.priority, candidate.hash, candidate.count) = (group.rank.priority, group.rank.hash, group.count)
            window.candidates.append(candidate)
        }
        window.leftOut += Int64(lost.count) + uncounted
        places += [Int32](repeating: -1, count: lost.count)
        open.append(
            Open(
                number: lastNumber, items: held + lost, places: places, uncounted: uncounted, closedAt: nowMilliseconds)
        )
        openCount += held.count + lost.count
        held.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        lost = []
        uncounted = 0
        return window
    }

    /// The held items, equal ones together, in the order in which the first of them came; and for each item its group.
    private func groupByBody(_ groups: inout [Group]) -> [Int32] {
        var byBody: [BarrageBody: Int] = [:]
        byBody.reserveCapacity(held.count)
        var places: [Int32] = []
        places.reserveCapacity(held.count)
        for (index, item) in held.enumerated() {
            let rank = BarrageRank(priority: item.priority, hash: item.hash)
            let body = BarrageBody(item)
            if let known = byBody[body] {
                if rank.isHigher(than: groups[known].rank) { groups[known].shown = index }
                groups[known].count += item.count
                groups[known].rank = min(groups[known].rank, rank)
                places.append(Int32(truncatingIfNeeded: known))
            } else {
                byBody[body] = groups.count
                places.append(Int32(truncatingIfNeeded: groups.count))
                groups.append(Group(shown: index, rank: rank, count: item.count))
            }
        }
        return places
    }

    /// Picks the HIGH ones, of which there are few, and the best of the others.
    /// - Returns: for each group the number of its candidate; -1: it is none.
    private func pick(_ groups: [Group]) -> [Int32] {
        let others = groups.indices.filter { groups[$0].rank.priority != .high }
        var isPicked = [Bool](repeating: true, count: groups.count)
        for rest in BarrageRank.rest(of: others.map { groups[$0].rank }, after: candidatesMax) {
            isPicked[others[rest]] = false
        }
        var numbers = [Int32](repeating: -1, count: groups.count)
        var next: Int32 = 0
        for index in groups.indices where isPicked[index] {
            numbers[index] = next
            next += 1
        }
        return numbers
    }

    // MARK: - The leader's answer

    /// A window was counted by the leader, which shows some of its candidates.
    /// - Returns: what its senders are to be shown besides.
    public mutating func settle(_ number: UInt64, shown: [UInt32]) -> [BarrageCandidate] {
        guard let index = open.firstIndex(where: { $0.number == number }) else { return [] }
        // The leader was told of these and knows nothing of them.
        for window in open[..<index] { lose(window) }
        let window = open[index]
        openCount -= open[...index].reduce(0) { $0 + $1.items.count }
        open.removeSubrange(...index)
        let shown = Set(shown.map { Int32(truncatingIfNeeded: $0) })
        var echoes: [BarrageCandidate] = []
        for (item, place) in zip(window.items, window.places) where place < 0 || !shown.contains(place) {
            echoes.append(item)
        }
        return echoes
    }

    /// Another node leads the room: what the former one has not answered counts as left out.
    public mutating func loseOpen() {
        for window in open { lose(window) }
        open = []
        openCount = 0
    }

    /// The same of what it has not answered for long, though it is still the leader.
    public mutating func loseOverdue(at nowMilliseconds: UInt64) {
        while let window = open.first, window.closedAt + Self.answerMilliseconds <= nowMilliseconds {
            lose(window)
            openCount -= window.items.count
            open.removeFirst()
        }
    }

    private mutating func lose(_ window: Open) {
        lost += window.items
        uncounted += window.uncounted
    }

    /// Items that have no room any more because nobody answers: they are shown to their senders at once.
    public mutating func takeOverflow() -> [BarrageCandidate] {
        guard held.count + lost.count + openCount > 2 * Self.itemsMax else { return [] }
        var items = lost
        lost = []
        for window in open {
            items += window.items
            uncounted += window.uncounted
        }
        open = []
        openCount = 0
        items += held
        held.removeAll(keepingCapacity: true)
        counts.removeAll(keepingCapacity: true)
        uncounted += Int64(items.count)
        return items
    }
}
