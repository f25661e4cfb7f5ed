import ChatModel

/// The rest of users' rates, over all sessions of each: three times what one session has. Each node counts what is
/// asked there, and about a second later what the others tell it (``takeUses(nowMilliseconds:)``,
/// ``take(elsewhere:nowMilliseconds:)``).
///
/// Holds whoever has asked for something within the last minute or two, here or so much elsewhere that it was told: what
/// has not been touched for a whole minute is full again, or as good as that. So memory follows those who ask, not those
/// who are here.
public struct UserRates: Sendable {
    private var limits: RateLimits
    private var young: [UserID: Rates] = [:]
    private var old: [UserID: Rates] = [:]
    private var turnsAt: UInt64 = 0
    /// Not yet reported to the other nodes.
    private var uses: UserUses
    private var tellsAt: UInt64 = 0
    /// Users that are known only by what other nodes have told since the last turn.
    private var strangers = 0

    public init(_ limits: RateLimits) {
        self.limits = limits
        uses = UserUses(ofUser: limits.ofUser)
    }

    /// Other limits, for those who are known too.
    public mutating func set(_ limits: RateLimits) {
        self.limits = limits
        for user in Array(young.keys) { young[user]?.set(limits.ofUser) }
        for user in Array(old.keys) { old[user]?.set(limits.ofUser) }
    }

    /// Takes what a request costs, from the session and from its user, or from neither.
    /// - Returns: nil when both had it, else how long until they will, in milliseconds.
    public mutating func take(
        _ cost: RateCost, of user: UserID, and session: inout Rates, nowMilliseconds now: UInt64
    ) -> Int64? {
        if let wait = session.wait(for: cost, nowMilliseconds: now) { return wait }
        let wait: Int64? = change(user, nowMilliseconds: now) { rates in
            if let wait = rates.wait(for: cost, nowMilliseconds: now) { return wait }
            rates.take(cost)
            session.take(cost)
            return nil
        }
        if wait == nil { uses.note(cost, of: user) }
        return wait
    }

    // MARK: - At other nodes

    /// The requests of users here since the last call; nil if there are none, or if that was less than about a second ago.
    /// To be called once a second or so.
    public mutating func takeUses(nowMilliseconds now: UInt64) -> UserUses? {
        guard now >= tellsAt, !uses.isEmpty else { return nil }
        tellsAt = now + Self.tellMilliseconds
        defer { uses = UserUses(ofUser: limits.ofUser) }
        return uses
    }

    /// Another node's report counts here, too. It adds at most `strangersMax` unknown users until the next turn.
    public mutating func take(elsewhere told: some Sequence<UserUse>, nowMilliseconds now: UInt64) {
        for use in told {
            if young[use.user] == nil, old[use.user] == nil {
                guard strangers < Self.strangersMax else { continue }
                strangers += 1
            }
            change(use.user, nowMilliseconds: now) { $0.take(elsewhere: use, nowMilliseconds: now) }
        }
    }

    // MARK: - What is done with

    /// A change turned out to be a repeat, which costs nothing: its session and its user get back what was taken.
    public mutating func giveBack(
        _ cost: RateCost, to user: UserID, and session: inout Rates, nowMilliseconds now: UInt64
    ) {
        session.giveBack(cost)
        uses.takeBack(cost, of: user)
        change(user, nowMilliseconds: now) { $0.giveBack(cost) }
    }

    /// A change is done with, and has copied that many bytes at most: its session and its user get back what was taken
    /// beyond them.
    public mutating func settle(
        _ cost: RateCost, copied: Int, of user: UserID, and session: inout Rates, nowMilliseconds now: UInt64
    ) {
        guard case .change(_, 1...) = cost else { return }
        session.settle(cost, copied: copied)
        uses.note(bytes: cost.counted(copied), of: user)
        change(user, nowMilliseconds: now) { $0.settle(cost, copied: copied) }
    }

    // MARK: - Who is known

    /// Changes what a user has left.
    public mutating func change<Result>(
        _ user: UserID, nowMilliseconds now: UInt64, _ body: (inout Rates) -> Result
    ) -> Result {
        var rates = young[user] ?? old[user] ?? Rates(ofUser: limits, nowMilliseconds: now)
        let result = body(&rates)
        young[user] = rates
        return result
    }

    /// The rest of a user's rates; nil for a user who has asked for nothing lately, and has all.
    public func levels(of user: UserID, nowMilliseconds now: UInt64) -> RateLevels? {
        (young[user] ?? old[user])?.levels(nowMilliseconds: now)
    }

    /// Users that have not been heard of since the last turn but one are forgotten. To be called once a second or so.
    /// - Returns: what was forgotten, to be freed where that may take its time.
    public mutating func turn(nowMilliseconds now: UInt64) -> [UserID: Rates] {
        guard now >= turnsAt else { return [:] }
        turnsAt = now + Self.turnMilliseconds
        let forgotten = old
        old = young
        young = [:]
        strangers = 0
        return forgotten
    }

    /// The number of known users.
    public var count: Int { young.count + old.keys.count { young[$0] == nil } }

    private static let turnMilliseconds: UInt64 = 60_000
    /// A little less than the time between two calls, which are not quite even.
    private static let tellMilliseconds: UInt64 = 900
    private static let strangersMax = 20_000
}
