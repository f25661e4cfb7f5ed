import ArgumentParser
import BotSwarmCore

/// Bots that send messages.
struct ChatCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chat", abstract: "Senders send messages, everybody in their rooms receives them.")

    @OptionGroup var common: CommonOptions

    @Option(help: "Messages of one sender a second; 0 is as fast as the answers come.")
    var rate = 1.0

    @Option(help: "Of 100 messages, how many are sent with history: false.")
    var unkept = 0

    func run() async throws {
        var scenario = common.scenario()
        scenario.ratePerSender = rate
        scenario.unkeptPercent = unkept
        try await SwarmRun(common: common, scenario: scenario).run()
    }
}
