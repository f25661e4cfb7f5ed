import ChatModel
import EventLoop
import Logging
import RoomProtocol
import SessionCore
import ShardPlacement
import Telemetry
import Testing
import Wire

@testable import Gateway

/// Sessions that are put offline while they are on their way here from another node.
@Suite(.timeLimit(.minutes(3))) struct OfflineOnTheWayTests {
    private let here: NodeID
    private let former: NodeID
    private let user: UserID

    init() throws {
        here = try #require(NodeID("n1"))
        former = try #require(NodeID("n2"))
        user = try #require(UserID("wanda"))
    }

    /// With a gateway of one lane, whose clock stands still at 1000.
    private func withGateway(_ body: (Gateway) async throws -> Void) async throws {
        try await TestGateway.run(at: here, body)
    }

    /// The session arrives; its client has gone again.
    private func take(_ number: UInt64, startedAt: Int64, _ gateway: Gateway) async throws -> SessionID {
        let id = TestGateway.session(number, at: former)
        let handed = HandedSession(
            user: user, anonymous: false, device: .web, startedAt: Timestamp(startedAt))
        let lane = try #require(gateway.lane(0))
        let former = former
        await lane.loop.run {
            lane.value.received(Session(handed, id: id, from: former, on: lane.value), for: 0)
        }
        return id
    }

    @Test func `a user's session that was on its way when the user was put offline ends when it comes`() async throws {
        try await withGateway { gateway in
            let ended = await gateway.forceOffline(user)
            #expect(ended == 0)
            _ = try await take(1, startedAt: 900, gateway)
            // By the clock of a node that goes a little before.
            _ = try await take(3, startedAt: 1900, gateway)
            let left = await gateway.sessions(of: user)
            #expect(left.isEmpty)
            // One that has begun since is not meant.
            let later = try await take(2, startedAt: 2100, gateway)
            let sessions = await gateway.sessions(of: user)
            #expect(sessions.map(\.session) == [later])
        }
    }

    @Test func `a session that was on its way when it was ended ends when it comes`() async throws {
        try await withGateway { gateway in
            let other = try await take(1, startedAt: 900, gateway)
            let wasHere = await gateway.forceOffline(TestGateway.session(2, at: former))
            #expect(!wasHere)
            _ = try await take(2, startedAt: 900, gateway)
            let sessions = await gateway.sessions(of: user)
            #expect(sessions.map(\.session) == [other])
        }
    }
}
