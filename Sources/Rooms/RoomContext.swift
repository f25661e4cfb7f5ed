import ChatModel
import Consensus
import EventLoop
import GroupDriver
import Logging
import Replication
import ReplicationDriver
import RoomProtocol
import Telemetry
import Webhooks

/// Takes bytes of content from what a user may send in a day. Throws 416 when they are too many.
public typealias UploadAllowance = @Sendable (UserID, Int64) async throws(ChatError) -> Void

/// The ban or mute for which a user may speak nowhere; nil: there is none.
public typealias Silencing = @Sendable (UserID) -> (kind: SanctionKind, sanction: UserSanction)?

/// The environment that every room of a loop gets from its host.
struct RoomContext: Sendable {
    var loop: EventLoop
    var node: NodeID
    var policy: RoomPolicy
    var limits: RoomLimits
    var logger: Logger
    var figures: RoomFigures
    var callbacks: LoopBound<LoopCallbacks>
    var sink: any PublicationSink
    /// This node in its groups.
    var server: ServerID
    var cluster: ClusterView
    /// Nodes to which the connection has ended, and that are not connected again: nobody there can be here.
    var lostNodes: LoopBound<Set<NodeID>>
    /// Sessions that have left because of that, and may come back.
    var departed: LoopBound<DepartedSessions>
    /// To other replicas of the shards.
    var replication: any ReplicationTransport
    var transfers: TransferConfiguration
    /// Messages of other nodes that named a term which no election leads to.
    var refusedTerms: Counter?
    /// The slots of the node.
    var transferSlots: TransferSlots
    /// The restore generation of the cluster; 0 when it was created.
    var restoreGeneration: UInt64
    /// Ends the node, because a shard has content that this program does not understand.
    var stop: @Sendable (UnknownContent) -> Void
    var now: @Sendable () -> Timestamp
    /// The way to other rooms: for the messages of a COMBINE.
    var calls: RoomCalls
    /// Takes bytes from what a user may send in a day (PROTOCOL.md, "Media").
    var takeUploadBytes: UploadAllowance
    /// App-wide sanctions, as this node knows them.
    var silencing: Silencing
    /// The store of content, where there is one.
    var media: (any RoomMedia)?
}

/// The figures of rooms.
struct RoomFigures: Sendable {
    let acked: Counter
    let refused: Counter
    let messagesLeftOut: Counter
    let barrageShown: Counter
    let barrageSkipped: Counter
    let activeRooms: Counter
    let replicatedSessions: Counter
    let entersPutOff: Counter
    /// From a room's taking up a send until its ack, the log's sync included.
    let ack: DurationHistogram
    let leaderChanges: Counter
    /// Shards of which this node has rooms that can't be read.
    let damagedShards: Counter
    let hookAllowed: Counter
    let hookRewritten: Counter
    let hookRefused: Counter
    let hookHeld: Counter
    let hookFailed: Counter
    let hookSkipped: Counter
    let webhook: WebhookFigures
    private let metrics: MetricsRegistry

    /// - Parameter webhook: nil for new ones.
    init(metrics: MetricsRegistry, webhook: WebhookFigures? = nil, now: @escaping @Sendable () -> Timestamp) {
        self.metrics = metrics
        ack = metrics.durations("chatroom_ack_seconds", "From a room's taking up a send until its ack.")
        leaderChanges = metrics.counter(
            "chatroom_leader_changes_total", "How often a shard's leader, as this node knows it, changed.")
        damagedShards = metrics.gauge(
            "chatroom_damaged_shards", "Shards with rooms that can't be read from this node's files.")
        func hook(_ result: String) -> Counter {
            metrics.counter("chatroom_hook_total", "Messages for the pre-send hook.", labels: [("result", result)])
        }
        hookAllowed = hook("allowed")
        hookRewritten = hook("rewritten")
        hookRefused = hook("refused")
        hookHeld = hook("held")
        hookFailed = hook("failed")
        hookSkipped = hook("skipped")
        self.webhook = webhook ?? WebhookFigures(metrics: metrics, now: now)
        entersPutOff = metrics.counter(
            "chatroom_admission_put_off_total", "Newcomers who were told to come again later, by step.",
            labels: [("step", "room")])
        activeRooms = metrics.gauge("chatroom_rooms_active", "Rooms in memory.")
        replicatedSessions = metrics.gauge(
            "chatroom_sessions_replicated",
            "Sessions of rooms' leaders that this node would go on with, should the leader's node be lost.")
        acked = metrics.counter("chatroom_sends_total", "Messages by result.", labels: [("result", "acked")])
        refused = metrics.counter("chatroom_sends_total", "Messages by result.", labels: [("result", "refused")])
        barrageShown = metrics.counter("chatroom_barrage_total", "Barrage items.", labels: [("result", "shown")])
        let help = "What viewers were not given, by class and cause."
        barrageSkipped = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "barrage"), ("cause", "budget")])
        messagesLeftOut = metrics.counter(
            "chatroom_dropped_total", help, labels: [("class", "message"), ("cause", "budget")])
    }

    /// The figures of one shard's log; to be made once for each shard.
    func shard(_ shard: ShardID) -> ShardFigures {
        let labels = [("shard", "\(shard.number)")]
        return ShardFigures(
            leads: metrics.gauge("chatroom_shard_leader", "1 where this node leads the shard.", labels: labels),
            commitLag: metrics.gauge(
                "chatroom_shard_commit_lag", "Entries of the shard that its leader has not committed yet.",
                labels: labels),
            replicasBehind: metrics.gauge(
                "chatroom_shard_replicas_behind",
                "Replicas that are away or lack what was committed ten seconds ago; 0 unless this node leads the shard.",
                labels: labels),
            leaderChanges: leaderChanges)
    }
}
