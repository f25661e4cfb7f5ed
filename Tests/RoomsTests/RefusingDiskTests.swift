import ChatModel
import Consensus
import GroupDriver
import LogStore
import RoomCore
import ShardPlacement
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

    @Test(arguments: [FaultFiles.Step.write, .sync])
    func `a node whose disk is full or answers with errors hands its idle shards over, and says that it is not ready`(
        step: FaultFiles.Step
    ) async throws {
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
                node.files.fail(step)
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
            _ = try await node.calls.view(of: room)
            node.files.fail(nil)
            try await poll("the node is ready again") { await node.rooms.unreadiness() == nil }
            try await cluster.perform(post("taken"), in: room)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    /// A cluster of three with a room, on disks that can be made to fail.
    private func made(_ room: RoomID) async throws -> HostedCluster {
        let cluster = try HostedCluster(hasFaultDisks: true)
        do {
            try await cluster.add("n1")
            try await cluster.perform(.createRoom(creator: try user("owner"), set: RoomChanges()), in: room)
            try await cluster.add("n2")
            try await cluster.add("n3")
            cluster.announce()
            try await cluster.settled()
        } catch {
            await cluster.close()
            throw error
        }
        return cluster
    }

    private func led(_ cluster: HostedCluster) async throws -> HostedNode {
        var found: HostedNode?
        try await poll("somebody leads") {
            found = await self.leader(cluster)
            return found != nil
        }
        return try #require(found)
    }

    private func leads(_ cluster: HostedCluster, otherThan node: HostedNode) async throws {
        try await poll("another one than \(node.id) leads") {
            guard let next = await self.leader(cluster) else { return false }
            return next !== node
        }
    }

    @Test func `a trickle of sends that succeed does not keep a full disk from being found out`() async throws {
        let room = try #require(RoomID("a"))
        let cluster = try await made(room)
        do {
            let node = try await led(cluster)
            node.files.fail(.write)
            let start = ContinuousClock.now
            // Twice in the time after which an idle disk is probed; all of them find space in the write-ahead log.
            while node.store.takesWrites, ContinuousClock.now - start < .seconds(20) {
                try await cluster.perform(post("drop"), in: room)
                try await Task.sleep(for: .milliseconds(100))
            }
            #expect(!node.store.takesWrites)
            try await leads(cluster, otherThan: node)
            node.files.fail(nil)
            try await poll("\(node.id) is ready again") { await node.rooms.unreadiness() == nil }
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    /// What a disk can answer to whoever writes.
    enum Fault: CaseIterable {
        case full, failing

        func set(_ disk: FaultDisk, _ isOn: Bool) {
            switch self {
            case .full: disk.isFull = isOn
            case .failing: disk.isFailing = isOn
            }
        }
    }

    @Test(arguments: Fault.allCases)
    func `a node whose log can't be written leaves leading to others, and comes back by itself`(
        fault: Fault
    ) async throws {
        let room = try #require(RoomID("a"))
        let cluster = try await made(room)
        do {
            let node = try await led(cluster)
            let disk = try cluster.disks(node.id.text).log
            fault.set(disk, true)
            try await cluster.perform(post("the others take it"), in: room)
            try await leads(cluster, otherThan: node)
            #expect(await node.rooms.unreadiness()?.contains("can't be written") == true)
            fault.set(disk, false)
            try await poll("\(node.id) is ready again") { await node.rooms.unreadiness() == nil }
            try await cluster.perform(post("all take it"), in: room)
            try await cluster.settled()
            try await cluster.expectEqual()
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    @Test func `a node whose log could not be synced is out until it is restarted, and has everything then`()
        async throws
    {
        let room = try #require(RoomID("a"))
        let cluster = try await made(room)
        do {
            let node = try await led(cluster)
            let name = node.id.text
            try cluster.disks(name).log.failSyncs(1)
            try await cluster.perform(post("the others take it"), in: room)
            try await leads(cluster, otherThan: node)
            try await poll("\(name) says so") {
                await node.rooms.unreadiness()?.contains("not written any more") == true
            }
            try await cluster.stop(name)
            try await cluster.restart(name)
            try await cluster.perform(post("all take it"), in: room)
            try await cluster.settled()
            try await cluster.expectEqual()
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    @Test(arguments: Fault.allCases)
    func `a node that can't write a shard's files leaves leading the shard to others, and is not ready`(
        fault: Fault
    ) async throws {
        let room = try #require(RoomID("a"))
        let cluster = try await made(room)
        do {
            // Where the shard belongs: nobody takes the leadership away from it for another reason.
            var belonging: HostedNode?
            try await poll("the shard is led where it belongs") {
                let node = try await self.led(cluster)
                let preferred = node.cluster.current.placement.group(GroupID(0))?.voters.first?.node
                belonging = node.id.text == preferred ? node : nil
                return belonging != nil
            }
            let node = try #require(belonging)
            let disk = try cluster.disks(node.id.text).storage
            fault.set(disk, true)
            // It is in the log.
            try await cluster.perform(post("can't be read on one node"), in: room)
            try await leads(cluster, otherThan: node)
            #expect(await node.rooms.unreadiness()?.contains("files of shard 0 can't be written") == true)
            #expect(node.store.takesWrites, "the log has a disk of its own here")
            try await cluster.perform(post("the others take it"), in: room)
            fault.set(disk, false)
            try await poll("\(node.id) is ready again") { await node.rooms.unreadiness() == nil }
            try await cluster.perform(post("all take it"), in: room)
            try await cluster.settled()
            try await cluster.expectEqual()
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }
}
