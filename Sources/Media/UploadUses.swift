import ChatModel

/// The bytes of content that users have announced on one day (UTC), as sums of the nodes that counted them.
///
/// Sums only grow, and nodes that have told each other theirs know the same, in whatever order and however often they are told
/// (a grow-only counter). So a user has one allowance, whichever node counts now.
public struct UploadUses: Sendable {
    /// Users of one day; those beyond them are refused with 503.
    public static let usersMax = 500_000
    /// Nodes that have counted for one user; more are no cluster.
    public static let nodesMax = 255

    private struct Sums: Sendable {
        var own: Int64 = 0
        /// Those of the other nodes: mostly none, or one.
        var others: [NodeID: Int64] = [:]

        var total: Int64 { others.values.reduce(own) { $0.addingReportingOverflow($1).overflow ? .max : $0 + $1 } }
    }

    private let node: NodeID
    private let usersMax: Int
    public private(set) var day: Int64
    private var sums: [UserID: Sums] = [:]

    /// - Parameter node: the one that counts here.
    public init(node: NodeID, day: Int64, usersMax: Int = Self.usersMax) {
        self.node = node
        self.day = day
        self.usersMax = usersMax
    }

    public var count: Int { sums.count }

    /// Another day begins with nothing. Returns whether one has begun. A clock that goes back to the day before does not forget;
    /// one that goes back further was wrong, and what was counted by it would stand for as long as it was ahead.
    @discardableResult
    public mutating func begin(_ day: Int64) -> Bool {
        guard day > self.day || day < self.day - 1 else { return false }
        (self.day, sums) = (day, [:])
        return true
    }

    public func total(of user: UserID) -> Int64 { sums[user]?.total ?? 0 }

    /// The sum that each node has counted for the user.
    public func counts(of user: UserID) -> [NodeID: Int64] {
        guard let sums = sums[user] else { return [:] }
        var counts = sums.others
        if sums.own > 0 { counts[node] = sums.own }
        return counts
    }

    /// The users with what each node has counted for them.
    public var all: [(user: UserID, counts: [NodeID: Int64])] { sums.keys.map { ($0, counts(of: $0)) } }

    /// Takes bytes from what a user may send in this day.
    public mutating func take(_ bytes: Int64, of user: UserID, bytesPerDay: Int64, at now: Timestamp)
        throws(ChatError)
    {
        guard bytes >= 0, bytes <= bytesPerDay - min(total(of: user), bytesPerDay) else {
            let midnight = (day + 1) * Timestamp.millisecondsPerDay
            throw ChatError(
                .tooOften, "\(user) may send \(bytesPerDay) bytes of media a day",
                retryAfterMs: max(0, midnight - now.milliseconds))
        }
        guard sums[user] != nil || sums.count < usersMax else {
            throw ChatError(.unavailable, "too many users send media", retryAfterMs: 60_000)
        }
        sums[user, default: Sums()].own += bytes
    }

    /// Takes over what another node knows, or what this one knew before it was started. Returns whether that was news.
    @discardableResult
    public mutating func merge(_ counts: [NodeID: Int64], of user: UserID, on day: Int64) -> Bool {
        guard day == self.day, sums[user] != nil || sums.count < usersMax else { return false }
        var merged = sums[user] ?? Sums()
        var isNews = false
        for (other, bytes) in counts where bytes > 0 {
            if other == node {
                guard bytes > merged.own else { continue }
                merged.own = bytes
            } else {
                guard bytes > merged.others[other] ?? 0,
                    merged.others[other] != nil || merged.others.count < Self.nodesMax
                else { continue }
                merged.others[other] = bytes
            }
            isNews = true
        }
        if isNews { sums[user] = merged }
        return isNews
    }
}
