import ChatModel
import Consensus
import History
import Replication
import Testing
import WaitTestKit

@testable import Rooms

@Suite struct ReplicaTests {
    private func room(_ name: String) throws -> RoomID { try #require(RoomID(name)) }

    private func post(_ text: String) -> CommandBody { .post(MessageDraft(body: .text(text))) }

    @Test func `a shard grows to three nodes, takes back one that was away, and one that has lost its disk`()
        async throws
    {
        let cluster = try HostedCluster()
        do {
            try await grow(cluster)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    /// All that the shard has on a node, and what a leader would call it.
    private func snapshot(of node: HostedNode) async throws -> (mark: SnapshotMark, catalogue: [UInt8]) {
        var mark: SnapshotMark?
        var catalogue: [UInt8] = []
        try await poll("the state of \(node.id)") {
            let content = try await node.content()
            // The term is the entry's own: the node's may be a later one.
            guard let term = try node.term(of: content.index), let status = await node.status() else { return false }
            mark = SnapshotMark(index: content.index, term: term, membership: GroupMembership(voters: status.voters))
            catalogue = content.catalogue
            return true
        }
        return (try #require(mark), catalogue)
    }

    private func grow(_ cluster: HostedCluster) async throws {
        try await cluster.add("n1")
        for name in ["a", "b", "gone"] {
            let body = CommandBody.createRoom(creator: try user("owner"), set: RoomChanges())
            try await cluster.perform(body, in: try room(name))
        }
        for number in 1...30 {
            try await cluster.perform(post("\(number)"), in: try room(["a", "b", "gone"][number % 3]))
        }
        try await cluster.perform(.deleteRoom, in: try room("gone"))
        // A node alone keeps no log for others.
        let first = try cluster.node("n1")
        try await poll("the log is trimmed") { try first.firstIndex() > 1 }
        try await cluster.add("n2")
        try await cluster.add("n3")
        cluster.announce()
        for number in 31...40 { try await cluster.perform(post("\(number)"), in: try room("a")) }
        try await cluster.settled()
        try await cluster.expectEqual()
        #expect(cluster.link.begunSnapshots >= 2)
        #expect(cluster.link.historyParts >= 2)

        // One is away for longer than the log reaches back.
        try await cluster.perform(post("in memory everywhere"), in: try room("b"))
        try await cluster.settled()
        let given = cluster.link.begunSnapshots
        let n3 = try cluster.node("n3")
        cluster.link.setCut(n3.id, true)
        for number in 41...70 { try await cluster.perform(post("\(number)"), in: try room("b")) }
        try await poll("the others' logs are trimmed") {
            let others = try ["n1", "n2"].map { try cluster.node($0) }
            var applied: UInt64 = 0
            for node in others {
                guard let status = await node.status() else { return false }
                applied = max(applied, status.applied)
            }
            // Of the entries since n3 was cut off, thirty at least, only the last are left.
            return try others.allSatisfy { try $0.firstIndex() + 10 > applied }
        }
        cluster.link.setCut(n3.id, false)
        for number in 71...75 { try await cluster.perform(post("\(number)"), in: try room("b")) }
        try await cluster.settled()
        try await cluster.expectEqual()
        #expect(cluster.link.begunSnapshots > given)

        // One ends between putting a snapshot in place and telling its log.
        try await cluster.stop("n3")
        for number in 76...90 { try await cluster.perform(post("\(number)"), in: try room("b")) }
        let leader = try cluster.node("n1")
        let (mark, catalogue) = try await snapshot(of: leader)
        try await cluster.withStorage("n3") { storage in
            try await leader.answer { storage.beginInstall(index: mark.index, mark: mark.encoded, completion: $0) }
            try await leader.answer { storage.installSnapshot(catalogue, completion: $0) }
            try await leader.answer { storage.finishInstall(completion: $0) }
        }
        try await cluster.restart("n3")
        try await cluster.perform(post("91"), in: try room("a"))
        try await cluster.settled()
        try await cluster.expectEqual()

        // The same node with an empty disk is another server.
        try await cluster.stop("n3")
        try await cluster.add("n3")
        cluster.announce()
        try await cluster.settled()
        try await cluster.perform(post("last"), in: try room("a"))
        try await cluster.settled()
        try await cluster.expectEqual()
    }
}
