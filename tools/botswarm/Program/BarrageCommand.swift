import ArgumentParser
import BotSwarmCore

/// Senders send barrage; viewers get a sample and are told of the rest.
struct BarrageCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "barrage", abstract: "Senders send barrage; viewers get a sample and are told of the rest.")

    @OptionGroup var common: CommonOptions

    @Option(help: "Barrages of one sender a second; 0 is as fast as the answers come.")
    var rate = 10.0

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("barrage")
        var barrage = Stage("barrage", seconds: common.duration ?? 10)
        barrage.barrageRate = rate
        scenario.stages = faults.stages([barrage])
        return scenario
    }
}
