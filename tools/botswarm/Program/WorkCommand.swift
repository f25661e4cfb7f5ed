import ArgumentParser
import BotSwarmCore
import FoundationEssentials
import Glibc

/// A worker of a coordinator.
struct WorkCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "work", abstract: "Does a share of what botswarm coordinate runs.",
        discussion: "It finds the cluster and its keys by its own options; the coordinator tells it none.")

    @Option(help: ArgumentHelp("Where the coordinator listens.", valueName: "host:port"))
    var coordinator: String

    @Option(help: ArgumentHelp("A file with the secret.", valueName: "file"), completion: .file())
    var secretFile: String?

    @OptionGroup var place: TargetOptions

    func run() async throws {
        try await SwarmRun.reportingFailures {
            let (host, port) = try SwarmSecret.address(coordinator)
            let secret = try SharedSecret(try SwarmSecret.find(file: secretFile, mayBeRandom: false))
            // The coordinator ends the run; it tells its workers.
            signal(SIGINT, SIG_IGN)
            try await SwarmWorker.run(
                host: host, port: port, secret: secret, target: try place.target(),
                openFilesMax: OpenFiles.raiseLimit())
        }
    }
}
