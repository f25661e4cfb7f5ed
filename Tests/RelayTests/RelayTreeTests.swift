import ChatModel
import Relay
import RoomProtocol
import Testing

/// A body reaches each of many nodes once, and no node sends it to more than eight.
@Suite struct `Relay tree` {
    private let origin: NodeID

    init() throws { origin = try #require(NodeID("origin")) }

    private func nodes(_ count: Int) throws -> [NodeID] {
        try (0..<count).map { try #require(NodeID("n\($0)")) }
    }

    /// Lets a body go all the way.
    /// - Returns: how often each node got it, the most that one has sent, and over how many nodes the longest way went.
    private func spread(to nodes: [NodeID]) -> (arrivals: [NodeID: Int], sentMax: Int, depth: Int) {
        let body = RelayedBody(
            origin: origin, name: BodyName(life: 1, number: 1), body: SharedBody(json: [1], protobuf: nil),
            descendants: nodes)
        var arrivals: [NodeID: Int] = [:]
        var (sentMax, depth) = (0, 0)
        var level = [(node: origin, body: body)]
        while !level.isEmpty {
            var next: [(node: NodeID, body: RelayedBody)] = []
            for (node, body) in level {
                let copies = body.copies(from: node)
                sentMax = max(sentMax, copies.count)
                for copy in copies { arrivals[copy.node, default: 0] += 1 }
                next += copies
            }
            if !next.isEmpty { depth += 1 }
            level = next
        }
        return (arrivals, sentMax, depth)
    }

    @Test(arguments: [0, 1, 8, 9, 10, 16, 17, 63, 64, 65, 72, 73, 100, 600, 2_000])
    func `every node gets it once, of one that sends it to eight at most`(count: Int) throws {
        let nodes = try nodes(count)
        let (arrivals, sentMax, _) = spread(to: nodes)
        #expect(arrivals.count == count && arrivals.values.allSatisfy { $0 == 1 })
        #expect(Set(arrivals.keys) == Set(nodes))
        #expect(sentMax <= RelayTree.childrenMax)
    }

    @Test(arguments: [(8, 1, 8), (9, 2, 3), (16, 2, 4), (64, 2, 8), (72, 2, 8), (73, 3, 8), (600, 4, 8)])
    func `the way is short, and those who send share the work`(count: Int, depth: Int, sentMax: Int) throws {
        let spread = spread(to: try nodes(count))
        #expect(spread.depth == depth)
        #expect(spread.sentMax == sentMax)
    }

    @Test func `the same nodes are always divided in the same way`() throws {
        let nodes = try nodes(9)
        let branches = RelayTree.branches(to: nodes)
        #expect(branches == RelayTree.branches(to: nodes))
        #expect(branches.map(\.node) == [nodes[0], nodes[3], nodes[6]])
        #expect(branches.map(\.descendants) == [Array(nodes[1...2]), Array(nodes[4...5]), Array(nodes[7...8])])
    }

    @Test func `a list that names the receiver or the origin does not send it in a circle`() throws {
        let nodes = try nodes(3)
        let body = RelayedBody(
            origin: origin, name: BodyName(life: 1, number: 1), body: SharedBody(json: [1], protobuf: nil),
            descendants: [nodes[0], origin, nodes[1]])
        #expect(body.copies(from: nodes[0]).map(\.node) == [nodes[1]])
    }
}
