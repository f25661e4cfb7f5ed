import ChatModel
import RoomProtocol
import Testing

@testable import ClusterRouting

@Suite struct `Holders of sessions` {
    private let begin = ContinuousClock.now
    private let node: NodeID

    init() throws { node = try #require(NodeID("n2")) }

    private func holders() -> SessionHolders { SessionHolders(grace: .seconds(10), begunAt: begin) }

    private func session(_ number: Int) -> TakenSession {
        let digits = String(number)
        let secret = String(repeating: "0", count: SessionID.secretBytes - digits.count) + digits
        return TakenSession(session: SessionID(secret: secret, at: node), at: Timestamp(Int64(number)))
    }

    @Test func `that are gone for longer than the grace hold nothing any more`() {
        var holders = holders()
        #expect(holders.mayBeLost(at: begin + .seconds(9)))
        #expect(!holders.mayBeLost(at: begin + .seconds(10)))
        holders.lose(node, at: begin + .seconds(20))
        #expect(holders.mayBeLost(at: begin + .seconds(29)))
        #expect(!holders.mayBeLost(at: begin + .seconds(30)))
    }

    @Test func `that come back hear of what was taken up since they were lost`() {
        var holders = holders()
        holders.take(session(1), at: begin)
        holders.lose(node, at: begin + .seconds(100))
        holders.take(session(2), at: begin + .seconds(95))
        holders.take(session(3), at: begin + .seconds(101))
        #expect(holders.taken(since: node) == [session(2), session(3)])
    }

    @Test func `are told of so many sessions at most, and for so long`() {
        var holders = holders()
        for number in 0..<SessionHolders.takenMax + 2 { holders.take(session(number), at: begin) }
        #expect(holders.taken(since: node).count == SessionHolders.takenMax)
        #expect(holders.taken(since: node).first == session(2))
        holders.take(session(7), at: begin + SessionHolders.takenLife + .seconds(1))
        #expect(holders.taken(since: node) == [session(7)])
    }
}
