import ArgumentParser
import BotSwarmCore

/// The options of every scenario.
struct CommonOptions: ParsableArguments {
    @Option(help: "Bots in all, spread evenly over the rooms; each has a connection.")
    var bots = 100

    @Option(help: "Rooms; new ones, unless --room names some.")
    var rooms = 1

    @Option(
        help: ArgumentHelp(
            "An existing room; may be given several times. Not with seats, moderate and mixed.", valueName: "id"))
    var room: [String] = []

    @Option(help: "How many of the bots speak, spread evenly over the rooms.")
    var senders = 10

    @Option(help: "Length of a text in bytes; the scenario slow has 4000.")
    var size: Int?

    @Option(
        help: ArgumentHelp(
            "How long they speak, once everybody is in (reconnect: before and after each cut; slow: with slow viewers).",
            valueName: "seconds"))
    var duration: Double?

    @Option(
        help: ArgumentHelp("New connections a second; 0 is as fast as the nodes let them in.", valueName: "per-second"))
    var ramp: Double?

    @Option(help: ArgumentHelp("With --ramp 0, connections on their way in at a time.", valueName: "connections"))
    var entering = 256

    @Flag(help: "Bots that don't speak connect anonymously.")
    var anonymous = false

    @Option(help: "Requests of one sender that may wait for an answer.")
    var inFlight = 16

    @Option(help: "Event loops, each with a thread.")
    var loops = 1

    @Option(help: ArgumentHelp("Cap of the wait before a reconnect.", valueName: "ms"))
    var reconnectMaxMs: UInt64 = 30_000

    @Option(help: ArgumentHelp("How long everything on its way may take to arrive at the end.", valueName: "seconds"))
    var drain = 60.0

    @Option(help: ArgumentHelp("enterExitNotify of new rooms: ALL, FIXED_ONLY or NONE.", valueName: "level"))
    var enterExitNotify: String?

    @Option(
        help: ArgumentHelp(
            "People in a room up to which the nodes have no viewer budget; a BUDGET gap below is a finding.",
            valueName: "people"))
    var budgetFrom = 1_000

    func scenario(_ name: String, size: Int = 200, ramp: Double = 500) -> Scenario {
        var scenario = Scenario()
        scenario.name = name
        scenario.bots = bots
        scenario.rooms = room.isEmpty ? rooms : room.count
        scenario.senders = senders
        scenario.bytes = self.size ?? size
        scenario.rampPerSecond = self.ramp ?? ramp
        scenario.enteringMax = entering
        scenario.anonymousViewers = anonymous
        scenario.inFlightMax = inFlight
        scenario.loops = loops
        scenario.reconnectMaxMilliseconds = reconnectMaxMs
        scenario.drainSeconds = drain
        scenario.enterExitNotify = enterExitNotify
        scenario.budgetUnlimitedUpTo = budgetFrom
        return scenario
    }
}
