import ChatModel
import Consensus
import Sharding

/// A client's command on its way: which client, its number, and what it is.
struct Call: Hashable {
    var client: Int
    var number: Int
    var proposal: Int
    var group: GroupID
    /// How often a node that did not lead has passed it on.
    var redirects = 0
}

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
    /// By index: whose proposal it is, and in which term it was made.
    var pending: [UInt64: (call: Call, term: UInt64, from: Int)] = [:]
    var reconciler: (term: UInt64, value: Reconciler)?
    var stamp: Int64 = 0

    init(id: ServerID, group: GroupID, core: RaftGroup) {
        self.id = id
        self.group = group
        self.core = core
        state = GroupState(group: group)
        durable = state
    }
}

/// One viewer of a room at a gateway: how far it has been served.
struct Viewer {
    var group: GroupID
    /// nil until the room has told where it is.
    var position: UInt64?
    var askedAt: Duration?
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
    // What follows is the gateway's.
    var leaderHints: [GroupID: Int] = [:]
    var heldCalls: [Call: Duration] = [:]
    var viewers: [Int: Viewer] = [:]
    // And gossip.
    var gossip: SimulatedGossip?
    var deadSince: [String: Duration] = [:]
    var placement: (nodes: [PlacementNode], value: Placement)?

    init(number: Int) {
        self.number = number
        name = "n\(number)"
    }

    var server: ServerID { ServerID(node: name, store: store) }
    var listed: [PlacementNode] {
        (replicas[.system]?.state.nodes.values).map { $0.sorted { $0.server < $1.server } } ?? []
    }
}

/// A client: sends one message after another, each until it is answered, and watches its room.
struct Client {
    let user: UserID
    let group: GroupID
    var gateway: Int
    var number = 0
    var outstanding: (call: Call, sentAt: Duration)?
    /// What it was shown: the first seq, and then one after another.
    var firstSeq: UInt64?
    var lastSeq: UInt64?
}
