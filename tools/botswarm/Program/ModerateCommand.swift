import ArgumentParser
import BotSwarmCore

/// Managers mute, kick and blacklist senders, who go on trying to speak.
struct ModerateCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "moderate", abstract: "Managers mute, kick and blacklist senders, who go on trying to speak.",
        discussion: """
            Replays the rooms' streams: nobody who is muted or out may be heard after the notification that says so, \
            nobody put out may get more, and each refusal needs a reason in the stream.
            """)

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second; 0 is as fast as the answers come.")
    var rate = 2.0

    @Option(help: "Of 100 messages, how many are sent with history: false.")
    var unkept = 20

    @Option(help: ArgumentHelp("Acts of managers in all.", valueName: "per-second"))
    var acts = 10.0

    @Option(help: "Managers of each room.")
    var managers = 2

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("moderate")
        scenario.managersPerRoom = managers
        var stage = Scenario.chat(rate: rate, seconds: common.duration ?? 30)
        stage.name = "moderate"
        stage.unkeptPercent = unkept
        stage.moderationRate = acts
        scenario.stages = faults.stages([stage])
        return scenario
    }
}
