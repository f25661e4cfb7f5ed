import ChatModel
import RoomProtocol
import SystemGroupHost
import Testing
import WaitTestKit
import Wire

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

    @Test func `a change that a leader has refused is told apart from one that it has not answered`() async throws {
        let (here, leader) = (try #require(NodeID("n1")), try #require(NodeID("n2")))
        let nodes = ClusterNodes(ClusterRouter(node: here), grace: .zero)
        let command = SystemCommand.revoke(try #require(UserID("wanda")))
        guard case .unsent = await nodes.forward(command, "k", to: leader) else {
            return #expect(Bool(false), "it can't be reached")
        }
        nodes.note(leader, isReached: true)
        async let refused = nodes.forward(command, "k", to: leader)
        try await poll("the first question") {
            nodes.questions.end(1, .failure(ChatError(.unavailable, "no", field: "leader")))
        }
        guard case .refused(let error) = await refused, error.field == "leader" else {
            return #expect(Bool(false), "it has said so")
        }
        async let lost = nodes.forward(command, "k", to: leader)
        try await poll("the second question") { nodes.questions.onNodeLost(leader) }
        guard case .unanswered = await lost else { return #expect(Bool(false), "it has said nothing") }
    }
}
