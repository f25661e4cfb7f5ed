import ArgumentParser
import BotSwarmCore

/// Everybody enters as fast as the nodes let them in.
struct StormCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "storm", abstract: "Everybody enters as fast as the nodes let them in.",
        discussion: """
            Measures entries a second and the latency of enter, honours reconnect pushes, 4429, 503 and retryAfterMs, \
            and counts digests (350). When all are in, a few messages must reach everybody, and the rooms must \
            count everybody.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second; 0 is as fast as the answers come.")
    var rate = 1.0

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("storm", ramp: 0)
        scenario.stages = faults.stages([Scenario.chat(rate: rate, seconds: common.duration ?? 5)])
        return scenario
    }
}
