import ChatModel
import Consensus
import GroupDriver
import History
import SQLite
import ShardPlacement
import Testing
import WaitTestKit

@testable import Rooms

/// A replica whose files have rows that can't be read, while the others' are whole.
@Suite(.timeLimit(.minutes(3))) struct DamagedFilesTests {
    private func post(_ text: String) -> CommandBody { .post(MessageDraft(body: .text(text))) }

    /// The node that the shard belongs to leads it.
    private func belonging(_ cluster: HostedCluster) async throws -> HostedNode {
        var found: HostedNode?
        try await poll("the shard is led where it belongs") {
            for node in cluster.nodes where await node.status()?.leader == node.id {
                let preferred = node.cluster.current.placement.group(GroupID(0))?.voters.first?.node
                found = node.id.text == preferred ? node : nil
            }
            return found != nil
        }
        return try #require(found)
    }

    private static let (damaged, whole) = ("a", "b")

    /// Runs the body with a cluster of three that has two rooms.
    private func run(_ body: (HostedCluster, _ damaged: RoomID, _ whole: RoomID) async throws -> Void) async throws {
        let cluster = try HostedCluster()
        let result: Result<Void, any Error>
        do {
            let (damaged, whole) = (try #require(RoomID(Self.damaged)), try #require(RoomID(Self.whole)))
            let owner = try #require(UserID("owner"))
            try await cluster.add("n1")
            for room in [damaged, whole] {
                try await cluster.perform(.createRoom(creator: owner, set: RoomChanges()), in: room)
            }
            try await cluster.add("n2")
            try await cluster.add("n3")
            cluster.announce()
            try await cluster.settled()
            result = .success(try await body(cluster, damaged, whole))
        } catch {
            result = .failure(error)
        }
        await cluster.close()
        try result.get()
    }

    /// Stops a node and spoils a room in its files.
    private func damage(_ name: String, of cluster: HostedCluster) async throws {
        try await cluster.stop(name)
        let database = try Database(path: try cluster.catalogueFile(name), options: DatabaseOptions())
        try database.execute("UPDATE catalogue SET value = X'FF' WHERE room = '\(Self.damaged)'")
        database.close()
    }

    @Test func `it leaves leading to the others, who go on with the room`() async throws {
        try await run { cluster, damaged, whole in
            let name = try await belonging(cluster).id.text
            try await damage(name, of: cluster)
            try await cluster.restart(name)
            // It gets the leadership back, finds the damage when somebody comes, and gives it away for good.
            _ = try await belonging(cluster)
            try await cluster.perform(post("the others can read it"), in: damaged)
            try await poll("another node leads") {
                for node in cluster.nodes where node.id.text != name {
                    if await node.status()?.leader == node.id { return true }
                }
                return false
            }
            for number in 0..<20 {
                for room in [damaged, whole] { try await cluster.perform(post("\(number)"), in: room) }
            }
            #expect(try await cluster.node(name).status()?.leader?.text != name)
        }
    }

    @Test func `where all have the same damage one leads all the same, and the other rooms go on`() async throws {
        try await run { cluster, damaged, whole in
            for name in ["n1", "n2", "n3"] { try await damage(name, of: cluster) }
            for name in ["n1", "n2", "n3"] { try await cluster.restart(name) }
            // Each leader is asked for the damaged room, until all know that it is.
            for _ in 0..<10 {
                for node in cluster.nodes where await node.status()?.leader == node.id {
                    _ = try? await node.calls.perform(post("lost"), in: damaged, as: .system, id: nil)
                }
                try await cluster.perform(post("goes on"), in: whole)
            }
            for number in 0..<20 { try await cluster.perform(post("\(number)"), in: whole) }
        }
    }
}
