import BuildVersion
import ChatModel
import ClusterRouting
import Logging
import RoomProtocol

/// Warns once of each node whose program is of another version than this node's. Versions differ during an upgrade and
/// should not afterwards.
final class VersionWatch: Sendable {
    private static let interval = Duration.seconds(30)

    private let task: Task<Void, Never>

    /// Begins to ask the nodes that this one reaches, until `stop`.
    init(nodes: ClusterNodes, logger: Logger) {
        task = Task {
            var known: [NodeID: String] = [:]
            while !Task.isCancelled {
                for node in nodes.reached {
                    guard case .status(let status)? = try? await nodes.ask(node, .status),
                        known.updateValue(status.version, forKey: node) != status.version,
                        status.version != BuildVersion.text
                    else { continue }
                    logger.warning(
                        "a node runs another version than this one",
                        metadata: ["peer": "\(node)", "version": "\(status.version)", "own": "\(BuildVersion.text)"])
                }
                // A node that has left and comes again is told of again; the others bound what is remembered.
                known = known.filter { nodes.reached.contains($0.key) }
                try? await Task.sleep(for: Self.interval)
            }
        }
    }

    func stop() async {
        task.cancel()
        await task.value
    }
}
