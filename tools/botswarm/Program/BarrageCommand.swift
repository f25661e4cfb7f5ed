import ArgumentParser
import BotSwarmCore

/// Bots that send barrage.
struct BarrageCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "barrage", abstract: "Senders send barrage; viewers get a sample and are told of the rest.")

    @OptionGroup var common: CommonOptions

    @Option(help: "Barrages of one sender a second; 0 is as fast as the answers come.")
    var rate = 10.0

    func run() async throws {
        var scenario = common.scenario()
        scenario.sendsBarrage = true
        scenario.ratePerSender = rate
        try await SwarmRun(common: common, scenario: scenario).run()
    }
}
