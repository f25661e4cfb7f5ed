import ArgumentParser
import BotSwarmCore

/// While they chat a share of all connections is cut at once; everybody resumes.
struct ReconnectCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "reconnect",
        abstract: "While they chat a share of all connections is cut at once; everybody resumes.",
        discussion: """
            Reports how long it takes until all are back, and from the loss to the room for each. Nothing may be missing.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second; 0 is as fast as the answers come.")
    var rate = 1.0

    @Option(help: "Of 100 connections, how many are cut at once.")
    var share = 100.0

    @Option(help: "How often.")
    var times = 1

    @Option(help: ArgumentHelp("How long all may take to be back.", valueName: "seconds"))
    var back = 60.0

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("reconnect")
        scenario.stages = faults.stages(
            Scenario.reconnectStages(
                rate: rate, seconds: common.duration ?? 5, cutPercent: share, cuts: max(0, min(times, 40)),
                backSeconds: back))
        return scenario
    }
}
