import ChatModel

/// The decisions that the client makes by itself; every number has a default that suits an app.
public struct ClientSettings: Sendable, Hashable {
    /// Connects without a token, to listen only. The node must allow it, and `enter` needs nick and avatar.
    public var anonymous = false
    /// The device, for the conflict policy `perDevice`.
    public var device = Device.web
    /// How often the first connection, and the first `enter` of a room, is tried again after a failure: 0 never,
    /// -1 without end (NIM's `retryCount`).
    public var retryCount = 3
    /// The same for a connection that was up and got lost: tries in a row that do not bring it back.
    public var reconnectRetryCount = -1
    /// Reconnecting waits a random time between these (PROTOCOL.md, "Closing"), the upper bound doubling with each
    /// failure.
    public var reconnectMinMilliseconds: Int64 = 500
    public var reconnectMaxMilliseconds: Int64 = 30_000
    /// How long the address provider and the token provider may take.
    public var providerMilliseconds: Int64 = 10_000
    /// How long opening the WebSocket and `connect` may take.
    public var connectMilliseconds: Int64 = 10_000
    /// How long a read may wait for its answer, reconnecting included.
    public var readMilliseconds: Int64 = 30_000
    /// A change that is refused for now (416, slow mode too) is repeated by itself if it has to wait no longer than
    /// this; else the refusal is the answer.
    public var refusalWaitMilliseconds: Int64 = 5_000
    /// Requests that may wait for an answer. Beyond it, `tooManyPending`.
    public var pendingRequestsMax = 256
    /// Live pushes that wait while what was missed is read. Beyond it, kept messages are read from history too, and
    /// the others are counted in `skipped`.
    public var heldPushesMax = 1_024
    /// The longest random wait before a SLOW gap is read (PROTOCOL.md, "Viewer budget").
    public var gapWaitMilliseconds: Int64 = 5_000
    /// SLOW gaps that wait to be read, in one room. Beyond it, a gap is told with cause `unavailable` and not read.
    public var gapReadsMax = 64

    public init() {}
}

/// How much is logged. Tokens and message texts never are.
public enum LogLevel: Int, Sendable, Hashable, Comparable, CaseIterable {
    case debug, info, warning, error

    public static func < (a: LogLevel, b: LogLevel) -> Bool { a.rawValue < b.rawValue }
}

/// The options of `enter`: the profile to show, and what to ask for.
public struct EnterOptions: Sendable, Hashable {
    /// At most 256 B; absent: saved, else from the token. Anonymous users must give one.
    public var nick: String?
    /// At most 1 KB; as `nick`.
    public var avatar: String?
    /// Shown with the member during this stay; at most 4096 B.
    public var ext: String?
    /// Goes into the enter notification; at most 2048 B. Given once, not when the client comes back by itself.
    public var notifyExt: String?
    /// Asks for the queue, at every entry.
    public var withQueue: Bool
    /// So many of the newest messages come as events in front of the live ones, in one sequence: 0 to 100. When the
    /// client comes back, what was missed comes instead; these where it can't be told (`recovery` is `impossible`).
    public var history: Int
    /// Asks for the tallies, at every entry. Only where `features` has `tally`.
    public var withTallies: Bool

    public init(
        nick: String? = nil, avatar: String? = nil, ext: String? = nil, notifyExt: String? = nil,
        withQueue: Bool = false, history: Int = 0,
        withTallies: Bool = false
    ) {
        self.nick = nick
        self.avatar = avatar
        self.ext = ext
        self.notifyExt = notifyExt
        self.withQueue = withQueue
        self.history = history
        self.withTallies = withTallies
    }
}
