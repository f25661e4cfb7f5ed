import ChatModel
import NodeLink
import EventLoop
import Swim
import SwimDriver
import NodeLinkCore
import Logging
import Synchronization

/// This node's part in the gossip of the cluster: the driver on its loop, and what it knows for all who ask.
final class ClusterGossip: Sendable {
    /// How often what this node says about itself is looked at, while there is somebody to tell.
    private static let reviewInterval = Duration.seconds(1)

    /// Where other nodes reach this one.
    let address: GossipAddress

    private let driver: LoopBound<MembershipDriver>
    private let board: GossipBoard
    private let telling = Mutex<Task<Void, Never>?>(nil)

    private init(_ driver: LoopBound<MembershipDriver>, _ address: GossipAddress, _ board: GossipBoard) {
        self.address = address
        self.driver = driver
        self.board = board
    }

    /// Binds the link port and begins, on `loop`.
    /// - Parameters:
    ///   - heard: called on the loop with what is known of all nodes, whenever it changes.
    ///   - links: on the same loop; gets the connections to the port that are not gossip's, and tells when a node is
    ///     not
    ///     reached any more. nil: there are none.
    static func start(
        _ configuration: NodeConfiguration, ring: KeyRing, store: UInt64, loop: EventLoop, links: ClusterLinks? = nil,
        logger: Logger, heard: @escaping @Sendable ([GossipRecord]) -> Void = { _ in }
    ) async throws(NodeError) -> ClusterGossip {
        let board = GossipBoard(logger: logger)
        var membership = MembershipConfiguration()
        membership.host = configuration.linkHost
        membership.port = configuration.linkPort
        let (settings, node, seeds) = (membership, configuration.node, configuration.linkSeeds)
        do throws(MembershipError) {
            let (driver, address) = try await loop.run { () throws(MembershipError) in
                let driver = try MembershipDriver(
                    loop: loop, configuration: settings, keys: ring, seeds: seeds,
                    wallClockMilliseconds: { WallClock.now().milliseconds },
                    describe: { GossipMember(node: node, store: store, gossipAddress: $0) },
                    takeOther: links.map { links in { links.link.value.accept($0, received: $1) } },
                    observe: { driver, notification in
                        board.note(notification, driver.records)
                        heard(driver.records)
                    })
                board.show(driver.records)
                if let links { driver.knowsOtherwise = { links.link.value.hasNode(at: $0) } }
                links?.link.value.observe { event in
                    switch event {
                    case .down(let node): driver.onNodeLost(node)
                    case .failed(let node?, let error, _) where error.code == .closed || error.code == .timedOut:
                        driver.onNodeLost(node)
                    case .up, .failed, .hasRoom: break
                    }
                }
                return (LoopBound(onLoop: driver, loop: loop), driver.address)
            }
            return ClusterGossip(driver, address, board)
        } catch {
            throw NodeError(
                .address, "the link port \(configuration.linkHost):\(configuration.linkPort) can't be used: \(error)")
        }
    }

    /// The records of all nodes, this one first.
    var records: [GossipRecord] { board.current.withLock { $0 } }

    /// Takes over other cluster keys.
    func use(_ ring: KeyRing) async {
        await driver.loop.run { [driver] in driver.value.use(ring) }
    }

    /// Tells the others what this node leads and how full it is, when that has changed, from now on until it stops.
    func notify(_ describe: @escaping @Sendable () async -> (leads: [ShardLead], load: UInt16)) {
        let task = Task { [driver, board] in
            while !Task.isCancelled {
                try? await Task.sleep(for: Self.reviewInterval)
                guard !Task.isCancelled, board.current.withLock({ $0.count }) > 1 else { continue }
                let (leads, load) = await describe()
                await driver.loop.run {
                    driver.value.update {
                        $0.leads = leads
                        // A node's load moves all the time; what nobody would act on is not news.
                        if abs(Int($0.load) - Int(load)) >= Self.loadStep { $0.load = load }
                    }
                    board.show(driver.value.records)
                }
            }
        }
        telling.withLock { $0 = task }
    }

    /// Thousandths by which the load must differ to be told.
    private static let loadStep = 50

    /// Says good-bye to the others and frees the port.
    func stop() async {
        let task = telling.withLock { $0 }
        task?.cancel()
        await task?.value
        await driver.loop.run { [driver] in driver.value.leave() }
        await board.left()
        await driver.loop.run { [driver] in driver.value.close() }
    }
}

/// The driver's records, for other threads.
private final class GossipBoard: Sendable {
    let current = Mutex<[GossipRecord]>([])
    private let leaving = Mutex<Leaving>(.waiting(nil))
    private let logger: Logger

    private enum Leaving {
        case waiting(CheckedContinuation<Void, Never>?)
        case done
    }

    init(logger: Logger) { self.logger = logger }

    func show(_ records: [GossipRecord]) { current.withLock { $0 = records } }

    func note(_ notification: GossipNotification, _ records: [GossipRecord]) {
        show(records)
        switch notification {
        case .joined(let member):
            logger.info("node has joined", metadata: ["peer": "\(member.node)", "address": "\(member.gossipAddress)"])
        // Often where UDP gets lost, and mostly of no account.
        case .suspected(let node): logger.debug("node does not answer", metadata: ["peer": "\(node)"])
        case .refuted(let node): logger.debug("node answers again", metadata: ["peer": "\(node)"])
        case .failed(let node): logger.warning("node is held for dead", metadata: ["peer": "\(node)"])
        case .left(let node): logger.info("node has left", metadata: ["peer": "\(node)"])
        case .conflict(let member):
            logger.error("another process has this node's ID", metadata: ["address": "\(member.gossipAddress)"])
        case .updated: break
        case .leaveComplete:
            let waiter: CheckedContinuation<Void, Never>? = leaving.withLock { leaving in
                defer { leaving = .done }
                guard case .waiting(let continuation) = leaving else { return nil }
                return continuation
            }
            waiter?.resume()
        }
    }

    /// Returns when the others know that this node goes, or the time for it is over.
    func left() async {
        await withCheckedContinuation { continuation in
            let isDone = leaving.withLock { leaving in
                if case .done = leaving { return true }
                leaving = .waiting(continuation)
                return false
            }
            if isDone { continuation.resume() }
        }
    }
}
