import ArgumentParser
import BuildVersion
import CAllocator
import FoundationEssentials
import Logging
import Node
import ServiceLifecycle
import SystemCalls
import UnixSignals

/// The node.
@main
struct Chatroomd: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "chatroomd", abstract: "One node of a chatroom cluster.",
        discussion: "Runs in the foreground until SIGTERM or SIGINT. SIGHUP reads certificates, keys and limits again.",
        version: BuildVersion.text)

    @Option(help: "The node's configuration, a JSON file. CHATROOM_… variables of the environment come before it.")
    var config: String

    @Flag(help: "Create a cluster of this one node in its data directory, and exit.")
    var create = false

    @Option(
        help: """
            Make a new cluster of this one node of a backup, in its data directory, and exit. Once for each directory \
            that the backup has made on the nodes.
            """)
    var restore: [String] = []

    func validate() throws {
        guard !create || restore.isEmpty else { throw ValidationError("--create and --restore exclude each other") }
    }

    func run() async throws {
        do {
            let configuration = try NodeConfiguration(
                path: config, environment: ProcessInfo.processInfo.environment)
            let control = LogControl(configuration.logLevel)
            let logger = Self.logger(configuration, control)
            DescriptorLimit.raise()
            if create {
                try await ChatroomNode.createCluster(configuration, logger: logger)
                print("created a cluster of one node in \(configuration.dataDirectory)")
                return
            }
            if !restore.isEmpty {
                try await ChatroomNode.restoreCluster(configuration, from: restore)
                print("restored a cluster of one node in \(configuration.dataDirectory)")
                return
            }
            if !chatroom_allocator_is_ours() {
                logger.notice("another allocator than jemalloc is in use: memory and CPU differ from the documents")
            }
            let node = try await ChatroomNode(configuration: configuration, logger: logger, logControl: control)
            let group = ServiceGroup(
                configuration: ServiceGroupConfiguration(
                    services: [
                        .init(service: node, successTerminationBehavior: .gracefullyShutdownGroup),
                        .init(service: Reloading(node: node, path: config, logger: logger)),
                    ],
                    gracefulShutdownSignals: [.sigterm, .sigint], logger: logger))
            try await group.run()
        } catch let error as NodeError {
            StandardStream.error.write("chatroomd: \(error.message)\n")
            throw ExitCode(error.exitCode)
        }
    }

    /// One line per event on standard error.
    private static func logger(_ configuration: NodeConfiguration, _ control: LogControl) -> Logger {
        // The stream lets everything through: what is logged is decided once, by the control.
        var logger = Logger(label: "chatroomd") { label in
            switch configuration.logFormat {
            case .json: return control.handler(JSONLogHandler())
            case .text:
                var stream = StreamLogHandler.standardError(label: label)
                stream.logLevel = .trace
                return control.handler(SingleLineLogHandler(stream))
            }
        }
        logger[metadataKey: "node"] = "\(configuration.node)"
        return logger
    }
}

/// Reads certificates, keys and limits again at each SIGHUP.
private struct Reloading: Service {
    let node: ChatroomNode
    let path: String
    let logger: Logger

    func run() async throws {
        let signals = await UnixSignalsSequence(trapping: .sighup)
        for await _ in signals.cancelOnGracefulShutdown() {
            do {
                let configuration = try NodeConfiguration(
                    path: path, environment: ProcessInfo.processInfo.environment)
                try await node.reload(configuration)
                logger.info("certificates, keys and limits have been read again")
            } catch {
                logger.error("certificates, keys and limits stay as they were", metadata: ["error": "\(error)"])
            }
        }
    }
}
