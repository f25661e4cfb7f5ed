import ChatModel
import LogStore
import RoomCore
import StorageTestKit
import Testing
import WaitTestKit

@testable import Rooms

/// Nodes whose log's disk takes nothing: they lead nothing that another one can lead, also where nothing happens.
@Suite struct RefusingDiskTests {
    private func post(_ text: String) -> CommandBody { .post(MessageDraft(body: .text(text))) }

    private func leader(_ cluster: HostedCluster) async -> HostedNode? {
        for node in cluster.nodes where await node.status()?.leader == node.id { return node }
        return nil
    }

    @Test func `a node whose disk is full hands its idle shards over, and says that it is not ready`() async throws {
        let cluster = try HostedCluster()
        do {
            let room = try #require(RoomID("a"))
            let owner = try #require(UserID("owner"))
            try await cluster.add("n1")
            try await cluster.perform(.createRoom(creator: owner, set: RoomChanges()), in: room)
            try await cluster.add("n2")
            try await cluster.add("n3")
            cluster.announce()
            try await cluster.settled()

            // One after the other, and nobody writes anything.
            var full: [HostedNode] = []
            for _ in 0..<2 {
                var former: HostedNode?
                try await poll("somebody leads") {
                    former = await self.leader(cluster)
                    return former != nil
                }
                let node = try #require(former)
                node.files.fail(.write)
                full.append(node)
                try await poll("a node leads whose disk takes something") {
                    guard let next = await self.leader(cluster) else { return false }
                    return !full.contains { $0 === next }
                }
                // Only the files beside the log refuse here: what an election saves in the log is taken for a moment.
                try await poll("\(node.id) says that it can't write") {
                    await node.rooms.unreadiness()?.contains("can't be written") == true
                }
            }
            try await cluster.perform(post("one disk of three takes it"), in: room)

            for node in full { node.files.fail(nil) }
            for node in full {
                try await poll("\(node.id) is ready again") { await node.rooms.unreadiness() == nil }
            }
            try await cluster.perform(post("all take it"), in: room)
            try await cluster.settled()
            try await cluster.expectEqual()
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    @Test func `a node that is alone goes on leading with a full disk, refuses at once, and recovers by itself`()
        async throws
    {
        let cluster = try HostedCluster()
        do {
            let room = try #require(RoomID("a"))
            let owner = try #require(UserID("owner"))
            try await cluster.add("n1")
            try await cluster.perform(.createRoom(creator: owner, set: RoomChanges()), in: room)
            let node = try cluster.node("n1")
            node.files.fail(.write)
            try await poll("the disk is found out") { !node.store.takesWrites }
            // What is only read is still answered: nobody else could.
            _ = try await node.rooms.view(of: room)
            node.files.fail(nil)
            try await poll("the node is ready again") { await node.rooms.unreadiness() == nil }
            try await cluster.perform(post("taken"), in: room)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }
}
