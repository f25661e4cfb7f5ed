import ChatModel

/// The users whose tokens are refused, by when they were issued (PROTOCOL.md, "Tokens").
///
/// A revocation is kept until `usersMax` newer ones have come, because nobody knows how long an app lets its tokens
/// live. The one that is then forgotten leaves its time behind as the floor: tokens of anybody issued until then are
/// refused. So a revoked token never comes back; what the bound costs is that others with tokens as old as that must
/// get new ones, which clients do on 4401.
public struct Revocations: Sendable {
    /// Users whose revocation is remembered.
    public static let usersMax = 100_000

    private let usersMax: Int
    private var times: [UserID: Timestamp] = [:]
    /// In the order of their times; what `times` says otherwise of is out of date.
    private var order = Fifo<(user: UserID, time: Timestamp)>()
    /// Tokens of anybody issued at this time or before are refused.
    public private(set) var floor = Timestamp(0)

    public init(usersMax: Int = Self.usersMax) { self.usersMax = usersMax }

    /// - Parameter oldestFirst: as `oldestFirst` gave it.
    init(floor: Timestamp, _ oldestFirst: [(user: UserID, time: Timestamp)], usersMax: Int = Self.usersMax) {
        self.init(usersMax: usersMax)
        self.floor = floor
        order = Fifo(oldestFirst)
        for (user, time) in oldestFirst { times[user] = time }
    }

    /// Refuses what was issued until now. Returns the time: later than that of the user's revocation before, and of any
    /// token that was issued because of it.
    mutating func revoke(_ user: UserID, at now: Timestamp) -> Timestamp {
        let time = max(now, times[user].map { $0.adding(milliseconds: 1) } ?? now)
        times[user] = time
        order.append((user, time))
        while times.count > usersMax { forgetOldest() }
        // Outdated or forgotten entries take at most as much again.
        if order.count > 2 * usersMax { order = Fifo(oldestFirst) }
        return time
    }

    private mutating func forgetOldest() {
        guard let (user, time) = order.popFirst() else { return }
        guard times[user] == time else { return }
        times[user] = nil
        floor = max(floor, time)
    }

    /// Whether a token is refused. Without `iat` nobody can tell that it is newer, so it is refused as soon as there is
    /// anything that it could be older than.
    public func refuses(_ user: UserID, issuedAt: Timestamp?) -> Bool {
        let limit = max(floor, times[user] ?? floor)
        guard let issuedAt else { return limit > Timestamp(0) }
        return issuedAt <= limit
    }

    /// The earliest `iat` with which a token of the user is accepted, given the time.
    public func issueTime(for user: UserID, at now: Timestamp) -> Timestamp {
        max(now, max(floor, times[user] ?? floor).adding(milliseconds: 1))
    }

    public var count: Int { times.count }

    /// Everything that is remembered.
    var oldestFirst: [(user: UserID, time: Timestamp)] { order.filter { times[$0.user] == $0.time } }
}
