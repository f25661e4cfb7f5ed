import ChatModel

/// How often somebody may ask, and how much (PROTOCOL.md, "Rates").
public struct RateLimits: Sendable, Hashable {
    public var changesPerSecond = 10.0
    public var changesBurst = 20.0
    public var readsPerSecond = 20.0
    public var readsBurst = 20.0
    /// Bytes of changes; the copies of a COMBINE count.
    public var bytesPerSecond = 320.0 * 1024
    public var bytesBurst = 640.0 * 1024

    /// Beyond the rate of changes the room is asked whether it has answered that already. It looks into a table and logs
    /// nothing, but nobody shall make it look without end.
    public static let repeatsPerSecond = 20.0
    public static let repeatsBurst = 100.0
    /// Requests of taps, and taps, a second; the burst is as large (PROTOCOL.md, "Tallies").
    public static let tapRequestsPerSecond = 20.0
    public static let tapsPerSecond = 1_000.0
    /// Searches a second; the burst is as large (PROTOCOL.md, "Search").
    public static let searchesPerSecond = 2.0
    /// The rate of all sessions of a user, as a multiple of one session's.
    public static let userShare = 3.0
    /// The debt that what other nodes say leaves at most, in what flows in within that many seconds. It is what a lie, or
    /// something that is counted twice, can cost a user; with less, many nodes together would let more through.
    public static let elsewhereDebtSeconds = 5.0

    public init() {}

    var ofUser: RateLimits {
        var limits = self
        limits.changesPerSecond *= Self.userShare
        limits.changesBurst *= Self.userShare
        limits.readsPerSecond *= Self.userShare
        limits.readsBurst *= Self.userShare
        limits.bytesPerSecond *= Self.userShare
        limits.bytesBurst *= Self.userShare
        return limits
    }
}

/// The cost of a request.
public enum RateCost: Sendable, Hashable {
    case read
    /// `copies`: the most bytes that it may bring along besides its own, which are taken with it until its answer says how
    /// many there were. Else many such changes that are asked at once would all pass before the first is paid for.
    case change(bytes: Int, copies: Int = 0)
    /// The question whether a change has been answered already.
    case isRepeat
    /// A request that counts as so many taps.
    case taps(Int64)
    /// A read that looks for messages.
    case search

    /// Nothing of it is ever given back.
    var isRead: Bool { self == .read || self == .search }

    /// The part of that many copied bytes that it pays for: at most the charge that was taken.
    func counted(_ copied: Int) -> Int {
        guard case .change(_, let copies) = self else { return 0 }
        return min(max(0, copied), copies)
    }
}

/// The rest of the rates of a session, or of all sessions of a user. The clock is passed in; it may be another loop's,
/// as all of them go alike.
public struct Rates: Sendable, Hashable {
    private var changes: TokenBucket
    private var reads: TokenBucket
    private var bytes: TokenBucket
    private var repeats: TokenBucket
    /// Requests of taps, and taps. Most sessions never tap, and have none.
    private var taps: [TokenBucket] = []
    /// Most sessions never search, and have none.
    private var searches: TokenBucket?
    private let share: Double
    private let startedAt: UInt64

    /// The rates of a session. Starts full.
    public init(_ limits: RateLimits, nowMilliseconds now: UInt64) { self.init(limits, share: 1, now) }

    /// The rates of all sessions of a user. Starts full.
    public init(ofUser limits: RateLimits, nowMilliseconds now: UInt64) {
        self.init(limits.ofUser, share: RateLimits.userShare, now)
    }

    private init(_ limits: RateLimits, share: Double, _ now: UInt64) {
        changes = TokenBucket(
            ratePerSecond: limits.changesPerSecond, burst: limits.changesBurst, nowMilliseconds: now)
        reads = TokenBucket(ratePerSecond: limits.readsPerSecond, burst: limits.readsBurst, nowMilliseconds: now)
        bytes = TokenBucket(ratePerSecond: limits.bytesPerSecond, burst: limits.bytesBurst, nowMilliseconds: now)
        repeats = TokenBucket(
            ratePerSecond: RateLimits.repeatsPerSecond * share, burst: RateLimits.repeatsBurst * share,
            nowMilliseconds: now)
        self.share = share
        startedAt = now
    }

    private mutating func makeTaps(_ now: UInt64) {
        guard taps.isEmpty else { return }
        taps = [RateLimits.tapRequestsPerSecond, RateLimits.tapsPerSecond].map {
            TokenBucket(ratePerSecond: $0 * share, burst: $0 * share, nowMilliseconds: now)
        }
    }

