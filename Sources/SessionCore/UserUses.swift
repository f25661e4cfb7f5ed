import ChatModel

/// The requests of users at this node since the last report to the other nodes.
///
/// Only what is noteworthy is told: most users ask for little, at one node, and nobody need know. So a second costs as
/// much as greedy users do, and an idle node says nothing. Uses that are not told count at this node alone.
public struct UserUses: Sendable {
    /// The limits of one user.
    private let limits: RateLimits
    /// At most those of whom a session has asked within about a second.
    private var uses: [UserID: UserUse] = [:]

    init(ofUser limits: RateLimits) { self.limits = limits }

    /// Whether nobody has asked for anything.
    public var isEmpty: Bool { uses.isEmpty }

    /// Without what it may copy, which is noted when it is known.
    mutating func note(_ cost: RateCost, of user: UserID) {
        switch cost {
        case .read, .search: uses[user, default: UserUse(user: user)].reads += 1
        case .change(let bytes, _): note(changes: 1, bytes: bytes, of: user)
        // Taps count at each node alone, and per session.
        case .isRepeat, .taps: break
        }
    }

    mutating func note(bytes: Int, of user: UserID) {
        if bytes > 0 { note(changes: 0, bytes: bytes, of: user) }
    }

    private mutating func note(changes: Int, bytes: Int, of user: UserID) {
        func add(_ use: inout UserUse) {
            use.changes += changes
            let sum = use.bytes.addingReportingOverflow(max(0, bytes))
            use.bytes = sum.overflow ? .max : sum.partialValue
        }
        // The name is not copied for a user who is there already.
        if let place = uses.index(forKey: user) {
            add(&uses.values[place])
        } else {
            var use = UserUse(user: user)
            add(&use)
            uses[user] = use
        }
    }

    /// It cost nothing after all. Uses that have been told meanwhile stay told.
    mutating func takeBack(_ cost: RateCost, of user: UserID) {
        guard case .change(let bytes, _) = cost, var use = uses[user] else { return }
        use.changes = max(0, use.changes - 1)
        use.bytes = max(0, use.bytes - max(0, bytes))
        uses[user] = use
    }

    /// The report to other nodes: users who have used a tenth of a second's rate or more; at most `UserUse.usersMax`, the
    /// greediest. It takes a while with many users, and so belongs off the loops.
    public var noteworthy: [UserUse] {
        var told: [(share: Double, use: UserUse)] = []
        for use in uses.values {
            let share = share(of: use)
            if share >= Self.noteworthyShare { told.append((share, use)) }
        }
        if told.count > UserUse.usersMax { told.sort { $0.share > $1.share } }
        return told.prefix(UserUse.usersMax).map(\.use)
    }

    /// The part of a second's rate that the user has used, of the rate that it has used most of.
    private func share(of use: UserUse) -> Double {
        func share(_ used: Int, _ rate: Double) -> Double {
            guard used > 0 else { return 0 }
            return rate > 0 ? Double(used) / rate : .infinity
        }
        return max(
            share(use.changes, limits.changesPerSecond), share(use.reads, limits.readsPerSecond),
            share(use.bytes, limits.bytesPerSecond))
    }

    private static let noteworthyShare = 0.1
}
