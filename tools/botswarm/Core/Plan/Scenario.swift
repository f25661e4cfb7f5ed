/// What the swarm does.
package struct Scenario: Sendable, Hashable {
    /// Whether bots send messages or barrage.
    package var sendsBarrage = false
    /// Bots in all, spread evenly over the rooms.
    package var bots = 100
    package var rooms = 1
    /// How many of the bots speak; the others only view.
    package var senders = 10
    /// What each sender sends in a second; 0 is as fast as the answers come.
    package var ratePerSender = 1.0
    /// The length of a text.
    package var bytes = 200
    /// Of 100 messages, how many are sent with `history: false`.
    package var unkeptPercent = 0
    /// How long senders send, once everybody is in.
    package var seconds = 10.0
    /// New connections a second.
    package var rampPerSecond = 500.0
    /// Bots that don't speak connect anonymously.
    package var anonymousViewers = false
    /// Requests of one sender that may wait for an answer.
    package var inFlightMax = 16
    /// Connections that the swarm itself cuts off in a second, so that bots have to resume.
    package var cutsPerSecond = 0.0
    /// Bots that stop reading for `stallSeconds`, each second, so that they are slow.
    package var stallsPerSecond = 0.0
    package var stallSeconds = 5.0
    /// Event loops, each with a thread.
    package var loops = 1
    /// The cap of the wait before a reconnect.
    package var reconnectMaxMilliseconds: UInt64 = 30_000
    /// How long everything on its way may take to arrive after the last send.
    package var drainSeconds = 60.0
    /// `enterExitNotify` of new rooms; nil leaves the server's default.
    package var enterExitNotify: String?

    package init() {}

    /// Throws `usage` for what makes no sense or does not fit into `openFilesMax`.
    package func check(openFilesMax: Int) throws(SwarmFailure) {
        try Self.check(bots >= 1 && bots <= 1_000_000, "at least one bot")
        try Self.check(rooms >= 1 && rooms <= bots, "from one room to as many as there are bots")
        try Self.check(senders >= 0 && senders <= bots, "no more senders than bots")
        try Self.check(ratePerSender >= 0 && ratePerSender <= 100_000, "a rate from 0 to 100,000 a second")
        let bytesMax = sendsBarrage ? 5 * 1024 : 32 * 1024
        try Self.check(bytes >= 0 && bytes <= bytesMax, "texts of at most \(bytesMax) bytes")
        try Self.check((0...100).contains(unkeptPercent), "a percentage from 0 to 100")
        try Self.check(seconds >= 0 && seconds <= 604_800, "a duration from 0 s to a week")
        try Self.check(rampPerSecond > 0 && rampPerSecond <= 100_000, "a ramp from 1 to 100,000 a second")
        try Self.check((1...1_024).contains(inFlightMax), "from 1 to 1,024 requests in flight")
        try Self.check(cutsPerSecond >= 0 && cutsPerSecond <= 100_000, "from 0 to 100,000 cuts a second")
        try Self.check(stallsPerSecond >= 0 && stallsPerSecond <= 100_000, "from 0 to 100,000 stalls a second")
        try Self.check(stallSeconds >= 0 && stallSeconds <= 3_600, "stalls from 0 to 3,600 s")
        try Self.check((1...64).contains(loops), "from 1 to 64 loops")
        try Self.check(drainSeconds >= 0 && drainSeconds <= 3_600, "a drain from 0 to 3,600 s")
        try Self.check(
            reconnectMaxMilliseconds >= 1 && reconnectMaxMilliseconds <= 600_000,
            "a reconnect cap from 1 to 600,000 ms")
        let files = bots + Self.otherFiles(loops: loops)
        try Self.check(
            files <= openFilesMax,
            "fewer bots: \(bots) need \(files) open files, and this process may have \(openFilesMax)")
    }

    /// Each loop has a handful; the rest is room for calls of the server API and the runtime.
    private static func otherFiles(loops: Int) -> Int { 64 + 16 * loops }

    private static func check(_ holds: Bool, _ need: String) throws(SwarmFailure) {
        guard holds else { throw SwarmFailure(.usage, "this needs \(need)") }
    }
}