    private mutating func makeSearches(_ now: UInt64) {
        guard searches == nil else { return }
        let rate = RateLimits.searchesPerSecond * share
        searches = TokenBucket(ratePerSecond: rate, burst: rate, nowMilliseconds: now)
    }

    /// Other limits from now on; what is left stays.
    public mutating func set(_ limits: RateLimits) {
        changes.set(ratePerSecond: limits.changesPerSecond, burst: limits.changesBurst)
        reads.set(ratePerSecond: limits.readsPerSecond, burst: limits.readsBurst)
        bytes.set(ratePerSecond: limits.bytesPerSecond, burst: limits.bytesBurst)
    }

    /// How long until it may be, in milliseconds; nil: now.
    public mutating func wait(for cost: RateCost, nowMilliseconds now: UInt64) -> Int64? {
        switch cost {
        case .read: return reads.wait(for: 1, nowMilliseconds: now)
        case .isRepeat: return repeats.wait(for: 1, nowMilliseconds: now)
        case .search:
            makeSearches(now)
            let first = searches?.wait(for: 1, nowMilliseconds: now)
            let second = reads.wait(for: 1, nowMilliseconds: now)
            guard let first, let second else { return first ?? second }
            return max(first, second)
        case .taps(let count):
            makeTaps(now)
            let first = taps[0].wait(for: 1, nowMilliseconds: now)
            let second = taps[1].wait(for: Double(count), nowMilliseconds: now)
            guard let first, let second else { return first ?? second }
            return max(first, second)
        case .change(let count, let copies):
            let first = changes.wait(for: 1, nowMilliseconds: now)
            let second = bytes.wait(for: Double(count) + Double(copies), nowMilliseconds: now)
            guard let first, let second else { return first ?? second }
            return max(first, second)
        }
    }

    /// It was done.
    public mutating func take(_ cost: RateCost) {
        switch cost {
        case .read: reads.take(1)
        case .isRepeat: repeats.take(1)
        case .search:
            searches?.take(1)
            reads.take(1)
        case .taps(let count):
            // They are there: what it costs is asked before it is taken.
            guard taps.count == 2 else { return }
            taps[0].take(1)
            taps[1].take(Double(count))
        case .change(let count, let copies):
            changes.take(1)
            bytes.take(Double(count) + Double(copies))
        }
    }

    /// A change turned out to be a repeat.
    public mutating func giveBack(_ cost: RateCost) {
        switch cost {
        case .change(let count, let copies):
            changes.giveBack()
            bytes.giveBack(Double(count) + Double(copies))
        case .taps(let count):
            guard taps.count == 2 else { return }
            taps[0].giveBack()
            taps[1].giveBack(Double(count))
        case .read, .search, .isRepeat: break
        }
    }

    /// A change has brought along that many bytes: what was taken beyond them comes back.
    public mutating func settle(_ cost: RateCost, copied: Int) {
        guard case .change(_, let copies) = cost else { return }
        bytes.giveBack(Double(copies - cost.counted(copied)))
    }

    /// Charges the use of the user's sessions at another node.
    mutating func take(elsewhere use: UserUse, nowMilliseconds now: UInt64) {
        let debt = RateLimits.elsewhereDebtSeconds
        changes.take(Double(use.changes), debtSeconds: debt, nowMilliseconds: now)
        reads.take(Double(use.reads), debtSeconds: debt, nowMilliseconds: now)
        bytes.take(Double(use.bytes), debtSeconds: debt, nowMilliseconds: now)
    }

    /// The rest of now, for another node.
    public func levels(nowMilliseconds now: UInt64) -> RateLevels {
        var levels = RateLevels()
        levels.changes = changes.level(nowMilliseconds: now)
        levels.reads = reads.level(nowMilliseconds: now)
        levels.bytes = bytes.level(nowMilliseconds: now)
        levels.repeats = repeats.level(nowMilliseconds: now)
        if taps.count == 2 {
            levels.tapRequests = taps[0].level(nowMilliseconds: now)
            levels.taps = taps[1].level(nowMilliseconds: now)
        }
        levels.searches = searches?.level(nowMilliseconds: now)
        return levels
    }

    /// No more is left than what another node says: a session that moves brings no new allowance.
    public mutating func restrict(to levels: RateLevels) {
        changes.restrict(to: levels.changes)
        reads.restrict(to: levels.reads)
        bytes.restrict(to: levels.bytes)
        repeats.restrict(to: levels.repeats)
        if let left = levels.searches {
            makeSearches(startedAt)
            searches?.restrict(to: left)
        }
        guard let requests = levels.tapRequests, let tapped = levels.taps else { return }
        // This node has seen no taps before.
        makeTaps(startedAt)
        taps[0].restrict(to: requests)
        taps[1].restrict(to: tapped)
    }
}
