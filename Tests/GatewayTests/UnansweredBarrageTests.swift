import ChatModel
import EventLoop
import RoomCore
import RoomProtocol
import ShardPlacement
import Synchronization
import Testing
import WaitTestKit
import Wire

@testable import Gateway

/// Windows of barrage that a leader does not answer: the lane looks at the rooms that have some, and at no others.
@Suite(.timeLimit(.minutes(3))) struct UnansweredBarrageTests {
    /// The leader of all rooms, which takes windows and answers none.
    private final class SilentLeader: RoomRouter {
        let windows = Mutex<[BarrageBatch]>([])

        func route(_ calls: [RoomRequest], to node: NodeID, from lane: Int) {
            for case .barrages(let window) in calls.lazy.map(\.body) { windows.withLock { $0.append(window) } }
        }

        func ask(_ request: TallyRequest, of node: NodeID) {}
        func recount(_ recount: LaneRecount, at node: NodeID) {}
        func notify(_ uses: [UserUse]) {}
        func drop(_ node: NodeID) {}
        func reaches(_ node: NodeID) -> Bool { true }
    }

    private let here: NodeID
    private let room: RoomID
    private let user: UserID

    init() throws {
        here = try #require(NodeID("n1"))
        room = try #require(RoomID("r1"))
        user = try #require(UserID("wanda"))
    }

    /// A room of the lane, with an item that waits for the end of its window.
    private func withRoom(
        _ body: @escaping (LoopBound<GatewayLane>, SilentLeader) async throws -> Void
    ) async throws {
        let leader = SilentLeader()
        try await TestGateway.run(at: here, router: leader) { gateway in
            gateway.onLeaderKnown(ShardNotice(shard: ShardID(0), term: 1), by: here)
            let lane = try #require(gateway.shared.lanes.withLock { $0.first })
            await lane.loop.run { [here, room, user] in
                let hub = Hub(room: room, lane: lane.value)
                let intake = BarrageIntake(perSecond: 10, highPerSecond: 1)
                let session = TestGateway.session(1, at: here)
                intake.sieve.hold(BarrageCandidate(sender: session, text: "hi", hash: 1))
                let address = SessionAddress(node: here, lane: 0, session: session, encoding: .json)
                intake.caller = (address, Caller(user: user, anonymous: false))
                hub.intake = intake
                lane.value.hubs[room] = hub
                lane.value.endWindow(of: hub)
            }
            try await body(lane, leader)
        }
    }

    @Test func `what a leader does not answer is said to be left out with a later window`() async throws {
        try await withRoom { _, leader in
            try await poll("the window to be given up") { leader.windows.withLock { $0.count } >= 2 }
            let windows = leader.windows.withLock { $0 }
            #expect(windows[0].candidates.map(\.text) == ["hi"] && windows[0].leftOut == 0)
            #expect(windows[1].candidates.isEmpty && windows[1].leftOut == 1)
        }
    }

    @Test func `a room is looked at until its leader has answered, or its last viewer has left`() async throws {
        try await withRoom { [room] lane, leader in
            try await poll("the window") { leader.windows.withLock { $0.count } == 1 }
            let counts = try await lane.loop.run {
                let value = lane.value
                let hub = try #require(value.hubs[room])
                var counts = [value.sifting.count]
                value.loseOverdueBarrage()
                counts.append(value.sifting.count)
                value.settle(1, shown: [0], in: hub)
                value.loseOverdueBarrage()
                counts.append(value.sifting.count)
                return counts
            }
            #expect(counts == [1, 1, 0])
        }
        try await withRoom { [room] lane, _ in
            let count = await lane.loop.run {
                lane.value.hubs[room] = nil
                lane.value.loseOverdueBarrage()
                return lane.value.sifting.count
            }
            #expect(count == 0)
        }
    }
}
