import ChatModel
import Consensus
import Replication
import Testing

@testable import ReplicationDriver

/// The end of an installation, as a dialogue.
@Suite struct SnapshotReceiverTests {
    /// A log that offers come from, and what it was told.
    private final class Log: InstallingLog {
        let group = GroupID(3)
        var installed: [UInt64] = []
        var failed: [UInt64] = []
        var onInput: () -> Void { {} }
        var termLimit: UInt64 = .max

        func believes(_ mark: SnapshotMark) -> Bool { mark.term <= termLimit }

        func snapshotInstalled(_ mark: SnapshotMark) { installed.append(mark.index) }
        func snapshotInstallFailed(_ mark: SnapshotMark) { failed.append(mark.index) }
    }

    /// A state that is put in place when the test says so.
    private final class State: ReplicatedState {
        var finish: Done?

        func open(_ completion: @escaping (Result<any OpenState, ReplicationError>) -> Void) {}
        func beginInstall(_ mark: SnapshotMark, _ done: @escaping Done) { done(.success(())) }
        func install(_ bytes: [UInt8], _ done: @escaping Done) { done(.success(())) }
        func finishInstall(_ mark: SnapshotMark, _ done: @escaping Done) { finish = done }
        func abandonInstall() {}
    }

    private final class World {
        let log = Log()
        let state = State()
        var sent: [(message: ReplicationMessage, node: NodeID)] = []
        private var transfers: UInt64 = 0
        private(set) lazy var taker = SnapshotReceiver(
            log: log, state: state, configuration: TransferConfiguration(), slots: TransferSlots(1),
            nextNumber: { [unowned self] in
                transfers += 1
                return transfers
            }, whenReplaced: {}, send: { [unowned self] in sent.append(($0, $1)) })

        func offer(_ index: UInt64, from node: String) {
            taker.take(
                RaftOutput.SnapshotOffer(from: ServerID(node: node, store: 1), mark: SnapshotReceiverTests.mark(index)))
        }

        /// The state as of `index` comes from the node that was asked last, whole.
        func give(_ index: UInt64) throws {
            let (asked, node) = try #require(sent.last)
            for body in [
                ReplicationMessage.Body.beginSnapshot(SnapshotReceiverTests.mark(index)),
                .snapshotChunk(number: 0, [7]),
                .endSnapshot(chunks: 1, checksum: TransferChecksum(of: [7]).value),
            ] { taker.receive(ReplicationMessage(group: asked.group, transfer: asked.transfer, body), from: node) }
        }

        func finish(_ result: Result<Void, ReplicationError> = .success(())) throws {
            let done = try #require(state.finish)
            state.finish = nil
            done(result)
        }
    }

    private static func mark(_ index: UInt64) -> SnapshotMark {
        SnapshotMark(
            index: index, term: 1, membership: GroupMembership(voters: [ServerID(node: "n1", store: 1)]))
    }

    @Test func `an offer that comes while a newer state is put in place is not taken after it`() throws {
        let world = World()
        world.offer(100, from: "n1")
        try world.give(180)
        world.offer(150, from: "n2")
        let asked = world.sent.count
        try world.finish()
        world.taker.tick()
        #expect(world.log.installed == [180])
        #expect(world.sent.count == asked && !world.taker.isBusy, "entries are applied to that state by now")
    }

    @Test func `one that is newer than the state put in place is taken after it`() throws {
        let world = World()
        world.offer(100, from: "n1")
        try world.give(120)
        world.offer(150, from: "n2")
        try world.finish()
        #expect(world.log.installed == [120])
        #expect(world.sent.last?.node == NodeID("n2"))
        try world.give(150)
        try world.finish()
        #expect(world.log.installed == [120, 150] && !world.taker.isBusy)
    }

    @Test func `a transfer whose giver is away ends at once, and the next offer is taken`() throws {
        let world = World()
        world.offer(100, from: "n1")
        let (n1, n2) = (try #require(NodeID("n1")), try #require(NodeID("n2")))
        world.taker.onNodeLost(n2)
        #expect(world.log.failed == [] && world.taker.isBusy, "another node's transfers are none of this one's")
        world.taker.onNodeLost(n1)
        #expect(world.log.failed == [100] && !world.taker.isBusy)
        // The only slot is free again.
        world.offer(100, from: "n2")
        #expect(world.sent.last?.node == n2)
        try world.give(100)
        // What is being put in place can't be given up any more, and needs nobody.
        world.taker.onNodeLost(n2)
        try world.finish()
        #expect(world.log.installed == [100] && world.log.failed == [100])
    }

    @Test func `when one fails to be put in place, another under the same mark is still waited for`() throws {
        let world = World()
        world.offer(100, from: "n1")
        try world.give(100)
        world.offer(100, from: "n2")
        try world.finish(.failure(ReplicationError(.receiver, "the disk is full")))
        #expect(world.log.failed == [], "the log waits for the other one's, which it knows by the same mark")
        try world.give(100)
        try world.finish()
        #expect(world.log.installed == [100])
    }

    @Test func `a state of a term that is not believed replaces nothing`() throws {
        let world = World()
        world.log.termLimit = 0
        world.offer(100, from: "n1")
        try world.give(100)
        #expect(world.state.finish == nil && world.log.installed == [])
        #expect(world.log.failed == [100] && !world.taker.isBusy, "the log is told, and campaigns again")
    }

    @Test func `one that comes while another fails to be put in place is taken after it`() throws {
        let world = World()
        world.offer(100, from: "n1")
        try world.give(180)
        world.offer(150, from: "n2")
        try world.finish(.failure(ReplicationError(.receiver, "the disk is full")))
        #expect(world.log.installed == [] && world.log.failed == [100])
        #expect(world.sent.last?.node == NodeID("n2"))
        try world.give(160)
        try world.finish()
        #expect(world.log.installed == [160])
    }
}
