import ChatModel
import Consensus
import EventLoop
import GroupDriver
import LogStore
import Logging
import StorageTestKit
import Synchronization
import Testing

@testable import SystemGroupHost

/// For a group of one.
private struct NoTransport: ConsensusTransport {
    func send(_ messages: [RaftMessage]) {}
}

/// A system group on a log and a loop of its own, in a directory that outlives it.
private final class Fixture {
    let loop: EventLoop
    let store: LogStore
    let system: SystemGroup

    init(_ directory: TemporaryDirectory, create: Bool = false) throws {
        loop = try EventLoop(name: "system")
        loop.start()
        var options = LogStoreConfiguration(directory: directory.path + "/log")
        options.create = create
        store = try LogStore.open(options)
        system = SystemGroup(
            loop: loop, store: store, server: ServerID(node: "n1", store: store.storeID), transport: NoTransport(),
            cluster: ClusterView(shardCount: 4), directory: directory.path + "/system", logger: Logger(label: "test"),
            now: { Timestamp(1_000) },
            forward: { _, _, _ in .refused(ChatError(.internal, "there is no other node", retryAfterMs: nil)) })
    }

    func close() async {
        system.close()
        store.close()
        loop.shutdown()
        await loop.joined()
    }

    static func run(
        _ directory: TemporaryDirectory, create: Bool = false, _ body: (SystemGroup, LogStore) async throws -> Void
    ) async throws {
        let fixture = try Fixture(directory, create: create)
        do {
            if create {
                let server = ServerID(node: "n1", store: fixture.store.storeID)
                try await SystemGroup.bootstrap(shardCount: 4, server: server, store: fixture.store)
            }
            try await fixture.system.start()
            if create {
                try await fixture.system.create(
                    ClusterIdentity(id: "c", shardCount: 4), node: try #require(NodeID("n1")))
            }
            #expect(await fixture.system.settled(within: .seconds(20)))
            try await body(fixture.system, fixture.store)
        } catch {
            await fixture.close()
            throw error
        }
        await fixture.close()
    }
}

struct SystemGroupTests {
    @Test func `what was changed is there after a restart`() async throws {
        let directory = try TemporaryDirectory()
        let ann = try #require(UserID("ann"))
        try await Fixture.run(directory, create: true) { system, _ in
            #expect(try await system.revoke(ann, key: "k") == Timestamp(1_000))
            try await system.put([1, 2], for: .webhook)
            #expect(system.refuses(ann, issuedAt: Timestamp(1_000)))
        }
        try await Fixture.run(directory) { system, _ in
            #expect(system.refuses(ann, issuedAt: Timestamp(1_000)))
            #expect(!system.refuses(ann, issuedAt: Timestamp(1_001)))
            #expect(system.issueTime(for: ann) == Timestamp(1_001))
            #expect(system.setting(.webhook)?.value == [1, 2])
            let repeated = try await system.revoke(ann, key: "k")
            #expect(repeated == Timestamp(1_000))
        }
    }

    @Test func `an observer hears of the settings there are and of each change before its maker does`() async throws {
        let directory = try TemporaryDirectory()
        let ann = try #require(UserID("ann"))
        try await Fixture.run(directory, create: true) { system, _ in
            try await system.put([1], for: .webhook)
            let heard = Mutex<[SystemChange]>([])
            await system.observe { change in heard.withLock { $0.append(change) } }
            let before = try #require(system.setting(.webhook))
            #expect(
                heard.withLock { $0 } == [.level(.newest), .nodes(system.nodes), .setting(.webhook, before)])
            try await system.put([2], for: .webhook)
            let after = try #require(system.setting(.webhook))
            #expect(after.value == [2])
            #expect(after.version > before.version)
            let time = try await system.revoke(ann)
            try await system.put(nil, for: .webhook)
            #expect(
                heard.withLock { Array($0.dropFirst(3)) } == [
                    .setting(.webhook, after), .revoked(ann, at: time), .setting(.webhook, nil),
                ])
        }
    }

    @Test func `whoever observes before the cluster is created hears of the level that it begins with`() async throws {
        // The directory goes with its last use, which is the end.
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let fixture = try Fixture(directory, create: true)
        let heard = Mutex<[SystemChange]>([])
        do {
            let server = ServerID(node: "n1", store: fixture.store.storeID)
            try await SystemGroup.bootstrap(shardCount: 4, server: server, store: fixture.store)
            try await fixture.system.start()
            await fixture.system.observe { change in heard.withLock { $0.append(change) } }
            try await fixture.system.create(
                ClusterIdentity(id: "c", shardCount: 4), node: try #require(NodeID("n1")))
        } catch {
            await fixture.close()
            throw error
        }
        let nodes = fixture.system.nodes
        await fixture.close()
        #expect(heard.withLock { $0 } == [.level(.first), .level(.newest), .nodes(nodes)])
    }

    @Test func `the log stays short, and the state that stands for it is read at the next start`() async throws {
        let directory = try TemporaryDirectory()
        try await Fixture.run(directory, create: true) { system, store in
            for number in 0..<2_000 { try await system.put([UInt8(truncatingIfNeeded: number)], for: .webhook) }
            let applied = await system.status().applied
            #expect(applied >= 2_000)
            // The trim comes behind the writing of the state.
            let deadline = ContinuousClock.now + .seconds(30)
            while try store.restored(.system).firstIndex + 1_000 < applied, ContinuousClock.now < deadline {
                try await system.put([1], for: .webhook)
            }
            let stored = try store.restored(.system)
            #expect(stored.lastIndex - stored.firstIndex < 1_100)
            try await system.put([99], for: .moderation)
        }
        try await Fixture.run(directory) { system, _ in
            #expect(system.setting(.moderation)?.value == [99])
            try await system.put([100], for: .moderation)
        }
        try directory.remove("system/state")
        let fixture = try Fixture(directory)
        await #expect(throws: RaftError.self) { try await fixture.system.start() }
        await fixture.close()
    }

    @Test func `a damaged state is refused`() async throws {
        let directory = try TemporaryDirectory()
        try await Fixture.run(directory, create: true) { system, _ in
            for _ in 0..<600 { try await system.put([1], for: .webhook) }
        }
        var bytes = try directory.bytes("system/state")
        bytes[bytes.count / 2] ^= 1
        try directory.write(bytes, to: "system/state")
        let fixture = try Fixture(directory)
        await #expect(throws: (any Error).self) { try await fixture.system.start() }
        await fixture.close()
    }
}
