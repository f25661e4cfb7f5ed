import ChatModel
import Foundation
import Moderation
import RoomCore
import RoomProtocol
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// What the server API asked of a leader that leads no more when the answer is known.
@Suite struct LostLeadershipTests {
    /// An app that takes the hook's call and does not answer it.
    private final class SilentApp {
        private let listener: Int32
        private var call: Int32?
        let port: UInt16

        init() throws {
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue) | Int32(SOCK_NONBLOCK.rawValue), 0)
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            let listener = listener
            let isListening = withUnsafeMutablePointer(to: &address) {
                $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    bind(listener, $0, length) == 0 && listen(listener, 8) == 0
                        && getsockname(listener, $0, &length) == 0
                }
            }
            try #require(isListening)
            port = UInt16(bigEndian: address.sin_port)
        }

        deinit { close() }

        var isCalled: Bool {
            if call == nil {
                let accepted = accept(listener, nil, nil)
                if accepted >= 0 { call = accepted }
            }
            return call != nil
        }

        /// The call fails.
        func hangUp() {
            if let call { Foundation.close(call) }
            call = nil
        }

        private func close() {
            hangUp()
            Foundation.close(listener)
        }
    }

    /// With three nodes, a room, and who leads it.
    private func withLeader(
        policy: RoomPolicy = RoomPolicy(), _ body: (HostedCluster, HostedNode, RoomID) async throws -> Void
    ) async throws {
        let cluster = try HostedCluster(policy: policy)
        do {
            for name in ["n1", "n2", "n3"] { try await cluster.add(name) }
            cluster.announce()
            try await cluster.settled()
            let room = try #require(RoomID("room"))
            let owner = try #require(UserID("owner"))
            _ = try await cluster.perform(.createRoom(creator: owner, set: RoomChanges()), in: room)
            try await body(cluster, try await leader(cluster), room)
        } catch {
            await cluster.close()
            throw error
        }
        await cluster.close()
    }

    private func leader(_ cluster: HostedCluster) async throws -> HostedNode {
        var leader: HostedNode?
        try await poll("a leader") {
            for node in cluster.nodes where await node.status()?.leader == node.id { leader = node }
            return leader != nil
        }
        return try #require(leader)
    }

    @Test func `barrage that a leader has taken is shown before it leads no more`() async throws {
        try await withLeader { cluster, node, room in
            let address = SessionAddress(
                node: node.id, lane: 0, session: try #require(SessionID("ann")), encoding: .json)
            let caller = Caller(user: try user("ann"), anonymous: false, tokenProfile: Profile())
            func ask(_ number: UInt32, _ operation: ClientOperation) async throws {
                let origin = SessionOrigin(address, caller, request: number)
                node.rooms.receive([RoomRequest(room: room, from: origin, .operation(operation))])
                _ = try await node.told.answer(to: number).get()
            }
            try await ask(1, .enter(EnterRequest(room: room)))
            try await ask(2, .barrage(BarrageRequest(room: room, text: "in the last moment")))
            let other = try #require(cluster.nodes.first { $0.id != node.id })
            try await poll("the other one leads") {
                _ = await node.rooms.transfer(ShardID(0), to: other.id)
                return await node.status()?.leader == other.id
            }
            let shown = node.told.all.filter { output in
                guard case .barrage(let frame?, _) = output, let json = frame.json else { return false }
                return String(decoding: json, as: UTF8.self).contains("in the last moment")
            }
            #expect(shown.count == 1)
        }
    }

    @Test func `what a leader has left out and not told is told before it leads no more`() async throws {
        var policy = RoomPolicy()
        (policy.viewerBudgetAboveOnline, policy.viewerBudgetPerSecond) = (0, 1)
        try await withLeader(policy: policy) { cluster, node, room in
            let address = SessionAddress(
                node: node.id, lane: 0, session: try #require(SessionID("ann")), encoding: .json)
            let caller = Caller(user: try user("ann"), anonymous: false, tokenProfile: Profile())
            node.rooms.receive([
                RoomRequest(
                    room: room, from: SessionOrigin(address, caller, request: 1),
                    .operation(.enter(EnterRequest(room: room)))
                )
            ])
            _ = try await node.told.answer(to: 1).get()
            var draft = MessageDraft(body: .text("unkept"))
            draft.keep = false
            for _ in 0..<5 { _ = try await cluster.perform(.post(draft), in: room) }
            let other = try #require(cluster.nodes.first { $0.id != node.id })
            try await poll("the other one leads") {
                _ = await node.rooms.transfer(ShardID(0), to: other.id)
                return await node.status()?.leader == other.id
            }
            // One was shown at most, and what was left out within the last second is told as well.
            let frames = node.told.all.compactMap { output -> String? in
                switch output {
                case .frame(let frame), .frameExcept(_, let frame), .frameFor(_, let frame):
                    frame.json.map { String(decoding: $0, as: UTF8.self) }
                default: nil
                }
            }
            let text = frames.joined()
            let shown = text.components(separatedBy: "\"text\":\"unkept\"").count - 1
            let told = text.matches(of: /"skipped":\{[^}]*"unkept":(\d+)/).compactMap { Int($0.1) }.reduce(0, +)
            #expect(shown + told == 5, "\(text)")
        }
    }

    @Test func `a message that the hook lets through after the leader has gone is answered with 503`() async throws {
        try await withLeader { try await hookEnds(in: $0, $1, $2) }
    }

    @Test func `of two recalls of one message both are answered when the leader can't do either`() async throws {
        try await withLeader { cluster, node, room in
            let text = CommandBody.post(MessageDraft(body: .text("oops")))
            guard case .posted(let messageID, _, _, _, _) = try await cluster.perform(text, in: room) else {
                Issue.record("not posted")
                return
            }
            let serving = try await leader(cluster)
            cluster.link.setCut(serving.id, true)
            let calls = serving.calls
            let recalls = (1...2).map { _ in
                Task { () -> ChatError? in
                    do throws(ChatError) {
                        try await calls.recall(messageID, in: room, as: .system, id: nil)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            for recall in recalls {
                let error = try await withDeadline("an answer") { await recall.value }
                #expect(error?.code == .unavailable)
            }
        }
    }

    private func hookEnds(in cluster: HostedCluster, _ node: HostedNode, _ room: RoomID) async throws {
        let app = try SilentApp()
        var hook = HookSettings(url: "http://127.0.0.1:\(app.port)/hook")
        (hook.secret, hook.timeoutMs) = ("secret", 10_000)
        await node.rooms.setModeration(WordFilter(), hook: hook)
        let calls = node.calls
        let send = Task { () -> ChatError? in
            do throws(ChatError) {
                _ = try await calls.perform(
                    .post(MessageDraft(body: .text("held"))), in: room, as: .system, moderate: true, id: nil)
                return nil
            } catch {
                return error
            }
        }
        try await poll("the hook's call") { app.isCalled }
        cluster.link.setCut(node.id, true)
        try await poll("the end of the leadership") { await node.status()?.leader != node.id }
        app.hangUp()
        let error = try await withDeadline("an answer") { await send.value }
        #expect(error?.code == .unavailable)
    }
}
