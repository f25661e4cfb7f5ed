import ArgumentParser
import BotSwarmCore

/// Senders send messages, everybody in their rooms receives them.
struct ChatCommand: ScenarioCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Senders send messages, everybody in their rooms receives them.")

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second; 0 is as fast as the answers come.")
    var rate = 1.0

    @Option(help: "Of 100 messages, how many are sent with history: false.")
    var unkept = 0

    @OptionGroup var faults: FaultOptions
    @OptionGroup var options: RunOptions

    var scenario: Scenario {
        var scenario = common.scenario("chat")
        var chat = Scenario.chat(rate: rate, seconds: common.duration ?? 10)
        chat.unkeptPercent = unkept
        scenario.stages = faults.stages([chat])
        return scenario
    }
}
