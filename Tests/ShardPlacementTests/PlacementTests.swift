import ChatModel
import Consensus
import Testing

@testable import ShardPlacement

@Suite struct PlacementTests {
    static func node(_ name: String, store: UInt64 = 1, data: Bool = true, draining: Bool = false) -> PlacementNode {
        PlacementNode(server: ServerID(node: name, store: store), holdsData: data, isDraining: draining)
    }

    private static func nodes(_ count: Int) -> [PlacementNode] { (0..<count).map { node("node-\($0)") } }

    private static func groups(_ placement: Placement, _ shards: UInt16 = 16) -> [GroupPlacement] {
        (0..<shards).compactMap { placement.group(of: ShardID($0)) }
    }

    private static func spread(_ counts: [String: Int], _ nodes: Int) -> ClosedRange<Int> {
        let values = counts.values
        return (counts.count == nodes ? values.min() ?? 0 : 0)...(values.max() ?? 0)
    }

    private static func leaders(_ groups: [GroupPlacement]) -> [String: Int] {
        groups.reduce(into: [:]) { counts, group in
            if let leader = group.voters.first { counts[leader.node, default: 0] += 1 }
        }
    }

    private static func replicas(_ groups: [GroupPlacement]) -> [String: Int] {
        groups.reduce(into: [:]) { counts, group in
            for voter in group.voters { counts[voter.node, default: 0] += 1 }
        }
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 3), (4, 3), (5, 3), (9, 3)])
    func `a shard has three voters where there are three data nodes, else one`(nodes: Int, voters: Int) {
        let groups = Self.groups(Placement(nodes: Self.nodes(nodes), shardCount: 16))
        #expect(groups.count == 16)
        for group in groups {
            #expect(group.voters.count == voters)
            #expect(Set(group.ranking).count == nodes, "everybody could stand in, each once")
            #expect(group.learners.isEmpty)
        }
    }

    @Test(arguments: 1...16)
    func `leaders and replicas of sixteen shards differ by at most one between nodes`(count: Int) {
        let groups = Self.groups(Placement(nodes: Self.nodes(count), shardCount: 16))
        let leaders = Self.spread(Self.leaders(groups), count)
        let replicas = Self.spread(Self.replicas(groups), count)
        #expect(leaders.upperBound - leaders.lowerBound <= 1, "\(Self.leaders(groups))")
        #expect(replicas.upperBound - replicas.lowerBound <= 1, "\(Self.replicas(groups))")
    }

    @Test func `three nodes lead five or six of sixteen shards each`() {
        for name in ["a", "node-", "chat-eu-", "10.0.0."] {
            let nodes = (1...3).map { Self.node("\(name)\($0)") }
            let leaders = Self.leaders(Self.groups(Placement(nodes: nodes, shardCount: 16)))
            #expect(leaders.values.sorted() == [5, 5, 6], "\(name)")
        }
    }

    @Test func `the order of the list, and what the nodes' stores are, do not matter`() {
        let nodes = Self.nodes(5)
        let placement = Placement(nodes: nodes, shardCount: 16)
        #expect(Placement(nodes: nodes.reversed(), shardCount: 16) == placement)
        var other = nodes
        other[2].server.store = 99
        let groups = Self.groups(Placement(nodes: other, shardCount: 16))
        for (old, new) in zip(Self.groups(placement), groups) {
            #expect(old.ranking.map(\.node) == new.ranking.map(\.node))
        }
        #expect(groups.contains { $0.voters.contains(other[2].server) })
        // A node is listed once, with its last store.
        #expect(Placement(nodes: nodes + [other[2]], shardCount: 16) == Placement(nodes: other, shardCount: 16))
    }

    /// Of `replicas` a newcomer must get 1/n; what moves besides is the price of the even spread.
    @Test(arguments: 3...8) func `few replicas move when a node comes or goes`(count: Int) {
        var (moved, least) = (0, 0)
        for round in 0..<20 {
            let nodes = (0...count).map { Self.node("r\(round)n\($0)") }
            let before = Self.groups(Placement(nodes: Array(nodes.dropLast()), shardCount: 16))
            let after = Self.groups(Placement(nodes: nodes, shardCount: 16))
            moved += zip(before, after).map { Set($1.voters).subtracting($0.voters).count }.reduce(0, +)
            least += 48 / (count + 1)
        }
        print("\(count) to \(count + 1) nodes: \(moved) replicas of \(20 * 48) moved, \(least) at least")
        #expect(moved <= least * 2)
    }

    @Test func `a draining node gets nothing, and two that stay are too few for three voters`() {
        var nodes = Self.nodes(4)
        nodes[1].isDraining = true
        for group in Self.groups(Placement(nodes: nodes, shardCount: 16)) {
            #expect(group.voters.count == 3 && !group.ranking.contains(nodes[1].server))
        }
        nodes[2].isDraining = true
        for group in Self.groups(Placement(nodes: nodes, shardCount: 16)) { #expect(group.voters.count == 1) }
        for position in nodes.indices { nodes[position].isDraining = true }
        for group in Self.groups(Placement(nodes: nodes, shardCount: 16)) {
            #expect(group.voters.count == 3, "somebody must keep the data")
        }
    }

    @Test func `gateways keep no shards and follow the system group`() {
        let nodes = Self.nodes(3) + [Self.node("gate", data: false)]
        let placement = Placement(nodes: nodes, shardCount: 16)
        for group in Self.groups(placement) { #expect(!group.ranking.contains(nodes[3].server)) }
        #expect(placement.system.learners == [nodes[3].server])
        #expect(placement.group(.system) == placement.system)
        #expect(placement.group(GroupID(3)) == placement.group(of: ShardID(3)))
        #expect(placement.group(GroupID(16)) == nil)
    }

    @Test(arguments: [(1, 1), (2, 1), (3, 3), (4, 3), (5, 5), (6, 5), (12, 5)])
    func `the system group has an odd number of voters up to five, and all others follow`(nodes: Int, voters: Int) {
        let system = Placement(nodes: Self.nodes(nodes), shardCount: 16).system
        #expect(system.voters.count == voters)
        #expect(system.learners.count == nodes - voters)
        #expect(system.learners.isDisjoint(with: system.voters))
    }

    @Test func `without data nodes there is no place`() {
        let placement = Placement(nodes: [Self.node("gate", data: false)], shardCount: 2)
        #expect(placement.group(of: ShardID(0))?.voters.isEmpty == true)
        #expect(placement.system.voters.isEmpty)
        #expect(Placement(nodes: [], shardCount: 2).system.ranking.isEmpty)
    }
}
