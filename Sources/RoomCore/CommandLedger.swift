import ChatModel

/// The results of the commands of the last 10 minutes, so that a repeat changes nothing (contract, "Retry").
///
/// Kept posts come by the thousands a second: of them only key, seq, time and priority are held, in one dictionary
/// per minute, so that neither growing nor forgetting ever touches more than a minute's worth. All other results are
/// held whole, each with a row in the catalogue. Bounded by what a room accepts in 10 minutes.
struct CommandLedger: Sendable {
    struct Post: Sendable, Equatable {
        var seq: UInt64
        var time: Timestamp
        var priority: Priority
    }

    /// What one minute kept.
    struct Minute: Sendable {
        var number: Int64
        var posts = PartitionedDictionary<CommandKey, Post>()
    }

    private struct Expiring: Sendable {
        var key: CommandKey
        var time: Timestamp
    }

    /// Oldest first; at most 11.
    private(set) var minutes: [Minute] = []
    private(set) var results: [CommandKey: CommandMemory] = [:]
    private var order = Fifo<Expiring>()

    init() {}

    /// - Parameter results: in any order.
    init(results: [(key: CommandKey, memory: CommandMemory)]) {
        let sorted = results.sorted {
            ($0.memory.time, $0.key.high, $0.key.low) < ($1.memory.time, $1.key.high, $1.key.low)
        }
        for (key, memory) in sorted { remember(memory, of: key) }
    }

    static func isForgotten(_ time: Timestamp, at now: Timestamp) -> Bool {
        time.adding(seconds: Limits.commandMemorySeconds) <= now
    }

    /// When the row of a result that nobody has asked for again must be removed, if nothing else happens in the room:
    /// a minute after it is forgotten, so that what happens anyway removes most of them.
    static func sweepTime(_ time: Timestamp) -> Timestamp { time.adding(seconds: Limits.commandMemorySeconds + 60) }

    /// When the first row is to be swept; nil when there are none.
    var nextSweep: Timestamp? { order.first.map { Self.sweepTime($0.time) } }

    /// The post that this command became, if that is not too long ago.
    func post(_ key: CommandKey, at now: Timestamp) -> Post? {
        for minute in minutes.reversed() {
            if let post = minute.posts[key] { return Self.isForgotten(post.time, at: now) ? nil : post }
        }
        return nil
    }

    /// The result of any other command, if that is not too long ago.
    func result(_ key: CommandKey, at now: Timestamp) -> CommandResult? {
        guard let memory = results[key], !Self.isForgotten(memory.time, at: now) else { return nil }
        return memory.result
    }

    mutating func remember(_ post: Post, of key: CommandKey) {
        let number = post.time.milliseconds / Self.minute
        if let last = minutes.last, last.number >= number {
            minutes[minutes.count - 1].posts[key] = post
        } else {
            var minute = Minute(number: number)
            minute.posts[key] = post
            minutes.append(minute)
        }
    }

    mutating func remember(_ memory: CommandMemory, of key: CommandKey) {
        results[key] = memory
        order.append(Expiring(key: key, time: memory.time))
    }

    /// Forgets what is too old, a bounded amount at a time, and returns the keys whose rows must go.
    mutating func prune(at now: Timestamp) -> [CommandKey] {
        if let oldest = minutes.first {
            // The product does not overflow: the number came from dividing by as much.
            let end = Timestamp(oldest.number * Self.minute).adding(milliseconds: Self.minute - 1)
            if Self.isForgotten(end, at: now) { minutes.removeFirst() }
        }
        var forgotten: [CommandKey] = []
        while forgotten.count < Self.prunedAtOnceMax, let oldest = order.first, Self.isForgotten(oldest.time, at: now) {
            order.removeFirst()
            // The key may have been used again since.
            if results[oldest.key]?.time == oldest.time {
                results[oldest.key] = nil
                forgotten.append(oldest.key)
            }
        }
        return forgotten
    }

    /// The history of these posts is over.
    mutating func forgetPosts() { minutes = [] }

    /// Milliseconds.
    private static let minute: Int64 = 60_000
    /// More than one, so that pruning keeps ahead of what is added.
    private static let prunedAtOnceMax = 8
}
