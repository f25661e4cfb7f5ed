import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Testing
import Wire

@testable import Gateway

/// Taps of a lane's sessions in rooms that come and go.
@Suite(.timeLimit(.minutes(3))) struct TapIntakeTests {
    @Test func `taps count in the life of the room in which they were made, and in no other`() async throws {
        let here = try #require(NodeID("n1"))
        let room = try #require(RoomID("live"))
        let user = try #require(UserID("wanda"))
        try await TestGateway.run(at: here) { gateway in
            let lane = try #require(gateway.lane(0))
            let result = await lane.loop.run {
                Result {
                    let lane = lane.value
                    lane.shared.takesTaps.store(true, ordering: .relaxed)
                    lane.onLeaderKnown(ShardNotice(shard: ShardID(0), term: 3), by: here)
                    let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(900))
                    let handed = HandedSession(
                        user: user, anonymous: false, device: .web, startedAt: Timestamp(800),
                        stays: [HandedSession.RoomStay(room: room, stay: stay)])
                    let session = lane.keep(Session(handed, id: TestGateway.session(1, at: here), from: here, on: lane))
                    lane.hubs[room] = Hub(room: room, lane: lane)
                    func tap(_ count: Int64, _ request: UInt32? = nil, of incarnation: UInt64) {
                        session.state.onVoice(Voice(role: .normal, in: Incarnation(incarnation)), in: room)
                        #expect(lane.take(TapRequest(room: room, key: Tally.like, delta: count), request, session))
                    }
                    tap(3, of: 7)
                    tap(4, 1, of: 7)
                    let first = try #require(lane.taps[room])
                    #expect(first.windows.incarnation == Incarnation(7) && lane.waitingTaps == 1)
                    tap(5, of: 8)
                    #expect(lane.waitingTaps == 0 && first.windows.isIdle, "the room was deleted")
                    tap(50, of: 7)
                    let second = try #require(lane.taps[room])
                    let batch = second.windows.close(as: 1, at: 0)
                    #expect(batch?.sums == [TallyCount(key: Tally.like, count: 5)])
                    #expect(batch?.incarnation == Incarnation(8))
                }
            }
            try result.get()
        }
    }
}
