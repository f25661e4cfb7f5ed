/// The plan of the swarm: its bots, and one stage after another.
package struct Scenario: Sendable, Hashable, Codable {
    /// The name of the subcommand.
    package var name = "chat"
    /// Bots in all, spread evenly over the rooms.
    package var bots = 100
    package var rooms = 1
    /// How many of the bots speak; the others only view.
    package var senders = 10
    /// Managers of each room, who do not speak.
    package var managersPerRoom = 0
    /// The length of a text.
    package var bytes = 200
    /// New connections a second; 0 is as fast as the nodes let them in.
    package var rampPerSecond = 500.0
    /// With a ramp of 0, connections that may be on their way into the room at a time.
    package var enteringMax = 256
    /// Bots that don't speak connect anonymously.
    package var anonymousViewers = false
    /// Requests of one sender that may wait for an answer.
    package var inFlightMax = 16
    /// The number of slow viewers among 100, in stages that have slow ones.
    package var slowPercent = 0.0
    /// Whether slow ones read a little each second; else they read nothing.
    package var slowOnesRead = false
    /// Keys of the queue that seats are at.
    package var seatKeys = 8
    /// Event loops, each with a thread.
    package var loops = 1
    /// The cap of the wait before a reconnect.
    package var reconnectMaxMilliseconds: UInt64 = 30_000
    /// How long everything on its way may take to arrive after the last send.
    package var drainSeconds = 60.0
    /// `enterExitNotify` of new rooms; nil leaves the server's default.
    package var enterExitNotify: String?
    /// People in a room up to which nobody's budget holds (PROTOCOL.md, "Viewer budget"); the node's setting.
    package var budgetUnlimitedUpTo = 1_000
    package var stages: [Stage] = [Scenario.chat(rate: 1, seconds: 10)]

    package init() {}

    /// The stage of a run that has only one, of messages.
    package static func chat(rate: Double, seconds: Double) -> Stage {
        var stage = Stage("chat", seconds: seconds)
        stage.messageRate = rate
        return stage
    }

    package var sendsBarrage: Bool { stages.contains { $0.barrageRate != nil } }
    package var hasSeats: Bool { stages.contains { $0.seatRate > 0 } }
    package var moderates: Bool { stages.contains { $0.moderationRate > 0 } }
    /// Whether the rooms have to be new: their streams are replayed from the beginning.
    package var needsNewRooms: Bool { hasSeats || moderates }
    package var isCounted: Bool { stages.contains { $0.leaverRate > 0 } || moderates || rampPerSecond == 0 }
    package var managers: Int { managersPerRoom * rooms }

    // MARK: - Who is what

    package func isSender(_ bot: BotID) -> Bool { bot.number < senders }

    /// The last bots, so many of each room.
    package func isManager(_ bot: BotID) -> Bool { bot.number >= bots - managers }

    package func isAnonymous(_ bot: BotID) -> Bool { anonymousViewers && !isSender(bot) && !isManager(bot) }

    /// The slow ones are spread evenly over the viewers.
    package func isSlow(_ bot: BotID) -> Bool {
        guard !isSender(bot), !isManager(bot) else { return false }
        let place = Double(bot.number - senders)
        return ((place + 1) * slowPercent / 100).rounded(.down) > (place * slowPercent / 100).rounded(.down)
    }

    package func room(of bot: BotID) -> Int { bot.number % rooms }

    // MARK: - What makes sense

    /// Throws `usage` for what makes no sense or does not fit into `openFilesMax`.
    ///
    /// - Parameter share: how many workers share the bots.
    package func check(openFilesMax: Int, share: Int = 1) throws(SwarmFailure) {
        try Self.check(bots >= 1 && bots <= 1_000_000, "at least one bot")
        try Self.check(rooms >= 1 && rooms <= bots, "from one room to as many as there are bots")
        try Self.check((0...bots).contains(senders), "no more senders than bots")
        try Self.check((0...100).contains(managersPerRoom), "from 0 to 100 managers in a room")
        try Self.check(senders + managers <= bots, "no more senders and managers than bots")
        try Self.check(!moderates || managersPerRoom > 0, "a manager in each room")
        let bytesMax = sendsBarrage ? 5 * 1024 : 32 * 1024
        try Self.check((0...bytesMax).contains(bytes), "texts of at most \(bytesMax) bytes")
        try Self.check(rampPerSecond >= 0 && rampPerSecond <= 100_000, "a ramp from 0 to 100,000 a second")
        try Self.check((1...100_000).contains(enteringMax), "from 1 to 100,000 connections on their way in")
        try Self.check((1...1_024).contains(inFlightMax), "from 1 to 1,024 requests in flight")
        try Self.check((0...100).contains(slowPercent), "a percentage from 0 to 100")
        try Self.check((1...100).contains(seatKeys), "from 1 to 100 seats")
        try Self.check((1...64).contains(loops), "from 1 to 64 loops")
        try Self.check(drainSeconds >= 0 && drainSeconds <= 3_600, "a drain from 0 to 3,600 s")
        try Self.check(
            reconnectMaxMilliseconds >= 1 && reconnectMaxMilliseconds <= 600_000,
            "a reconnect cap from 1 to 600,000 ms")
        try Self.check((1...100).contains(stages.count), "from 1 to 100 stages")
        for stage in stages { try check(stage) }
        let files = (bots + share - 1) / share + Self.otherFiles(loops: loops)
        try Self.check(
            files <= openFilesMax,
            "fewer bots: a process with \((bots + share - 1) / share) needs \(files) open files, and may have "
                + "\(openFilesMax)")
    }

    private func check(_ stage: Stage) throws(SwarmFailure) {
        try Self.check(stage.seconds >= 0 && stage.seconds <= 604_800, "a duration from 0 s to a week")
        try Self.check(stage.rates.allSatisfy { $0 >= 0 && $0 <= 100_000 }, "rates from 0 to 100,000 a second")
        try Self.check((0...100).contains(stage.unkeptPercent), "a percentage from 0 to 100")
        try Self.check((0...100).contains(stage.cutPercent), "a percentage from 0 to 100")
        try Self.check(stage.stallSeconds >= 0 && stage.stallSeconds <= 3_600, "stalls from 0 to 3,600 s")
    }

    /// Each loop has a handful; the rest is room for calls of the server API and the runtime.
    private static func otherFiles(loops: Int) -> Int { 64 + 16 * loops }

    private static func check(_ holds: Bool, _ need: String) throws(SwarmFailure) {
        guard holds else { throw SwarmFailure(.usage, "this needs \(need)") }
    }
}
