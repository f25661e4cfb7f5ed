import Consensus
import Testing

@testable import GroupDriver

/// The replicas that do not keep up, as their leader sees them.
@Suite struct ReplicaWatchTests {
    private var watch = ReplicaWatch()

    private func server(_ name: String) -> ServerID { ServerID(node: name, store: 1) }

    private func peer(_ name: String, match: UInt64, isActive: Bool = true, isVoter: Bool = true) -> PeerStatus {
        PeerStatus(id: server(name), isVoter: isVoter, matchIndex: match, isActive: isActive, isCaughtUp: true)
    }

    @Test mutating func `one that lacks what was committed at the look before is behind, until it has it`() {
        watch.look(at: [peer("b", match: 0), peer("c", match: 0)], term: 1, commitIndex: 100)
        #expect(watch.behind.isEmpty, "they may not have answered yet")
        watch.look(at: [peer("b", match: 150), peer("c", match: 99)], term: 1, commitIndex: 200)
        #expect(watch.behind == [server("c")])
        // It never has all of a busy log, and keeps up.
        watch.look(at: [peer("b", match: 250), peer("c", match: 200)], term: 1, commitIndex: 300)
        #expect(watch.behind.isEmpty)
    }

    @Test mutating func `one that is not heard is behind, also while nothing happens, and learners are not looked at`()
    {
        let peers = [
            peer("b", match: 100), peer("c", match: 100, isActive: false), peer("d", match: 0, isVoter: false),
        ]
        watch.look(at: peers, term: 1, commitIndex: 100)
        watch.look(at: peers, term: 1, commitIndex: 100)
        #expect(watch.behind == [server("c")])
    }

    @Test mutating func `another term, or none, begins anew`() {
        watch.look(at: [peer("b", match: 0)], term: 1, commitIndex: 100)
        watch.look(at: [peer("b", match: 0)], term: 1, commitIndex: 100)
        #expect(watch.behind == [server("b")])
        watch.look(at: [peer("b", match: 0)], term: 2, commitIndex: 100)
        #expect(watch.behind.isEmpty)
        watch.look(at: [peer("b", match: 0)], term: 2, commitIndex: 100)
        #expect(watch.behind == [server("b")])
        watch.reset()
        #expect(watch.behind.isEmpty)
    }
}
