import ArgumentParser
import Foundation

/// `restore`: `chatroomd --restore`, with a word on how to go on.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Make a new cluster of a backup, on this machine.")

    @Option(help: "The configuration of the new cluster's first node, a JSON file.", completion: .file())
    var config: String

    @Argument(help: "The directories that the backup has made, of all nodes.", completion: .directory)
    var directories: [String]

    func run() async throws {
        let process = Process()
        let beside = Bundle.main.executableURL?.deletingLastPathComponent().appendingPathComponent("chatroomd")
        var arguments = ["--config", config] + directories.flatMap { ["--restore", $0] }
        if let beside, FileManager.default.isExecutableFile(atPath: beside.path) {
            process.executableURL = beside
        } else {
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            arguments.insert("chatroomd", at: 0)
        }
        process.arguments = arguments
        do {
            try process.run()
        } catch {
            throw CommandFailure(.usage, "chatroomd can't be run: \(error.localizedDescription)")
        }
        process.waitUntilExit()
        guard process.terminationReason == .exit, process.terminationStatus == 0 else {
            throw CommandFailure(.refused, "nothing was restored")
        }
        Output.line("start it: chatroomd --config \(config); other nodes join it, without data, by link.seeds")
    }
}
