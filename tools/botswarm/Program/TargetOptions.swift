import ArgumentParser
import BotSwarmCore
import FoundationEssentials

/// Which cluster.
struct TargetOptions: ParsableArguments {
    @Option(help: ArgumentHelp("Where clients connect, instead of the nodes in the cluster file.", valueName: "ws-url"))
    var url: String?

    @Option(help: ArgumentHelp("The server API, to create rooms.", valueName: "host:port"))
    var api: String?

    @Option(
        help: ArgumentHelp("A file like .run/cluster.json, readable by its owner only.", valueName: "file"),
        completion: .file())
    var keys: String?

    func target() throws(SwarmFailure) -> SwarmTarget {
        let directory = URL(fileURLWithPath: FileManager.default.currentDirectoryPath, isDirectory: true)
        return try SwarmTarget.find(
            url: url, api: api, keysFile: keys, environment: ProcessInfo.processInfo.environment, directory: directory)
    }
}
