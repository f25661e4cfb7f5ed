import ArgumentParser
import BotSwarmCore

/// A share of the viewers reads nothing, or little, for a while.
struct SlowCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "slow", abstract: "A share of the viewers reads nothing, or little, for a while.",
        discussion: """
            Their latencies are reported apart. What they miss they are told by gap and skipped, and read from history.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second; 0 is as fast as the answers come.")
    var rate = 5.0

    @Option(help: "Barrages of one sender a second, too.")
    var barrageRate: Double?

    @Option(help: "Of 100 viewers, how many are slow.")
    var share = 10.0

    @Flag(help: "The slow ones read for a moment each second, instead of not at all.")
    var trickle = false

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("slow", size: 4_000)
        scenario.slowPercent = share
        scenario.slowOnesRead = trickle
        scenario.stages = faults.stages(
            Scenario.slowStages(rate: rate, barrageRate: barrageRate, seconds: common.duration ?? 20))
        return scenario
    }
}
