import ChatModel

/// The results of the commands of the last 10 minutes, so that a repeat changes nothing (PROTOCOL.md, "Retry").
///
/// Kept posts come by the thousands a second: of them only key, seq, time and priority are held, in a table of their own
/// (`PostTable`). They are bounded by what a room accepts in 10 minutes. For all other results the part that a repeat
/// needs is held (`RememberedResult`), each with a row in the catalogue; they are bounded in bytes for each user and for
/// the room, and what is over a bound is forgotten before its time, which only its own repeat notices: it counts as a new
/// command.
struct CommandLedger: Sendable {
    struct Post: Sendable, Equatable {
        var seq: UInt64
        var time: Timestamp
        /// nil: it is not known any more, and taken from the repeat.
        var priority: Priority?
    }

    private struct Expiring: Sendable {
        var key: CommandKey
        var index: UInt64
        var time: Timestamp
    }

    /// The results of one user's commands.
    private struct Owner: Sendable {
        var bytes = 0
        var count = 0
        /// Oldest first; may name what is forgotten already.
        var order = Fifo<Expiring>()
    }

    private(set) var posts = PostTable()
    private(set) var results: [CommandKey: CommandMemory] = [:]
    /// The size of the results.
    private(set) var bytes = 0
    /// Oldest first; may name what is forgotten already.
    private var order = Fifo<Expiring>()
    /// The entry of the first one of these, as long as it is known not to be forgotten.
    private var liveIndex: UInt64?
    /// The same of the results of polls, which go first when the room has too much: a poll has so many voters that they
    /// would push out what cannot be told from what the room is, as gifts.
    private var votes = Fifo<Expiring>()
    /// Those with results, by `CommandMemory.owner`.
    private var owners: [UInt64: Owner] = [:]
    private let userBytesMax: Int
    private let roomBytesMax: Int

    /// The bounds are fixed: replicas that differ in them would forget differently. Others are for tests.
    init(userBytesMax: Int = Limits.rememberedBytesPerUser, roomBytesMax: Int = Limits.rememberedBytesPerRoom) {
        self.userBytesMax = userBytesMax
        self.roomBytesMax = roomBytesMax
    }

    /// - Parameter results: in any order; what another ledger has held.
    init(
        results: [(key: CommandKey, memory: CommandMemory)], userBytesMax: Int = Limits.rememberedBytesPerUser,
        roomBytesMax: Int = Limits.rememberedBytesPerRoom
    ) {
        self.init(userBytesMax: userBytesMax, roomBytesMax: roomBytesMax)
        let sorted = results.sorted {
            ($0.memory.index, $0.key.high, $0.key.low) < ($1.memory.index, $1.key.high, $1.key.low)
        }
        for (key, memory) in sorted { put(memory, of: key) }
    }

    static func isForgotten(_ time: Timestamp, at now: Timestamp) -> Bool {
        time.adding(seconds: Limits.commandMemorySeconds) <= now
    }

    /// When the row of a result that nobody has asked for again must be removed, if nothing else happens in the room:
    /// a minute after it is forgotten, so that what happens anyway removes most of them.
    static func sweepTime(_ time: Timestamp) -> Timestamp { time.adding(seconds: Limits.commandMemorySeconds + 60) }

    /// When the first row is to be swept; nil when there are none.
    var nextSweep: Timestamp? { results.isEmpty ? nil : order.first.map { Self.sweepTime($0.time) } }

    /// The post that this command became, if that is not too long ago.
    func post(_ key: CommandKey, at now: Timestamp) -> Post? {
        guard let post = posts[key], !Self.isForgotten(post.time, at: now) else { return nil }
        return post
    }

    /// The remembered result of any other command, if that is not too long ago.
    func result(_ key: CommandKey, at now: Timestamp) -> RememberedResult? {
        guard let memory = results[key], !Self.isForgotten(memory.time, at: now) else { return nil }
        return memory.result
    }

    mutating func remember(_ post: Post, of key: CommandKey) { posts.set(post, of: key) }

