import ChatModel
import Consensus
import EventLoop
import GroupDriver
import LogStore
import Logging
import StorageTestKit
import Synchronization
import SystemGroupHost
import Testing
import WaitTestKit

@testable import Rooms

/// What an observer was told.
private final class Observed: Sendable {
    let changes = Mutex<[SystemChange]>([])
}

/// The fate of commands that a node takes to the leader.
private enum Forwarding {
    case answered
    /// The leader stands still.
    case silent
    /// The leader applies the command and dies before it answers.
    case answerLost
}

/// A node's part in the system group, on a link with others.
private final class SystemNode: Sendable {
    let system: SystemGroup
    let cluster = ClusterView(shardCount: 4)
    let record: NodeRecord
    let observed = Observed()
    private let box = ForwardingBox()
    private let link: MemoryLink
    private let loop: EventLoop
    private let store: LogStore

    private final class ForwardingBox: Sendable {
        let mode = Mutex(Forwarding.answered)
        let lostAnswers = Mutex(0)
    }

    init(_ name: String, _ directory: String, _ link: MemoryLink, create: Bool) async throws {
        let node = try #require(NodeID(name))
        self.link = link
        loop = try EventLoop(name: name)
        loop.start()
        var options = LogStoreConfiguration(directory: directory + "/log")
        options.create = true
        store = try LogStore.open(options)
        record = NodeRecord(node: node, store: store.storeID)
        let server = ServerID(node: name, store: store.storeID)
        system = SystemGroup(
            loop: loop, store: store, server: server, transport: link.end(of: node), replication: link.end(of: node),
            cluster: cluster, directory: directory + "/system", logger: Logger(label: "test"),
            now: { Timestamp(1_000) },
            forward: { [box] command, key, leader in
                let lost = ForwardOutcome.unanswered(ChatError(.unavailable, "not connected"))
                let mode = box.mode.withLock { $0 }
                guard let other = link.system(of: leader) else {
                    guard mode == .silent else {
                        return .unsent(ChatError(.unavailable, "not connected", retryAfterMs: 500))
                    }
                    try? await Task.sleep(for: .seconds(600))
                    return lost
                }
                do throws(ChatError) {
                    let (result, index) = try await other.performForwarded(command, key: key)
                    guard mode == .answerLost else { return .applied(result, index: index) }
                    box.lostAnswers.withLock { $0 += 1 }
                    return lost
                } catch {
                    return .refused(error)
                }
            })
        if create { try await SystemGroup.bootstrap(shardCount: 4, server: server, store: store) }
        try await system.start()
        link.connect(node, system)
        if create { try await system.create(ClusterIdentity(id: "c", shardCount: 4), node: node) }
        await system.observe { [observed] change in observed.changes.withLock { $0.append(change) } }
    }

    func set(_ mode: Forwarding) { box.mode.withLock { $0 = mode } }

    var lostAnswers: Int { box.lostAnswers.withLock { $0 } }

    /// The oldest entry that its log on disk has.
    func firstIndex() throws -> UInt64 { try store.restored(.system).firstIndex }

    func close() async {
        // The others go on, and what they send must not come to a loop that has ended.
        link.connect(record.node, nil as SystemGroup?)
        system.close()
        store.close()
        loop.shutdown()
        await loop.joined()
    }
}

@Suite struct SystemReplicaTests {
    @Test func `a node that joins gets the whole state, and its observers are told`() async throws {
        let (directory, link) = (try TemporaryDirectory(), MemoryLink())
        let first = try await SystemNode("n1", directory.path + "/1", link, create: true)
        // Enough for the state to be put on disk and the log before it to go.
        let users = try (0..<300).map { try user("user\($0)") }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for user in users { group.addTask { _ = try await first.system.revoke(user) } }
            try await group.waitForAll()
        }
        let name = try #require(SettingName("x"))
        try await first.system.put([1, 2, 3], for: name)
        // As long as nobody else is there: afterwards the log is kept for others.
        try await poll("the first node's log is trimmed") { try first.firstIndex() > 1 }
        let second = try await SystemNode("n2", directory.path + "/2", link, create: false)
        for node in [first, second] { node.cluster.set([first.record, second.record]) }
        try await poll("the second node has the state") { second.system.setting(name) != nil }
        #expect(link.begunSnapshots >= 1)
        #expect(second.system.setting(name) == first.system.setting(name))
        for user in users { #expect(second.system.refuses(user, issuedAt: Timestamp(1_000))) }
        #expect(!second.system.refuses(try user("other"), issuedAt: Timestamp(1_000)))
        // The state is there before the observers have been told of it.
        try await poll("the second node's observers have been told") {
            let told = second.observed.changes.withLock { $0 }
            let revoked = told.compactMap { change -> UserID? in
                if case .revoked(let user, _) = change { user } else { nil }
            }
            return Set(revoked) == Set(users)
        }
        await second.close()
        await first.close()
    }

