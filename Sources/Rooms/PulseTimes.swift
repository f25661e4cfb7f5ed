import ChatModel

/// When each shard of a loop says what it believes of lanes: once a second, and not all in the same turn, since each
/// sums up all of its rooms. Pure: times are passed in.
struct PulseTimes {
    static let intervalMilliseconds: UInt64 = 1_000

    private var next: [ShardID: UInt64] = [:]

    init() {}

    /// Spread over the second.
    init(_ shards: some Collection<ShardID>, at now: UInt64) {
        for (place, shard) in shards.sorted().enumerated() {
            next[shard] = now + UInt64(place) * Self.intervalMilliseconds / UInt64(shards.count)
        }
    }

    /// Those that are due, the longest first.
    func due(at now: UInt64) -> [ShardID] {
        next.filter { $0.value <= now }.sorted { ($0.value, $0.key) < ($1.value, $1.key) }.map(\.key)
    }

    /// It has been done. A late shard does not come twice in a row; the others keep their places in the second.
    mutating func finish(_ shard: ShardID, at now: UInt64) {
        guard let due = next[shard] else { return }
        let late = now - min(due, now)
        next[shard] =
            late < Self.intervalMilliseconds / 2 ? due + Self.intervalMilliseconds : now + Self.intervalMilliseconds
    }
}
