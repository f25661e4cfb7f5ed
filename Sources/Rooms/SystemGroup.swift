import ChatModel
import Consensus
import EventLoop
import LogStore
import Logging
import Wire

/// The system group of a node: its log, its state, on one loop.
public final class SystemGroup: Sendable {
    private let loop: EventLoop
    private let store: LogStore
    private let server: ServerID
    private let parts: LoopBound<Parts?>
    private let logger: Logger

    private struct Parts {
        var driver: LogDriver
        var log: GroupLog
        var host: SystemHost
    }

    public init(loop: EventLoop, store: LogStore, server: ServerID, logger: Logger) {
        self.loop = loop
        self.store = store
        self.server = server
        self.logger = logger
        parts = LoopBound(nil, loop: loop)
    }

    /// Opens the group's log. Throws `RaftError` when it contradicts itself.
    public func start() async throws {
        let (loop, store, server, parts, logger) = (loop, store, server, parts, logger)
        try await loop.run { () throws -> Void in
            let log = try GroupLog(group: .system, server: server, store: store, loop: loop, appliedIndex: 0)
            if let owner = log.membership.voters.first, !log.membership.voters.contains(server) {
                throw RaftError(.unknownServer, "the data is of node \(owner.node), and this is node \(server.node)")
            }
            let host = SystemHost()
            log.delegate = host
            let driver = LogDriver(loop: loop, store: store, logger: logger)
            driver.add(log)
            parts.value = Parts(driver: driver, log: log, host: host)
            driver.pump()
        }
    }

    /// Which cluster this is, as soon as the log has said so.
    public func identity() async throws -> ClusterIdentity {
        let (loop, parts) = (loop, parts)
        return await withCheckedContinuation { continuation in
            loop.execute {
                guard let system = parts.value else { preconditionFailure("the system group has not been started") }
                system.host.wait {
                    guard let cluster = system.host.state.cluster else { return false }
                    continuation.resume(returning: cluster)
                    return true
                }
            }
        }
    }

    /// Writes the entry that creates the cluster and waits until it is on disk.
    public func create(_ identity: ClusterIdentity, node: NodeID) async throws {
        let (loop, parts, server) = (loop, parts, server)
        loop.execute {
            guard let system = parts.value else { preconditionFailure("the system group has not been started") }
            system.host.wait {
                guard system.log.isEstablished else { return false }
                var command = SystemCommand()
                command.clusterID = identity.id
                command.shardCount = Int64(identity.shardCount)
                command.node = node.text
                command.store = Int64(bitPattern: server.store)
                // The leader of a new group with one entry takes another; if not, `identity` waits in vain and the
                // creation is seen not to have finished.
                _ = try? system.log.propose([WireProtobuf.encode(command)])
                system.log.onInput()
                return true
            }
        }
        _ = try await self.identity()
    }
}