    /// What a drain, a clock that goes wrong, the reconciler and a full disk bring about.
    @Test func `while leadership goes from one to the next no change fails, and each is made once`() async throws {
        let (directory, link) = (try TemporaryDirectory(), MemoryLink())
        var nodes = [try await SystemNode("n1", directory.path + "/1", link, create: true)]
        nodes.append(try await SystemNode("n2", directory.path + "/2", link, create: false))
        nodes.append(try await SystemNode("n3", directory.path + "/3", link, create: false))
        let all = nodes
        for node in all { node.cluster.set(all.map(\.record)) }
        try await poll("all have a vote") { await all[0].system.status().replicas.count == 3 }
        let isOver = Mutex(false)
        let handOvers = HandOvers()
        let handing = Task {
            var last = await all[0].system.status().term
            while !isOver.withLock({ $0 }) {
                for node in all { await node.system.transferLeadership() }
                // The pace at which it goes on, so that there are changes between; nothing is waited for. One that takes
                // longer is counted later.
                try await Task.sleep(for: .milliseconds(100))
                let term = await all[0].system.status().term
                if term > last { handOvers.count.withLock { $0 += 1 } }
                last = term
            }
        }
        var failures: [String] = []
        await withTaskGroup(of: [String].self) { group in
            for (place, node) in all.enumerated() {
                for worker in 0..<3 {
                    group.addTask {
                        var failures: [String] = []
                        var number = 0
                        // Until leadership has gone on, however fast or slow that is beside the changes.
                        while number < 40 || number < 2_000 && handOvers.count.withLock({ $0 < 3 }) {
                            number += 1
                            let name = "\(place)-\(worker)-\(number)"
                            do throws(ChatError) {
                                if try await !node.system.use(nonce: name) { failures.append("\(name) was used twice") }
                                guard case .done = try await node.system.begin(name) else {
                                    failures.append("\(name) was begun twice")
                                    continue
                                }
                                try await node.system.finish(name, answer: [1])
                            } catch { failures.append("\(name): \(error)") }
                        }
                        return failures
                    }
                }
            }
            for await more in group { failures += more }
        }
        isOver.withLock { $0 = true }
        try await handing.value
        #expect(failures.isEmpty, "\(failures.count): \(failures.first ?? "")")
        #expect(handOvers.count.withLock { $0 } >= 3)
        for node in all.reversed() { await node.close() }
    }

    private final class HandOvers: Sendable {
        let count = Mutex(0)
    }

    /// Three nodes, of which the first leads.
    private static func three(_ directory: TemporaryDirectory, _ link: MemoryLink) async throws -> [SystemNode] {
        var nodes: [SystemNode] = []
        for number in 1...3 {
            nodes.append(
                try await SystemNode(
                    "n\(number)", directory.path + "/\(number)", link, create: number == 1))
        }
        for node in nodes { node.cluster.set(nodes.map(\.record)) }
        let all = nodes
        try await poll("all have a vote, and the first one leads") {
            for node in all {
                let status = await node.system.status()
                if status.replicas.count < 3 || status.leader?.text != "n1" { return false }
            }
            return true
        }
        return nodes
    }

    /// Nobody hears the first node any more, as the links of the others say.
    private static func cutFirst(of nodes: [SystemNode], _ link: MemoryLink) {
        link.setCut(nodes[0].record.node, true)
        for node in nodes.dropFirst() { node.system.onNodeLost(nodes[0].record.node) }
    }

    @Test(arguments: [false, true])
    func `a change that a dead or silent leader was given is made by the next one`(isSilent: Bool) async throws {
        let (directory, link) = (try TemporaryDirectory(), MemoryLink())
        let nodes = try await Self.three(directory, link)
        nodes[1].set(isSilent ? .silent : .answered)
        Self.cutFirst(of: nodes, link)
        let ann = try user("ann")
        _ = try await nodes[1].system.revoke(ann)
        #expect(await nodes[1].system.status().leader?.text != "n1")
        #expect(nodes[1].system.refuses(ann, issuedAt: Timestamp(1_000)))
        for node in nodes.reversed() { await node.close() }
    }

    @Test func `a change is made once, and a claim whose fate is unknown is not told as another's`() async throws {
        let (directory, link) = (try TemporaryDirectory(), MemoryLink())
        let nodes = try await Self.three(directory, link)
        nodes[1].set(.answerLost)
        let ann = try user("ann")
        let system = nodes[1].system
        let change = Task {
            try await system.sanction(ann, .banned, seconds: 60, reason: nil, owes: true)
        }
        let claim = Task { () -> ChatError? in
            do throws(ChatError) {
                _ = try await system.begin("k")
                return nil
            } catch {
                return error
            }
        }
        let nonce = Task { () -> ChatError? in
            do throws(ChatError) {
                _ = try await system.use(nonce: "x")
                return nil
            } catch {
                return error
            }
        }
        try await poll("the leader has done all three") { nodes[1].lostAnswers == 3 }
        nodes[1].set(.answered)
        Self.cutFirst(of: nodes, link)
        try await change.value
        #expect(system.owedSanctions.events.count == 1)
        #expect(await claim.value?.code == .unavailable)
        #expect(await nonce.value?.code == .unavailable)
        for node in nodes.reversed() { await node.close() }
    }
}
