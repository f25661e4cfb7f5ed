import ArgumentParser
import BotSwarmCore

/// A subcommand that makes a scenario from its options.
protocol ScenarioCommand: AsyncParsableCommand {
    var common: CommonOptions { get }
    var options: RunOptions { get }
    var scenario: Scenario { get }
}

extension ScenarioCommand {
    func run() async throws {
        try await SwarmRun(rooms: common.room, options: options, scenario: scenario).run()
    }
}
