import ChatModel
import EventLoop
import RoomCore
import RoomProtocol
import ShardPlacement
import Synchronization
import Testing
import WaitTestKit
import Wire

@testable import Rooms

/// The server API's calls, with tests in the place of the nodes that lead.
@Suite(.timeLimit(.minutes(3))) struct RoomCallsTests {
    /// The requests that nodes are asked, in order.
    private final class Nodes: RoomRouter {
        private let asked = Mutex<[(node: NodeID, request: RoomRequest)]>([])

        func route(_ requests: [RoomRequest], to node: NodeID, from lane: Int) {
            asked.withLock { $0 += requests.map { (node, $0) } }
        }

        func ask(_ request: TallyRequest, of node: NodeID) {}
        func recount(_ recount: LaneRecount, at node: NodeID) {}
        func notify(_ uses: [UserUse]) {}
        func drop(_ node: NodeID) {}
        func reaches(_ node: NodeID) -> Bool { true }

        /// The requests so far, as soon as there are so many.
        func requests(_ count: Int) async throws -> [(node: NodeID, request: RoomRequest)] {
            try await poll("\(count) requests") { self.asked.withLock { $0.count } >= count }
            return asked.withLock { $0 }
        }
    }

    private let room: RoomID
    private let here: NodeID
    private let leader: NodeID
    private let next: NodeID
    private let item = BarrageItem(from: nil, text: "once", time: Timestamp(1))
    private let mute = CommandBody.muteRoom(enable: true, NotifyOptions())
    private let nodes = Nodes()

    init() throws {
        room = try #require(RoomID("r"))
        here = try #require(NodeID("n1"))
        leader = try #require(NodeID("n2"))
        next = try #require(NodeID("n3"))
    }

    private func notice(_ term: UInt64) -> ShardNotice { ShardNotice(shard: ShardID(0), term: term) }

    private func answer(_ request: RoomRequest, _ outcome: ServerAnswer.Outcome) throws -> ServerAnswer {
        guard case .server(let origin) = request.origin else { throw ChatError(.internal, "not of the server API") }
        return ServerAnswer(to: origin, outcome)
    }

    /// With calls of which another node leads the rooms.
    private func withCalls(_ body: (RoomCalls) async throws -> Void) async throws {
        let loop = try EventLoop(name: "calls")
        loop.start()
        let calls = await RoomCalls(node: here, loops: [loop], shardMap: ShardMap(shardCount: 1), router: nodes)
        calls.onLeaderKnown(notice(1), by: leader)
        let result: Result<Void, any Error>
        do { result = .success(try await body(calls)) } catch { result = .failure(error) }
        await calls.stop()
        loop.shutdown()
        await loop.joined()
        try result.get()
    }

    @Test func `a call is answered by the leader`() async throws {
        try await withCalls { calls in
            async let result = calls.perform(mute, in: room, as: .system, id: nil)
            let asked = try await nodes.requests(1)[0]
            #expect(asked.node == leader && asked.request.room == room && asked.request.node == here)
            calls.hear([try answer(asked.request, .answered(.success(.command(.done))))], from: leader)
            #expect(try await result == .done)
        }
    }

    @Test func `a command whose leader is lost is asked of the next one, under the same ID`() async throws {
        try await withCalls { calls in
            async let result = calls.perform(mute, in: room, as: .system, id: nil)
            _ = try await nodes.requests(1)
            calls.onLeaderLost(leader)
            calls.onLeaderKnown(notice(2), by: next)
            let asked = try await nodes.requests(2)
            #expect(asked[1].node == next && asked[1].request == asked[0].request)
            guard case .server(.command(let command)) = asked[1].request.body else {
                Issue.record("not a command")
                return
            }
            #expect(command.id != nil, "done once, however often it is asked")
            calls.hear([try answer(asked[1].request, .answered(.success(.command(.done))))], from: next)
            #expect(try await result == .done)
        }
    }

    @Test func `a command whose leader stands still is asked of the next one`() async throws {
        try await withCalls { calls in
            async let result = calls.perform(mute, in: room, as: .system, id: nil)
            _ = try await nodes.requests(1)
            calls.onLeaderSuspected(notice(1), of: leader)
            calls.onLeaderKnown(notice(2), by: next)
            let asked = try await nodes.requests(2)
            calls.hear([try answer(asked[1].request, .answered(.success(.command(.done))))], from: next)
            #expect(try await result == .done)
        }
    }

    @Test func `a call that was refused waits for the next leader`() async throws {
        try await withCalls { calls in
            async let shown: Void = calls.barrage(item, in: room)
            let first = try await nodes.requests(1)[0]
            calls.hear([try answer(first.request, .retry)], from: leader)
            calls.onLeaderKnown(notice(2), by: next)
            let asked = try await nodes.requests(2)
            #expect(asked[1].node == next && asked[1].request.body == .server(.barrage(item)))
            calls.hear([try answer(asked[1].request, .answered(.success(.done)))], from: next)
            try await shown
        }
    }

    @Test func `barrage that may have been shown is not sent again`() async throws {
        try await withCalls { calls in
            let shown = Task { try await calls.barrage(item, in: room) }
            _ = try await nodes.requests(1)
            calls.onLeaderLost(leader)
            calls.onLeaderKnown(notice(2), by: next)
            await #expect { try await shown.value } throws: { error in
                (error as? ChatError)?.code == .unavailable && (error as? ChatError)?.retryAfterMs != nil
            }
            #expect(try await nodes.requests(1).count == 1)
        }
    }

    @Test func `without a leader a call ends with 503`() async throws {
        try await withCalls { calls in
            calls.onLeaderLost(leader)
            await #expect { try await calls.view(of: room) } throws: { error in
                (error as? ChatError)?.code == .unavailable && (error as? ChatError)?.retryAfterMs != nil
            }
        }
    }

    @Test func `a call that waits when the node stops ends with 503`() async throws {
        try await withCalls { calls in
            let view = Task { try await calls.view(of: room) }
            _ = try await nodes.requests(1)
            await calls.stop()
            await #expect { try await view.value } throws: { ($0 as? ChatError)?.code == .unavailable }
        }
    }

    @Test func `a refusal of the leader is the call's`() async throws {
        try await withCalls { calls in
            let view = Task { try await calls.view(of: room) }
            let asked = try await nodes.requests(1)[0]
            let refusal = ChatError(.notFound, "there is no room r")
            calls.hear([try answer(asked.request, .answered(.failure(refusal)))], from: leader)
            await #expect { try await view.value } throws: { $0 as? ChatError == refusal }
        }
    }
}