    /// Remembers a result, and forgets what is over the bounds.
    /// - Returns: the keys of what was forgotten, whose rows must go; never `key`.
    mutating func remember(_ memory: CommandMemory, of key: CommandKey) -> [CommandKey] {
        put(memory, of: key)
        var forgotten: [CommandKey] = []
        while memory.owner != 0, owners[memory.owner]?.bytes ?? 0 > userBytesMax, let oldest = oldest(of: memory.owner),
            oldest != key
        {
            forget(oldest)
            forgotten.append(oldest)
        }
        while bytes > roomBytesMax, let oldest = oldestOfRoom(adding: memory.owner, key), oldest != key {
            forget(oldest)
            forgotten.append(oldest)
        }
        return forgotten
    }

    /// Forgets what is too old, a bounded amount at a time, and returns the keys whose rows must go.
    mutating func prune(at now: Timestamp) -> [CommandKey] {
        posts.prune(at: now)
        // Each command prunes, and nearly always in vain.
        if let first = order.first, first.index == liveIndex, !Self.isForgotten(first.time, at: now) { return [] }
        var forgotten: [CommandKey] = []
        while forgotten.count < Self.prunedAtOnceMax, let oldest = oldestOfAll(),
            let time = results[oldest]?.time, Self.isForgotten(time, at: now)
        {
            forget(oldest)
            forgotten.append(oldest)
        }
        return forgotten
    }

    /// The history of these posts is over.
    mutating func forgetPosts() { posts = PostTable() }

    // MARK: - Ages

    private mutating func put(_ memory: CommandMemory, of key: CommandKey) {
        // One that is too old may still be there.
        forget(key)
        results[key] = memory
        bytes += memory.bytes
        let expiring = Expiring(key: key, index: memory.index, time: memory.time)
        order.append(expiring)
        if case .poll = memory.result { votes.append(expiring) }
        owners[memory.owner, default: Owner()].order.append(expiring)
        owners[memory.owner]?.bytes += memory.bytes
        owners[memory.owner]?.count += 1
    }

    private mutating func forget(_ key: CommandKey) {
        guard let memory = results.removeValue(forKey: key) else { return }
        liveIndex = nil
        bytes -= memory.bytes
        owners[memory.owner]?.bytes -= memory.bytes
        owners[memory.owner]?.count -= 1
        let count = owners[memory.owner]?.count ?? 0
        if count <= 0 {
            owners[memory.owner] = nil
        } else if let listed = owners[memory.owner]?.order.count, listed > 2 * count + Self.staleMax {
            let shorter = live(owners[memory.owner]?.order ?? Fifo())
            owners[memory.owner]?.order = shorter
        }
        if order.count > 2 * results.count + Self.staleMax { order = live(order) }
        if votes.count > 2 * results.count + Self.staleMax { votes = live(votes) }
    }

    private func isLive(_ expiring: Expiring) -> Bool { results[expiring.key]?.index == expiring.index }

    /// Without what is forgotten already: paid for by as many that were forgotten.
    private func live(_ order: Fifo<Expiring>) -> Fifo<Expiring> {
        var (rest, live) = (order, Fifo<Expiring>())
        while let first = rest.first {
            if isLive(first) { live.append(first) }
            rest.removeFirst()
        }
        return live
    }

    private mutating func oldestOfAll() -> CommandKey? {
        while let first = order.first {
            if isLive(first) {
                liveIndex = first.index
                return first.key
            }
            order.removeFirst()
        }
        return nil
    }

    private mutating func oldest(of owner: UInt64) -> CommandKey? {
        while let first = owners[owner]?.order.first {
            if isLive(first) { return first.key }
            owners[owner]?.order.removeFirst()
        }
        return nil
    }

    /// The result to forget when the room has too much: users with more than an equal part pay for themselves.
    private mutating func oldestOfRoom(adding owner: UInt64, _ key: CommandKey) -> CommandKey? {
        let part = roomBytesMax / max(1, owners.count)
        if owners[owner]?.bytes ?? 0 > part, let own = oldest(of: owner), own != key { return own }
        if let vote = oldestVote(), vote != key { return vote }
        return oldestOfAll()
    }

    private mutating func oldestVote() -> CommandKey? {
        while let first = votes.first {
            if isLive(first) { return first.key }
            votes.removeFirst()
        }
        return nil
    }

    /// More than one, so that pruning keeps ahead of what is added.
    private static let prunedAtOnceMax = 8
    /// So that the orders of few are not cleared all the time.
    private static let staleMax = 64
}
