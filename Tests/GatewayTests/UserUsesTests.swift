import ChatModel
import EventLoop
import Logging
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Telemetry
import Testing
import WaitTestKit
import Wire

@testable import Gateway

/// What the gateways of a cluster tell each other of users who ask for much.
@Suite(.timeLimit(.minutes(3))) struct UserUsesTests {
    /// The other nodes.
    private final class Others: RoomRouter {
        private let heard = Mutex<[[UserUse]]>([])
        let changes = Changes()

        var all: [[UserUse]] { heard.withLock { $0 } }

        func route(_ calls: [RoomRequest], to node: NodeID, from lane: Int) {}
        func ask(_ request: TallyRequest, of node: NodeID) {}
        func recount(_ recount: LaneRecount, at node: NodeID) {}
        func drop(_ node: NodeID) {}
        func reaches(_ node: NodeID) -> Bool { true }

        func notify(_ uses: [UserUse]) {
            heard.withLock { $0.append(uses) }
            changes.note()
        }
    }

    private let here: NodeID
    private let user: UserID
    private let text: ClientOperation
    private let read: ClientOperation
    private let others = Others()

    init() throws {
        here = try #require(NodeID("n1"))
        user = try #require(UserID("wanda"))
        let room = try #require(RoomID("live"))
        read = .room(RoomNameRequest(room: room))
        text = .send(SendRequest(room: room, clientID: "c", draft: MessageDraft(body: .text("hi"))))
    }

    /// With a gateway of one lane, which holds no session.
    private func withGateway(_ body: (Gateway, LoopBound<GatewayLane>) async throws -> Void) async throws {
        try await TestGateway.run(at: here, router: others) { gateway in
            try await body(gateway, try #require(gateway.lane(0)))
        }
    }

    /// A session of the user that asks so often, at one moment; how the last one was refused.
    private func ask(_ operation: ClientOperation, times: Int, _ user: UserID, _ lane: LoopBound<GatewayLane>) async
        -> ChatError?
    {
        let id = TestGateway.session(.random(in: .min ... .max), at: here)
        return await lane.loop.run {
            let handed = HandedSession(user: user, anonymous: false, device: .web, startedAt: Timestamp(800))
            let session = lane.value.keep(Session(handed, id: id, from: here, on: lane.value))
            var refusal: ChatError?
            for _ in 0..<times {
                do throws(ChatError) {
                    _ = try lane.value.pay(for: operation, session)
                    refusal = nil
                } catch {
                    refusal = error
                }
            }
            return refusal
        }
    }

    @Test func `who asks for much is told the others within a second or two, and nobody else`() async throws {
        let quiet = try #require(UserID("quiet"))
        try await withGateway { _, lane in
            #expect(await ask(text, times: 2, quiet, lane) == nil)
            #expect(await ask(text, times: 12, user, lane) == nil)
            try await others.changes.wait(for: "what the others are told") { others.all.isEmpty ? nil : () }
            #expect(others.all == [[UserUse(user: user, changes: 12, bytes: 24)]])
        }
    }

    @Test func `what others tell counts here, for that user alone and for a bounded time`() async throws {
        let bob = try #require(UserID("bob"))
        try await withGateway { gateway, lane in
            // Many more than are charged at a time, the user last.
            var told = try (0..<200).map { UserUse(user: try #require(UserID("u\($0)")), changes: 3) }
            told.append(UserUse(user: user, reads: 1_000_000))
            gateway.hear(told)
            let refusal = await ask(read, times: 1, user, lane)
            #expect(refusal?.code == .tooOften)
            #expect((1...5_100).contains(refusal?.retryAfterMs ?? 0))
            #expect(await ask(read, times: 20, bob, lane) == nil)
            // Changes are counted apart.
            #expect(await ask(text, times: 20, user, lane) == nil)
        }
    }
}
