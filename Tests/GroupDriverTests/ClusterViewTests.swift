import ChatModel
import GroupDriver
import Testing

@Suite struct ClusterViewTests {
    @Test func `history goes by the clock of a node alone, or by one with which most listed ones agree`() throws {
        let view = ClusterView(shardCount: 1)
        let nodes = try ["n1", "n2", "n3", "n4"].map { try #require(NodeID($0)) }
        #expect(!view.mayRemoveByClock, "nobody is known yet")
        view.set([NodeRecord(node: nodes[0], store: 1)])
        #expect(view.mayRemoveByClock)
        view.set(nodes.map { NodeRecord(node: $0, store: 1) })
        #expect(!view.mayRemoveByClock, "nobody has been asked")
        view.set(wrongClocks: [], useless: [], agreeing: [nodes[0], nodes[1]])
        #expect(!view.mayRemoveByClock, "two of four")
        view.set(wrongClocks: [], useless: [], agreeing: Set(nodes.prefix(3)))
        #expect(view.mayRemoveByClock)
    }
}
