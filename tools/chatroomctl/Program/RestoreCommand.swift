import ArgumentParser
import ControlClient
import Glibc
import SystemCalls

/// `restore`: `chatroomd --restore`, with a word on how to go on.
struct RestoreCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "restore", abstract: "Make a new cluster of a backup, on this machine.")

    @Option(help: "The configuration of the new cluster's first node, a JSON file.", completion: .file())
    var config: String

    @Argument(help: "The directories that the backup has made, of all nodes.", completion: .directory)
    var directories: [String]

    func run() async throws {
        let process: ChildProcess
        do throws(SystemCallError) {
            process = try ChildProcess(
                Self.node, ["--config", config] + directories.flatMap { ["--restore", $0] })
        } catch {
            throw CommandFailure(.usage, "chatroomd can't be run: \(error)")
        }
        guard process.waitForExit() == 0 else { throw CommandFailure(.refused, "nothing was restored") }
        Output.line("start it: chatroomd --config \(config); other nodes join it, without data, by link.seeds")
    }

    /// The program beside this one, else that of the search path.
    private static var node: String {
        guard let own = ChildProcess.ownPath, let slash = own.lastIndex(of: "/") else { return "chatroomd" }
        let beside = "\(own[...slash])chatroomd"
        return access(beside, X_OK) == 0 ? beside : "chatroomd"
    }
}
