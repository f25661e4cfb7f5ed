/// A counter of a room (PROTOCOL.md, "Tallies").
public struct Tally: Sendable, Hashable {
    public var key: String
    /// 0 to `Limits.tallyTotal`.
    public var total: Int64
    /// Takes nothing more.
    public var closed: Bool
    public var by: TallySource

    public init(key: String, total: Int64 = 0, closed: Bool = false, by: TallySource = .anyone) {
        self.key = key
        self.total = total
        self.closed = closed
        self.by = by
    }

    /// The tally that every room has.
    public static let like = "like"
    /// Keys of polls' counts begin with it, and no others.
    public static let pollPrefix = "poll:"

    /// Whether the text can be a key: 1 to 32 bytes of `[A-Za-z0-9_.:-]`.
    public static func isKey(_ text: String) -> Bool {
        (1...Limits.tallyKeyBytes).contains(text.utf8.count)
            && text.utf8.allSatisfy { byte in
                switch byte {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: ":"),
                    UInt8(ascii: "-"):
                    true
                default: false
                }
            }
    }
}

/// Those who add to a tally.
public enum TallySource: String, Sendable, Hashable, CaseIterable {
    /// All who may speak, and the server API.
    case anyone = "ANYONE"
    /// The server API alone.
    case server = "SERVER"
}

/// A key with a number: a total, or so many taps.
public struct TallyCount: Sendable, Hashable {
    public var key: String
    public var count: Int64

    public init(key: String, count: Int64) {
        self.key = key
        self.count = count
    }
}

/// The properties of a tally that the server API sets; nil leaves one as it is.
public struct TallySettings: Sendable, Hashable {
    public var total: Int64?
    public var closed: Bool?
    public var by: TallySource?

    public init(total: Int64? = nil, closed: Bool? = nil, by: TallySource? = nil) {
        self.total = total
        self.closed = closed
        self.by = by
    }
}

/// One command's change of one tally.
public enum TallyChange: Sendable, Hashable {
    /// So many taps of a member.
    case tap(Int64)
    /// The server API adds, or takes away.
    case add(Int64)
    /// The server API makes the tally, or changes it.
    case set(TallySettings)
    /// The server API removes it.
    case remove
}

/// The taps that a gateway's lane has counted in a room during a window.
///
/// Life and window name it: a batch that comes again, because a leader died or its receipt was lost, is counted once.
public struct TapBatch: Sendable, Hashable {
    /// The lane's, drawn when its process started.
    public var life: UInt64
    /// Ascends over all rooms of the lane. A room gets the next one when the former was settled, so it needs only the last.
    public var window: UInt64
    /// Each key once; at most `Limits.tapKeys`.
    public var sums: [TallyCount]
    /// The life of the room in which they were tapped: another one counts none of them. nil: the lane was not told.
    public var incarnation: Incarnation?

    public init(life: UInt64, window: UInt64, sums: [TallyCount], of incarnation: Incarnation?) {
        self.life = life
        self.window = window
        self.sums = sums
        self.incarnation = incarnation
    }
}

/// The last window of a lane's life that a room has counted.
public struct TapMemory: Sendable, Hashable {
    public var window: UInt64
    public var time: Timestamp
    /// For each of its sums the total after it, or less than 0: it was refused with the `ErrorCode` of that number. A
    /// repeat gets them again, so that nobody is told that something was counted which was not.
    public var results: [Int64]

    public init(window: UInt64, time: Timestamp, results: [Int64]) {
        self.window = window
        self.time = time
        self.results = results
    }
}

extension ChatError {
    /// 414: the text is none of the keys that tallies can have.
    public static var notTallyKey: ChatError {
        ChatError(.badParameter, "key is 1 to \(Limits.tallyKeyBytes) characters of A-Z a-z 0-9 _ . : -", field: "key")
    }

    public static func noTally(_ key: String, _ room: RoomID) -> ChatError {
        ChatError(.notFound, "there is no tally \(key) in \(room)", field: "key")
    }

    /// 404: the room in which it was tapped was deleted, and is made anew.
    public static func tappedBefore(_ room: RoomID) -> ChatError {
        ChatError(.notFound, "the room \(room) in which this was tapped was deleted")
    }

    public static func tallyClosed(_ key: String, _ room: RoomID) -> ChatError {
        ChatError(.conflict, "the tally \(key) of \(room) is closed", field: "key")
    }

    public static func tallyOfServer(_ key: String, _ room: RoomID) -> ChatError {
        ChatError(.forbidden, "only the app's server adds to \(key) of \(room)", field: "key")
    }

    /// The answer of a lane to those who tapped, where the room has refused a sum with that code (`TapMemory.results`).
    public static func refusedTap(_ code: ErrorCode, _ key: String, _ room: RoomID) -> ChatError {
        switch code {
        case .notFound: noTally(key, room)
        case .conflict: ChatError(.conflict, "the tally \(key) of \(room) is closed or full", field: "key")
        case .forbidden: tallyOfServer(key, room)
        default: ChatError(code, "the tally \(key) of \(room) takes no taps", field: "key")
        }
    }
}
