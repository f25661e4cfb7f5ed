import ChatModel
import ClusterRouting
import EventLoop
import GroupDriver
import Logging
import NodeLinkCore
import RoomProtocol
import Synchronization
import SystemGroupHost

/// Tells the nodes that this one reaches whom it does not reach, hears the same of them, and says to whoever leads groups
/// here who reaches more of the cluster.
final class ReachWatch: Sendable {
    private static let interval = Duration.seconds(1)

    private let own: NodeID
    private let nodes: ClusterNodes
    private let cluster: ClusterView
    private let system: SystemGroup
    private let logger: Logger
    private let hurry: @Sendable (NodeID) -> Void
    private let reach: Mutex<ClusterReach>
    private let task = Mutex<Task<Void, Never>?>(nil)

    /// - Parameter hurry: calls a node that is there, as others say.
    init(
        own: NodeID, nodes: ClusterNodes, cluster: ClusterView, system: SystemGroup, logger: Logger,
        hurry: @escaping @Sendable (NodeID) -> Void
    ) {
        self.hurry = hurry
        self.own = own
        self.nodes = nodes
        self.cluster = cluster
        self.system = system
        self.logger = logger
        reach = Mutex(ClusterReach(own: own))
    }

    /// Begins to look, until `stop`.
    func start() {
        let task = Task { [self] in
            var former: Set<NodeID> = []
            while !Task.isCancelled {
                let unreached = look()
                // Once more when it reaches all again.
                if !unreached.isEmpty || !former.isEmpty { await tellAll() }
                former = unreached
                try? await Task.sleep(for: Self.interval)
            }
        }
        self.task.withLock { $0 = task }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    /// A node has told whom it does not reach.
    /// - Returns: the nodes that this one does not reach.
    func hear(_ news: ReachNews) -> ReachNews {
        note(news)
        return ReachNews(node: own, unreached: reach.withLock { $0.unreached }.sorted())
    }

    private func note(_ news: ReachNews) {
        let listed = listed
        reach.withLock { $0.note(news.node, unreached: Set(news.unreached), listed: listed, at: Self.now()) }
    }

    private var listed: Set<NodeID> { Set(system.nodes.map(\.node)) }

    private static func now() -> UInt64 { EventLoop.nowNanoseconds / 1_000_000 }

    private func look() -> Set<NodeID> {
        let (listed, reached) = (listed, nodes.reached)
        let (before, now, unreached) = reach.withLock { reach in
            let before = reach.reachingMore
            reach.look(listed: listed, reached: reached, at: Self.now())
            return (before, reach, reach.unreached)
        }
        cluster.set(reachingMore: now.reachingMore, reachingFewer: now.reachingFewer)
        for node in now.reachedByOthers { hurry(node) }
        if before.isEmpty, !now.reachingMore.isEmpty {
            logger.warning(
                "this node does not reach nodes that others reach; it hands what it leads to those",
                metadata: [
                    "unreached": "\(unreached.sorted().map(\.text).joined(separator: ", "))",
                    "others": "\(now.reachingMore.sorted().map(\.text).joined(separator: ", "))",
                ])
        } else if !before.isEmpty, now.reachingMore.isEmpty {
            logger.notice("this node reaches as many nodes as the others again")
        }
        return unreached
    }

    private func tellAll() async {
        let questions = nodes.reached.map { node in Task { [self] in await tell(node) } }
        for question in questions { await question.value }
    }

    private func tell(_ node: NodeID) async {
        let unreached = reach.withLock { $0.unreached }.sorted()
        guard
            case .reach(let news)? = try? await nodes.ask(node, .reach(ReachNews(node: own, unreached: unreached))),
            news.node == node
        else { return }
        note(news)
    }
}
