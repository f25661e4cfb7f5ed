/// A poll of a room (PROTOCOL.md, "Polls").
public struct Poll: Sendable, Hashable {
    public var id: String
    public var title: String
    public var options: [String]
    /// For each option.
    public var counts: [Int64]
    public var closesAt: Timestamp
    /// A second vote moves the first one.
    public var mayChange: Bool
    public var closed: Bool

    public init(
        id: String, title: String, options: [String], counts: [Int64]? = nil, closesAt: Timestamp,
        mayChange: Bool = false, closed: Bool = false
    ) {
        self.id = id
        self.title = title
        self.options = options
        self.counts = counts ?? options.map { _ in 0 }
        self.closesAt = closesAt
        self.mayChange = mayChange
        self.closed = closed
    }

    /// The key of an option's count in the push `tallies`.
    public static func countKey(_ id: String, _ option: Int) -> String { "\(Tally.pollPrefix)\(id):\(option)" }
}

/// A poll as a manager or the server API opens it.
public struct PollDraft: Sendable, Hashable {
    public var title: String
    public var options: [String]
    public var seconds: Int64
    public var mayChange: Bool

    public init(title: String, options: [String], seconds: Int64, mayChange: Bool = false) {
        self.title = title
        self.options = options
        self.seconds = seconds
        self.mayChange = mayChange
    }
}

/// A poll as its room keeps it. The votes of an open one have rows of their own, and make its counts.
public struct PollRecord: Sendable, Hashable {
    public var poll: Poll
    /// The log entry that opened it: tells its votes from those of others that have the same ID.
    public var number: UInt64
    /// By which its voters are hashed.
    public var key: PollKey
    /// nil while it is open.
    public var closedAt: Timestamp?

    public init(poll: Poll, number: UInt64, key: PollKey, closedAt: Timestamp? = nil) {
        self.poll = poll
        self.number = number
        self.key = key
        self.closedAt = closedAt
    }
}

/// The key under which a poll's voters are hashed: drawn by the leader, so that nobody can look for two users with one
/// hash.
public struct PollKey: Sendable, Hashable {
    public var high: UInt64
    public var low: UInt64

    public init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }
}

/// Some of a poll's votes, as one row holds them: 17 bytes each, the voter's hash and the option.
public struct PollVotes: Sendable, Hashable {
    public var bytes: [UInt8]

    public init(bytes: [UInt8]) { self.bytes = bytes }
}
