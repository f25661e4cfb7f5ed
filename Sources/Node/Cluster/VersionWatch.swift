import BuildVersion
import ChatModel
import ClusterRouting
import Logging
import RoomProtocol
import SystemGroupHost

/// Asks all nodes regularly what program they run. Warns once of each whose version differs from this node's: versions
/// differ during an upgrade and should not afterwards. The same goes for nodes that have other token keys. Raises the cluster's feature level when all can do the next one.
final class VersionWatch: Sendable {
    private static let interval = Duration.seconds(30)

    private let task: Task<Void, Never>

    /// Begins to ask the nodes that this one reaches, until `stop`.
    /// - Parameter raiseAfterSeconds: how long all nodes must have been able to do the next level; nil: an operator
    ///   raises it.
    init(nodes: ClusterNodes, system: SystemGroup, keys: TokenKeys, raiseAfterSeconds: Int?, logger: Logger) {
        let interval = min(Self.interval, .seconds(max(1, (raiseAfterSeconds ?? 3_600) / 4)))
        task = Task {
            var known: [NodeID: String] = [:]
            var keysWatch = KeysWatch()
            var levels = LevelWatch(patienceSeconds: raiseAfterSeconds.map(Double.init))
            let start = ContinuousClock.now
            while !Task.isCancelled {
                var answers: [NodeID: FeatureLevel] = [:]
                for (node, answer) in await nodes.askAll(.status) {
                    guard case .status(let status) = answer else { continue }
                    answers[node] = status.level
                    if keysWatch.look(at: node, keys: status.tokenKeys, own: keys.digest) {
                        logger.warning(
                            "a node has other token keys than this one: each refuses clients that the other takes",
                            metadata: ["peer": "\(node)"])
                    }
                    guard known.updateValue(status.version, forKey: node) != status.version,
                        status.version != BuildVersion.text
                    else { continue }
                    logger.warning(
                        "a node runs another version than this one",
                        metadata: ["peer": "\(node)", "version": "\(status.version)", "own": "\(BuildVersion.text)"])
                }
                // A node that has left and comes again is told of again; the others bound what is remembered.
                known = known.filter { nodes.reached.contains($0.key) }
                keysWatch.forget { !nodes.reached.contains($0) }
                let listed = system.nodes.map { LevelWatch.Listed(node: $0.node, store: $0.store) }
                let seconds = (ContinuousClock.now - start) / .seconds(1)
                if let due = levels.look(at: listed, answers: answers, level: system.level, seconds: seconds) {
                    await Self.raise(system, due, logger)
                }
                try? await Task.sleep(for: interval)
            }
        }
    }

    /// Each node does this; the first one has an effect.
    private static func raise(
        _ system: SystemGroup, _ due: (level: FeatureLevel, nodes: [LevelWatch.Listed]), _ logger: Logger
    ) async {
        do throws(ChatError) {
            try await system.raise(to: due.level, stores: due.nodes.map(\.store))
        } catch {
            logger.debug("the feature level is not raised yet", metadata: ["error": "\(error.message)"])
        }
    }

    func stop() async {
        task.cancel()
        await task.value
    }
}
