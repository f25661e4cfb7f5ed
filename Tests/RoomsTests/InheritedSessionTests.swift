import ChatModel
import EventLoop
import Foundation
import RoomCore
import RoomProtocol
import Synchronization
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// Sessions on the leader's own node, when it dies or hands its shard over: the next leader goes on with them.
@Suite(.timeLimit(.minutes(3))) struct InheritedSessionTests {
    private static let room = HostedRooms.room

    /// A node's lane, as far as these tests need it: it asks, and waits for answers.
    private func ask(
        _ node: HostedNode, _ name: String, from holder: NodeID? = nil, revivedAt: Timestamp? = nil, number: UInt32,
        _ body: RoomRequest.Body
    ) async throws -> Result<OperationResult, ChatError> {
        node.rooms.receive([try request(name, at: holder ?? node.id, revivedAt: revivedAt, number: number, body)])
        return await node.told.answer(to: number)
    }

    private func request(
        _ name: String, at node: NodeID, revivedAt: Timestamp? = nil, number: UInt32?, _ body: RoomRequest.Body
    ) throws -> RoomRequest {
        var caller = Caller(user: try user(name), anonymous: false)
        caller.revivedAt = revivedAt
        let address = SessionAddress(node: node, lane: 0, session: try #require(SessionID(name)), encoding: .json)
        return RoomRequest(room: Self.room, from: SessionOrigin(address, caller, request: number), body)
    }

    private func enter(nick: String? = nil) -> RoomRequest.Body {
        var request = EnterRequest(room: Self.room)
        request.nick = nick
        return .operation(.enter(request))
    }

    private func events(_ node: HostedNode) -> String {
        // Each node is told the same.
        var frames: [[UInt8]] = []
        for case .frame(let frame) in node.told.all {
            guard let json = frame.json, !frames.contains(json) else { continue }
            frames.append(json)
        }
        let text = frames.map { String(decoding: $0, as: UTF8.self) }.joined()
        return ["301", "302"].map { $0 + "x\(text.components(separatedBy: "\"event\":" + $0).count - 1)" }
            .joined(separator: " ")
    }

    private func online(_ node: HostedNode) async throws -> Int64 { try await node.calls.view(of: Self.room).online }

    /// Three nodes, of which n1 leads, with ann and bob at n1.
    private func withRoom(
        graceSeconds: Int64 = 3_600, level: FeatureLevel = .newest,
        _ body: (HostedCluster, HostedNode) async throws -> Void
    ) async throws {
        var policy = RoomPolicy()
        policy.graceSeconds = graceSeconds
        let cluster = try HostedCluster(policy: policy)
        do {
            try await cluster.add("n1")
            try await cluster.perform(
                .createRoom(creator: try user("owner"), set: RoomChanges()), in: Self.room)
            try await cluster.add("n2")
            try await cluster.add("n3")
            cluster.announce(level)
            cluster.announce()
            try await cluster.settled()
            let n1 = try cluster.node("n1")
            _ = try await ask(n1, "ann", number: 1, enter(nick: "Ann!")).get()
            _ = try await ask(n1, "bob", number: 2, enter()).get()
            try await body(cluster, n1)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    private func everybodyIsTold(_ cluster: HostedCluster, _ names: [String]) async throws {
        try await poll("replicas know \(names)") {
            ["n2", "n3"].allSatisfy { NodeID($0).map { cluster.link.presence(at: $0) } == names }
        }
    }

    /// Kills n1.
    /// - Returns: the next leader.
    private func die(_ cluster: HostedCluster, _ dead: HostedNode) async throws -> HostedNode {
        cluster.link.setCut(dead.id, true)
        try await cluster.stop(dead.id.text)
        for node in cluster.nodes { node.rooms.onNodeLost(dead.id) }
        return try await cluster.lead { node throws(ChatError) in
            _ = try await node.calls.view(of: Self.room)
            return node
        }
    }

    @Test func `they stay where the leader's node dies, and whoever comes back is the one that was here`() async throws
    {
        try await withRoom { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            let next = try await die(cluster, n1)
            try await poll("both are counted") { try await online(next) == 2 }
            #expect(try await next.calls.member(user("ann"), of: Self.room).profile.nick == "Ann!")
            let now = HostedRooms.now()
            let answer = try await ask(next, "ann", revivedAt: now, number: 3, enter()).get()
            guard case .enter(let entered) = answer else { return #expect(Bool(false), "\(answer)") }
            #expect(entered.room.online == 2 && entered.me.profile.nick == "Ann!")
            // Somebody else comes behind that: all that there is to see has been shown.
            _ = try await ask(next, "carl", number: 4, enter()).get()
            try await poll("carl is shown") { events(next) == "301x1 302x0" }
            #expect(try await online(next) == 3)
        }
    }

    @Test func `they leave where they do not come back, and everybody is told`() async throws {
        // Long enough for somebody to come before they leave, on a slow machine too.
        try await withRoom(graceSeconds: 5) { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            let next = try await die(cluster, n1)
            // There is somebody to see it.
            _ = try await ask(next, "carl", number: 3, enter()).get()
            try await poll("both have left") { events(next) == "301x1 302x2" }
            #expect(try await online(next) == 1)
            // A user who comes later is new.
            _ = try await ask(next, "ann", number: 4, enter()).get()
            try await poll("ann is shown") { events(next) == "301x2 302x2" }
        }
    }

    /// Nobody would announce it to the next leader: its node has gone, or has come back without it.
    @Test(arguments: [false, true])
    func `who was at a lost node leaves with a word where the leader goes, too`(isBack: Bool) async throws {
        try await withRoom(graceSeconds: 5) { cluster, n1 in
            let n2 = try cluster.node("n2")
            _ = try await ask(n1, "dora", from: n2.id, number: 3, enter()).get()
            n1.rooms.onNodeLost(n2.id)
            try await poll("n3 knows") {
                cluster.link.presence(at: try cluster.node("n3").id) == ["ann", "bob", "dora"]
            }
            if isBack { n1.rooms.reached(n2.id) }
            let n3 = try cluster.node("n3")
            if !isBack { n3.rooms.onNodeLost(n2.id) }
            try await poll("n3 can take over") { await n1.rooms.transfer(ShardID(0), to: n3.id) }
            try await poll("n3 leads") { await n3.status()?.leader == n3.id }
            try await poll("dora is counted") {
                try await n3.calls.member(user("dora"), of: Self.room).online
            }
            _ = try await ask(n3, "carl", number: 4, enter()).get()
            // The others are at a node that is reached, which does not name them: they had left before.
            try await poll("dora has left") { events(n3) == "301x1 302x1" }
            #expect(try await online(n3) == 1)
        }
    }

    @Test func `they go on where the leader hands over, and who had left is not told to leave again`() async throws {
        try await withRoom { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            cluster.link.cutPresence()
            let exit = RoomRequest.Body.operation(.exit(RoomNameRequest(room: Self.room)))
            _ = try await ask(n1, "bob", number: 3, exit).get()
            let n2 = try cluster.node("n2")
            try await poll("n2 can take over") { await n1.rooms.transfer(ShardID(0), to: n2.id) }
            try await poll("n2 leads") { await n2.status()?.leader == n2.id }
            try await poll("both are counted") { try await online(n2) == 2 }
            // As the lane does that hears of the new leader.
            let stay = SessionStay(profile: Profile(nick: "Ann?"), enteredAt: HostedRooms.now())
            n2.rooms.receive([
                try request("ann", at: n1.id, number: nil, .announce(stay)),
                try request("ann", at: n1.id, number: nil, .follow(StreamPlace(epoch: "", seq: .max))),
            ])
            // A session on its way to another node is waited for; nobody hears of him, and his clock is not the grace.
            try await poll("bob is gone") { try await online(n2) == 1 }
            #expect(try await n2.calls.member(user("ann"), of: Self.room).profile.nick == "Ann?")
            _ = try await ask(n2, "carl", number: 4, enter()).get()
            try await poll("carl is shown") { events(n2) == "301x1 302x0" }
        }
    }

    @Test func `a node that is stopping does not take back what it has handed over`() async throws {
        try await withRoom { cluster, n1 in
            await n1.rooms.transferAllLeaderships(within: .seconds(20))
            let next = try await cluster.lead(but: n1.id) { node throws(ChatError) in
                _ = try await node.calls.view(of: Self.room)
                return node
            }
            let term = await next.status()?.term
            // As the shard's keeper does where the node is the preferred leader. It may not know yet that n1 is stopping.
            _ = await next.rooms.transfer(ShardID(0), to: n1.id)
            try await cluster.perform(
                .post(MessageDraft(body: .text("still here"))), in: Self.room, but: n1.id)
            try await poll("n1 is offered no leadership") { await !next.rooms.transfer(ShardID(0), to: n1.id) }
            #expect(await next.status()?.leader == next.id)
            #expect(await next.status()?.term == term)
        }
    }

    @Test func `whom nobody names at a node that is reached had left before, and goes without a word`() async throws {
        try await withRoom(graceSeconds: 1) { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            let n2 = try cluster.node("n2")
            try await poll("n2 can take over") { await n1.rooms.transfer(ShardID(0), to: n2.id) }
            try await poll("n2 leads, and waits for nobody any more") {
                guard await n2.status()?.leader == n2.id else { return false }
                return try await online(n2) == 0
            }
            _ = try await ask(n2, "carl", number: 4, enter()).get()
            try await poll("carl is shown") { events(n2) == "301x1 302x0" }
        }
    }

    @Test func `who was put out does not come back with the next leader`() async throws {
        try await withRoom { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            cluster.link.cutPresence()
            try await cluster.perform(.kick(try user("bob"), banSeconds: nil, NotifyOptions()), in: Self.room)
            try await cluster.settled()
            let next = try await die(cluster, n1)
            try await poll("ann is counted") { try await online(next) == 1 }
            #expect(try await next.calls.member(user("ann"), of: Self.room).online)
        }
    }

    @Test func `a replica that was away is told from the beginning`() async throws {
        try await withRoom { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            let n3 = try cluster.node("n3").id
            n1.rooms.onNodeLost(n3)
            _ = try await ask(n1, "carl", number: 3, enter()).get()
            _ = try await ask(n1, "bob", number: 4, .operation(.exit(RoomNameRequest(room: Self.room)))).get()
            try await poll("n2 knows") { cluster.link.presence(at: try cluster.node("n2").id) == ["ann", "carl"] }
            #expect(cluster.link.presence(at: n3) == ["ann", "bob"])
            n1.rooms.reached(n3)
            try await everybodyIsTold(cluster, ["ann", "carl"])
        }
    }

    /// A node's links are up before its rooms are.
    @Test func `a replica that was starting when its leader began to tell asks for it`() async throws {
        try await withRoom { cluster, n1 in
            try await everybodyIsTold(cluster, ["ann", "bob"])
            let n3 = try cluster.node("n3").id
            try await cluster.stop("n3")
            n1.rooms.onNodeLost(n3)
            cluster.link.cutPresence()
            let lost = cluster.link.lostBeginnings
            try await cluster.restart("n3")
            cluster.announce(.newest)
            n1.rooms.reached(n3)
            try await poll("n1 has begun") { cluster.link.lostBeginnings > lost }
            cluster.link.restorePresence()
            try await everybodyIsTold(cluster, ["ann", "bob"])
        }
    }

    @Test func `nobody is told before every node can understand it`() async throws {
        try await withRoom(level: .first) { cluster, n1 in
            // As the leader's timers do: it looks who is to be told, and tells them.
            for host in n1.rooms.hosts.withLock({ $0 }) {
                await host.loop.run {
                    for shard in host.value.shards.values {
                        shard.choosePresenceReplicas()
                        var bytes = 1 << 20
                        shard.replicatePresence(bytes: &bytes)
                    }
                }
            }
            #expect(cluster.link.presence(at: try cluster.node("n2").id).isEmpty)
            cluster.announce(.newest)
            try await everybodyIsTold(cluster, ["ann", "bob"])
        }
    }
}
