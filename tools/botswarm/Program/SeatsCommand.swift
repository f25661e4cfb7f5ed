import ArgumentParser
import BotSwarmCore

/// Everybody wants the few seats of the queue, and some leave or are lost.
struct SeatsCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "seats", abstract: "Everybody wants the few seats of the queue, and some leave or are lost.",
        discussion: """
            Elements are set (also transient ones, with ifVersion), overwritten in batches, taken and read. Replays all \
            notifications (317, 320), and compares every answer and the queues that everybody reads at the end. \
            Seats of those who leave go at once, of those who are lost after the grace of 10 s.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second besides.")
    var rate = 0.5

    @Option(help: ArgumentHelp("Changes of queues in all.", valueName: "per-second"))
    var changes = 20.0

    @Option(help: ArgumentHelp("Bots that leave or lose the connection for a while, in all.", valueName: "per-second"))
    var leavers = 1.0

    @Option(help: "Seats of each room.")
    var seats = 8

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("seats")
        scenario.seatKeys = seats
        var stage = Stage("seats", seconds: common.duration ?? 30)
        stage.messageRate = rate
        stage.seatRate = changes
        stage.leaverRate = leavers
        scenario.stages = faults.stages([stage])
        return scenario
    }
}
