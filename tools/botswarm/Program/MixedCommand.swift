import ArgumentParser
import BotSwarmCore

/// A live show: warm-up, barrage bursts, mic seats, trouble, finale, leaving.
struct MixedCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "mixed", abstract: "A live show: warm-up, barrage bursts, mic seats, trouble, finale, leaving.",
        discussion: """
            All checks of the other scenarios at once.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second.")
    var rate = 1.0

    @Option(help: "Barrages of one sender a second in bursts.")
    var barrageRate = 5.0

    @Option(help: "Managers of each room.")
    var managers = 1

    @Option(help: "How much of seats, moderation, leaving and cuts.")
    var scale = 1.0

    @Option(help: "Seats of each room.")
    var seats = 8

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("mixed")
        scenario.managersPerRoom = managers
        scenario.seatKeys = seats
        scenario.stages = faults.stages(
            Scenario.showStages(
                rate: rate, barrageRate: barrageRate, scale: scale, seconds: common.duration ?? 60))
        return scenario
    }
}
