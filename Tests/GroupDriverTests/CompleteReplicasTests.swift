import ChatModel
import Consensus
import Testing

@testable import GroupDriver

@Suite struct CompleteReplicasTests {
    @Test func `what a replica said before it was given a snapshot does not count`() throws {
        let (voter, learner) = (ServerID(node: "v", store: 1), ServerID(node: "l", store: 2))
        let node = try #require(NodeID("l"))
        var replicas = CompleteReplicas()
        replicas.note(complete: learner, upTo: 7, in: 2)
        #expect(replicas.complete(of: [voter], in: 2) == [voter, learner])
        replicas.note(given: node, committed: 20, in: 2)
        #expect(replicas.complete(of: [voter], in: 2) == [voter])
        // On its way since before.
        replicas.note(complete: learner, upTo: 19, in: 2)
        #expect(replicas.complete(of: [voter, learner], in: 2) == [voter])
        replicas.note(complete: learner, upTo: 20, in: 2)
        #expect(replicas.complete(of: [voter], in: 2) == [voter, learner])
        // Another leader has heard nothing yet.
        #expect(replicas.complete(of: [voter], in: 3) == [voter])
        replicas.note(complete: learner, upTo: 1, in: 3)
        #expect(replicas.complete(of: [], in: 3) == [learner])
    }
}
