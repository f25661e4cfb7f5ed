import ChatModel
import Consensus
import LinkCore
import RoomLink
import Sharding

/// One server of one group with what its host keeps for it.
final class Replica {
    let id: ServerID
    let group: GroupID
    var core: RaftGroup
    var disk = SimulatedDisk()
    /// Given to the disk and not written yet.
    var unsynced: [RaftOutput.Save] = []
    var isSyncing = false
    var state: GroupState
    /// The newest checkpoint, and the mark under which it can be given to others.
    var durable: GroupState
    var durableMark: SnapshotMark?
    var isComplete = true
    var leadership = SimulatedLeadership()
    var reconciler: (term: UInt64, value: Reconciler)?
    /// What somebody has copied of the disk.
    var copy: DiskCopy?
    var stamp: Int64 = 0

    init(id: ServerID, group: GroupID, core: RaftGroup) {
        self.id = id
        self.group = group
        self.core = core
        state = GroupState(group: group)
        durable = state
    }
}

/// What is on stable storage for one group, at one time.
struct DiskCopy {
    var disk: SimulatedDisk
    var state: GroupState
    var mark: SnapshotMark?
    var isComplete: Bool
}

/// A process with a disk, a clock and a network address; its number is its place in the simulation's list.
final class SimulatedNode {
    let number: Int
    let name: String
    var store: UInt64 = 1
    var isUp = false
    /// Removed by an operator: it never runs again under this store.
    var isRemoved = false
    /// Which life of the process this is; what belongs to an earlier one is void.
    var run = 0
    /// SIGSTOP: what arrives waits.
    var stoppedAt: Duration?
    var inbox: [ClusterSimulation.Event] = []
    var replicas: [GroupID: Replica] = [:]
    var clockOffsetMilliseconds: Int64 = 0
    var syncMilliseconds = 1...10
    var isDiskFull = false
    /// Of the others, as far as packets of them have told.
    var heardRuns: [Int: Int] = [:]
    /// One or two.
    let loopCount: Int
    /// With the gateway's lanes and the shards.
    var loops: [SimulatedLoop] = []
    /// On the first loop.
    var links = SimulatedLinks(.blank)
    var awaitedBodies = AwaitedBodies()
    /// Whether a look at them is to come.
    var looksForBodies = false
    var leaders: [GroupID: KnownLeader] = [:]
    /// Of the rooms that it leads.
    lazy var bodies = ClusterSimulation.bodies(of: self)
    var gossip: SimulatedGossip?
    var deadSince: [String: Duration] = [:]
    var placement: (nodes: [PlacementNode], value: Placement)?

    init(number: Int, loops: Int) {
        self.number = number
        loopCount = loops
        name = "n\(number)"
        forget()
    }

    /// A process that begins, or is gone, has nothing in memory.
    func forget() {
        loops = (0..<loopCount).map { SimulatedLoop(lane: SimulatedLane(self, $0)) }
        links = SimulatedLinks(links.hello)
        awaitedBodies = AwaitedBodies()
        looksForBodies = false
        leaders = [:]
        deadSince = [:]
        heardRuns = [:]
    }

    var server: ServerID { ServerID(node: name, store: store) }
    var listed: [PlacementNode] {
        (replicas[.system]?.state.nodes.values).map { $0.sorted { $0.server < $1.server } } ?? []
    }
}
