import ChatModel
import EventLoop
import SessionCore
import Testing
import Wire

@testable import Gateway

/// A node that is cut off from its cluster sends its clients away.
@Suite(.timeLimit(.minutes(3))) struct SentAwayTests {
    /// The others need ten seconds besides the grace.
    @Test(arguments: [(20, true, true), (21, true, false), (20, false, false)])
    func `its sessions end once the others have ended their grace, and not before`(
        graceSeconds: Int64, endedElsewhere: Bool, areOver: Bool
    ) async throws {
        let (here, user) = (try #require(NodeID("n1")), try #require(UserID("wanda")))
        try await TestGateway.run(at: here, graceSeconds: graceSeconds) { gateway, _, _ in
            let lane = try #require(gateway.lane(0))
            let id = TestGateway.session(1, at: here)
            await lane.loop.run { _ = lane.value.keep(Session(id: id, user: user, on: lane.value)) }
            await gateway.sendAllAway(after: .seconds(30), endedElsewhere: endedElsewhere)
            let sessions = await gateway.sessions(of: user)
            #expect(sessions.map(\.session) == (areOver ? [] : [id]))
        }
    }
}
