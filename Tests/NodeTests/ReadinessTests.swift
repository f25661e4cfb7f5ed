import ChatModel
import RoomProtocol
import ServerAPI
import Testing
import Wire

@testable import Node

/// `/readyz` is about this node alone; what the cluster lacks is told by its health.
@Suite struct ReadinessTests {
    private let serving = Readiness(
        storeRefusal: nil, hearsMajority: true, hasUsableClock: true, isListed: true, isDraining: false)

    @Test func `a node serves that takes writes, hears the majority, is listed and stays`() {
        #expect(serving.refusal == nil)
    }

    @Test func `each of the five makes it not serve, and the store's own sentence goes first`() {
        var node = serving
        node.isDraining = true
        #expect(node.refusal == Readiness.drained)
        for words in ["this node is being drained", "remove it", "readmit it", "an empty directory"] {
            #expect(Readiness.drained.contains(words))
        }
        node.isListed = false
        #expect(node.refusal == "the cluster has not taken this node in yet")
        node.hasUsableClock = false
        #expect(node.refusal == "this node's clock is wrong")
        node.hearsMajority = false
        #expect(node.refusal == "the system group has no leader that is heard")
        node.storeRefusal = "the log can't be written"
        #expect(node.refusal == "the log can't be written")
    }
}

@Suite struct ClusterHealthTests {
    private static func id(_ name: String) -> NodeID {
        guard let id = NodeID(name) else { preconditionFailure("\(name) is a node ID") }
        return id
    }

    private static let names = ["n1", "n2", "n3", "n4", "n5"].map { id($0) }

    private func status(_ node: NodeID, _ version: String = "1") -> NodeStatus {
        NodeStatus(node: node, version: version, gateways: [], leads: [], stats: StatsView())
    }

    private func shard(_ number: UInt16, _ leader: Int?, _ replicas: [Int], term: UInt64 = 1) -> ShardView {
        ShardView(
            shard: ShardID(number), leader: leader.map { Self.names[$0] }, replicas: replicas.map { Self.names[$0] },
            term: term, applied: 1)
    }

    /// Five nodes, of which those at these places answer with what they know.
    private func health(_ shards: [(node: Int, views: [ShardView])], of count: Int) -> ClusterHealthView {
        ClusterHealth(
            shardCount: count, listed: Self.names.map { NodeRecord(node: $0, store: 1) },
            statuses: shards.map { status(Self.names[$0.node]) },
            shards: shards.map { (Self.names[$0.node], $0.views) }, level: .first
        ).view
    }

    @Test func `a whole cluster lacks nothing`() {
        let first = shard(0, 0, [0, 1, 2])
        let health = health([(0, [first]), (1, [first]), (2, [first]), (3, []), (4, [])], of: 1)
        #expect([health.shards, health.withoutLeader, health.underReplicated] == [1, 0, 0])
        #expect([health.nodes.alive, health.nodes.dead] == [5, 0])
        #expect(health.featureLevel == 1)
    }

    @Test func `with two of five nodes down each shard counts by what is left of it`() {
        // n4 and n5 are down: shard 0 is whole, 1 has lost a replica, 2 its leader and a replica, 3 has n1 left, which
        // has not noticed yet, 4 is at n4 and n5 only.
        let health = health(
            [
                (
                    0,
                    [
                        shard(0, 0, [0, 1, 2]), shard(1, 0, [0, 1, 3]), shard(2, nil, [0, 1, 4]),
                        shard(3, 3, [0, 3, 4]),
                    ]
                ),
                (1, [shard(0, 0, [0, 1, 2]), shard(1, 0, [0, 1, 3]), shard(2, nil, [0, 1, 4])]),
                (2, [shard(0, 0, [0, 1, 2])]),
            ], of: 5)
        #expect([health.shards, health.withoutLeader, health.underReplicated] == [5, 3, 4])
        #expect([health.nodes.alive, health.nodes.dead] == [3, 2])
    }

    @Test func `the newest knowledge of a shard's replicas counts, and versions are told once each`() {
        let old = shard(0, nil, [0, 3, 4])
        let new = shard(0, 1, [0, 1, 2], term: 2)
        let view = ClusterHealth(
            shardCount: 1, listed: Self.names.map { NodeRecord(node: $0, store: 1) },
            statuses: [status(Self.names[0], "2"), status(Self.names[1], "1"), status(Self.names[2], "2")],
            shards: [(Self.names[0], [old]), (Self.names[1], [new]), (Self.names[2], [old])], level: .first
        ).view
        #expect([view.withoutLeader, view.underReplicated] == [0, 0])
        #expect(view.nodes.versions == ["1", "2"])
    }

    @Test func `a node that has lost its disk is no replica before it has something of the shard`() {
        let known = shard(0, 0, [0, 1, 2])
        var begun = known
        begun.applied = 0
        for views in [[], [begun]] {
            #expect(health([(0, [known]), (1, [known]), (2, views)], of: 1).underReplicated == 1)
        }
        #expect(health([(0, [known]), (1, [known]), (2, [known])], of: 1).underReplicated == 0)
    }

    @Test func `a replica that does not keep up is none, as the leader says it and nobody else`() {
        var known = shard(0, 0, [0, 1, 2])
        known.behind = [Self.names[2]]
        let follower = shard(0, 0, [0, 1, 2])
        #expect(health([(0, [known]), (1, [follower]), (2, [follower])], of: 1).underReplicated == 1)
        #expect(health([(0, [follower]), (1, [known]), (2, [follower])], of: 1).underReplicated == 0)
    }

    @Test func `where there are fewer than three data nodes one replica is enough`() {
        let view = ClusterHealth(
            shardCount: 1, listed: Self.names.prefix(2).map { NodeRecord(node: $0, store: 1) },
            statuses: [status(Self.names[0])], shards: [(Self.names[0], [shard(0, 0, [0])])], level: .first
        ).view
        #expect([view.withoutLeader, view.underReplicated] == [0, 0])
        #expect([view.nodes.alive, view.nodes.dead] == [1, 1])
    }
}
