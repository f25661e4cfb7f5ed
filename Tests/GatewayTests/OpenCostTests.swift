import ChatModel
import EventLoop
import Logging
import RoomLink
import SessionCore
import Sharding
import Telemetry
import Testing
import Wire

@testable import Gateway

/// What a COMBINE has taken of its session's rates, when its answer comes and when none does.
@Suite(.timeLimit(.minutes(3))) struct OpenCostTests {
    private let here: NodeID
    private let user: UserID
    private let combine: ClientOperation
    /// Of the title, the summary and the message's ID.
    private static let ownBytes: Int64 = 5
    private static let burst: Int64 = 640 * 1024
    private static let mostBytes = Int64(Limits.pageBytes)

    init() throws {
        here = try #require(NodeID("n1"))
        user = try #require(UserID("wanda"))
        let room = try #require(RoomID("live"))
        let body = MessageBody.combine(title: "t", summary: "s", messageIDs: ["abc"])
        combine = .send(SendRequest(room: room, clientID: "c", draft: MessageDraft(body: body)))
    }

    /// With a session that has asked for one COMBINE, as number 1. Nothing flows in meanwhile.
    private func withSession(_ body: @Sendable @escaping (GatewayLane, Session) throws -> Void) async throws {
        let (user, here, combine) = (user, here, combine)
        try await TestGateway.run(at: here) { gateway in
            let lane = try #require(gateway.lane(0))
            // In one turn, of which the clock is read once.
            let result = await lane.loop.run {
                Result {
                    let lane = lane.value
                    let handed = HandedSession(user: user, anonymous: false, device: .web, startedAt: Timestamp(800))
                    let session = lane.keep(SessionState(handed, id: SessionID(random: (1, 1), at: here), from: here))
                    session.costs[1] = try lane.pay(for: combine, session)
                    try body(lane, session)
                }
            }
            try result.get()
        }
    }

    private static func bytesLeft(_ session: Session, _ lane: GatewayLane) -> Int64 {
        session.rates.levels(nowMilliseconds: lane.loop.nowMilliseconds).bytes / 1000
    }

    @Test func `the most is taken with the request, and what was not copied comes back with the answer`() async throws {
        try await withSession { lane, session in
            #expect(Self.bytesLeft(session, lane) == Self.burst - Self.ownBytes - Self.mostBytes)
            lane.settleCost(of: 1, session.id, isRepeat: false, charged: 1000)
            #expect(Self.bytesLeft(session, lane) == Self.burst - Self.ownBytes - 1000)
            // A second answer gives nothing back.
            lane.settleCost(of: 1, session.id, isRepeat: false)
            #expect(Self.bytesLeft(session, lane) == Self.burst - Self.ownBytes - 1000)
        }
    }

    @Test func `a repeat gets all of it back`() async throws {
        try await withSession { lane, session in
            lane.settleCost(of: 1, session.id, isRepeat: true)
            #expect(Self.bytesLeft(session, lane) == Self.burst)
        }
    }

    @Test func `a session that goes to another node has paid for what nobody will answer here`() async throws {
        let user = user
        try await withSession { lane, session in
            let handed = try #require(lane.handOver(session.id, to: user))
            let left = Self.burst - Self.ownBytes - Self.mostBytes
            #expect(handed.levels?.bytes == left * 1000)
            #expect(handed.userLevels?.bytes == (3 * Self.burst - Self.ownBytes - Self.mostBytes) * 1000)
        }
    }
}
