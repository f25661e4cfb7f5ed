import ChatModel
import RoomProtocol
import Testing

@testable import ClusterRouting

@Suite(.timeLimit(.minutes(1))) struct ClusterNodesTests {
    /// It took as many calls as there had been questions when a mutex held the function that answers them by itself.
    @Test func `a question takes no longer after a hundred thousand others`() async throws {
        let nodes = ClusterNodes(ClusterRouter(node: try #require(NodeID("n1"))), grace: .zero)
        nodes.use { _ in .success(.count(7)) }
        var sum = 0
        for _ in 0..<100_000 {
            if case .success(.count(let count)) = await nodes.answer(.roomCount) { sum += count }
        }
        #expect(sum == 700_000)
    }
}
