import ArgumentParser
import BotSwarmCore

/// What every scenario takes.
struct CommonOptions: ParsableArguments {
    @Option(help: "Bots in all, spread evenly over the rooms; each has a connection.")
    var bots = 100

    @Option(help: "Rooms; new ones, unless --room names some.")
    var rooms = 1

    @Option(help: ArgumentHelp("An existing room; may be given several times.", valueName: "id"))
    var room: [String] = []

    @Option(help: "How many of the bots speak, spread evenly over the rooms.")
    var senders = 10

    @Option(help: "Length of a text in bytes.")
    var size = 200

    @Option(help: ArgumentHelp("How long they speak, once everybody is in.", valueName: "seconds"))
    var duration = 10.0

    @Option(help: ArgumentHelp("New connections a second.", valueName: "per-second"))
    var ramp = 500.0

    @Flag(help: "Bots that don't speak connect anonymously.")
    var anonymous = false

    @Option(help: "Requests of one sender that may wait for an answer.")
    var inFlight = 16

    @Option(help: ArgumentHelp("Connections to cut off, so that bots have to resume.", valueName: "per-second"))
    var cuts = 0.0

    @Option(help: ArgumentHelp("Bots that stop reading for a while, so that they are slow.", valueName: "per-second"))
    var stalls = 0.0

    @Option(help: ArgumentHelp("How long such a bot does not read.", valueName: "seconds"))
    var stallSeconds = 5.0

    @Option(help: "Event loops, each with a thread.")
    var loops = 1

    @Option(help: ArgumentHelp("Cap of the wait before a reconnect.", valueName: "ms"))
    var reconnectMaxMs: UInt64 = 30_000

    @Option(help: ArgumentHelp("How long everything on its way may take to arrive at the end.", valueName: "seconds"))
    var drain = 60.0

    @Option(help: ArgumentHelp("enterExitNotify of new rooms: ALL, FIXED_ONLY or NONE.", valueName: "level"))
    var enterExitNotify: String?

    @Option(help: ArgumentHelp("Where clients connect, instead of the nodes in the cluster file.", valueName: "ws-url"))
    var url: String?

    @Option(help: ArgumentHelp("The server API, to create rooms.", valueName: "host:port"))
    var api: String?

    @Option(
        help: ArgumentHelp("A file like .run/cluster.json, readable by its owner only.", valueName: "file"),
        completion: .file())
    var keys: String?

    @Option(help: "A tag of 1-16 lower-case letters and digits in the bots' names; random when absent.")
    var run: String?

    @Flag(help: "Print the report as JSON.")
    var json = false

    func scenario() -> Scenario {
        var scenario = Scenario()
        scenario.bots = bots
        scenario.rooms = room.isEmpty ? rooms : room.count
        scenario.senders = senders
        scenario.bytes = size
        scenario.seconds = duration
        scenario.rampPerSecond = ramp
        scenario.anonymousViewers = anonymous
        scenario.inFlightMax = inFlight
        scenario.cutsPerSecond = cuts
        scenario.stallsPerSecond = stalls
        scenario.stallSeconds = stallSeconds
        scenario.loops = loops
        scenario.reconnectMaxMilliseconds = reconnectMaxMs
        scenario.drainSeconds = drain
        scenario.enterExitNotify = enterExitNotify
        return scenario
    }
}
