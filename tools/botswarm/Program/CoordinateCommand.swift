import ArgumentParser
import BotSwarmCore
import ChatModel
import Dispatch
import FoundationEssentials
import SystemCalls

/// Runs a scenario with several processes.
struct CoordinateCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "coordinate", abstract: "Runs a scenario with several processes, on this host and on others.",
        discussion: """
            botswarm coordinate --workers 4 mixed --bots 10000 starts four processes here, gives each its share of the \
            bots of every room, lets them begin together, and puts their reports together. Each worker checks what its \
            bots receive against what all workers' bots have sent.

            Workers on other hosts: botswarm coordinate --workers 0 --remote 2 --listen HOST:PORT … here, and botswarm \
            work --coordinator HOST:PORT with the way to the cluster there. Off loopback both sides need the same \
            secret, by --secret-file (of its owner only) or CHATROOM_SWARM_SECRET; it is proved and never sent. What \
            they say is not encrypted, and has no key in it.
            """)

    @Option(help: "Processes to start here.")
    var workers = 2

    @Option(help: "Workers to wait for that are started elsewhere.")
    var remote = 0

    @Option(help: ArgumentHelp("Where workers join.", valueName: "host:port"))
    var listen = "127.0.0.1:0"

    @Option(help: ArgumentHelp("A file with the secret.", valueName: "file"), completion: .file())
    var secretFile: String?

    @Argument(parsing: .captureForPassthrough, help: "The scenario and its options, as without coordinate.")
    var scenario: [String] = []

    func run() async throws {
        guard let command = try Botswarm.parseAsRoot(scenario) as? any ScenarioCommand else {
            throw ValidationError("after coordinate and its options comes a scenario, like mixed --bots 1000")
        }
        guard workers >= 0, remote >= 0, (1...256).contains(workers + remote) else {
            throw ValidationError("from 1 to 256 workers")
        }
        try await SwarmRun(rooms: command.common.room, options: command.options, scenario: command.scenario)
            .run(together: self)
    }

    /// The run itself, once all options are read.
    func lead(
        _ scenario: Scenario, target: SwarmTarget, names: BotNames, rooms: [RoomID], options: RunOptions,
        screen: ProgressScreen
    ) async throws -> RunReport {
        let (host, port) = try SwarmSecret.address(listen)
        let secret = try SwarmSecret.find(
            file: secretFile, mayBeRandom: remote == 0 && SwarmSecret.isLoopback(host))
        let coordinator = try await SwarmCoordinator.listen(
            host: host, port: port, workers: workers + remote, secret: try SharedSecret(secret))
        let signals = SwarmRun.watchInterrupt { coordinator.interrupt() }
        defer { signals.cancel() }
        if remote > 0 {
            StandardStream.error.write("botswarm: workers join at \(host):\(coordinator.port)\n")
        }
        let processes = try (0..<workers).map { _ throws(SwarmFailure) in
            try startWorker("\(host == "0.0.0.0" ? "127.0.0.1" : host):\(coordinator.port)", secret, options)
        }
        defer { for process in processes { process.terminate() } }
        return try await coordinator.run(scenario, target: target, names: names, rooms: rooms) { screen.show($0) }
    }

    /// The secret goes by the environment, which only this user can read.
    private func startWorker(
        _ address: String, _ secret: String, _ options: RunOptions
    ) throws(SwarmFailure) -> ChildProcess {
        var arguments = ["work", "--coordinator", address]
        for (name, value) in [
            ("--url", options.place.url), ("--api", options.place.api), ("--keys", options.place.keys),
        ] {
            if let value { arguments += [name, value] }
        }
        var environment = ProcessInfo.processInfo.environment
        environment[SharedSecret.variable] = secret
        do throws(SystemCallError) {
            return try ChildProcess(
                ChildProcess.ownPath ?? "botswarm", arguments, environment: environment, isQuiet: true)
        } catch {
            throw SwarmFailure(.usage, "a worker can't be started: \(error)")
        }
    }
}
