import ChatModel
import ClusterRouting
import GroupDriver
import NodeLinkCore
import Logging
import RoomProtocol
import Rooms
import Synchronization

/// Compares this node's wall clock with those of the nodes that it reaches, and says which are wrong to whoever leads
/// groups here.
final class ClockWatch: Sendable {
    /// A clock that is set wrong is noticed within so much and a round trip.
    private static let interval = Duration.seconds(5)

    private let own: NodeID
    private let nodes: ClusterNodes
    private let cluster: ClusterView
    private let logger: Logger
    private let steady: @Sendable () -> Timestamp
    private let skew: Mutex<ClockSkew>
    private let task = Mutex<Task<Void, Never>?>(nil)
    private static let start = ContinuousClock.now

    /// - Parameter steady: the time by which this node stamps.
    init(
        own: NodeID, nodes: ClusterNodes, cluster: ClusterView, logger: Logger,
        steady: @escaping @Sendable () -> Timestamp
    ) {
        self.steady = steady
        self.own = own
        self.nodes = nodes
        self.cluster = cluster
        self.logger = logger
        skew = Mutex(ClockSkew(own: own))
    }

    /// Begins to ask, until `stop`.
    func start() {
        let task = Task { [self] in
            while !Task.isCancelled {
                await ask()
                judge()
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

    /// The offset of this node's clock from the cluster's; 0 while nobody can tell.
    var offsetSeconds: Double {
        let offset = skew.withLock { $0.offsets(at: Self.now()) }[own] ?? 0
        return Double(offset) / 1_000
    }

    /// A clock that never goes back, in milliseconds.
    private static func now() -> UInt64 {
        let start = start
        return UInt64((ContinuousClock.now - start) / .milliseconds(1))
    }

    private func ask() async {
        let questions = nodes.reached.map { node in Task { [self] in await ask(node) } }
        for question in questions { await question.value }
    }

    private func ask(_ node: NodeID) async {
        let (asked, ownTime) = (Self.now(), WallClock.now())
        guard case .clock(let time)? = try? await nodes.ask(node, .clock) else { return }
        let now = Self.now()
        skew.withLock {
            $0.note(
                node, time: time.milliseconds, ownTime: ownTime.milliseconds, roundTrip: now - asked, at: now)
        }
    }

    private func judge() {
        let now = Self.now()
        let (before, wrong, useless, agreeing, offsets) = skew.withLock { skew in
            let before = skew.wrong
            skew.judge(at: now)
            return (before, skew.wrong, skew.useless(at: now), skew.agreeing(at: now), skew.offsets(at: now))
        }
        cluster.set(wrongClocks: wrong, useless: useless, agreeing: agreeing)
        let step = WallClock.now().milliseconds - steady().milliseconds
        if step.magnitude > UInt64(SteadyTime.stepMillisecondsMax) {
            logger.warning(
                "this machine's clock was set; time goes on as before for some seconds",
                metadata: ["stepMs": "\(step)"])
        }
        guard wrong != before else { return }
        for node in wrong.subtracting(before).sorted() {
            let metadata: Logger.Metadata = ["peer": "\(node)", "offsetMs": "\(offsets[node] ?? 0)"]
            if node == own {
                logger.error("this node's clock is wrong; it leads nothing until it is set right", metadata: metadata)
            } else {
                logger.warning("a node's clock is wrong; it is not to lead", metadata: metadata)
            }
        }
        for node in before.subtracting(wrong).sorted() {
            logger.notice("a node's clock is right again", metadata: ["peer": "\(node)"])
        }
    }
}
