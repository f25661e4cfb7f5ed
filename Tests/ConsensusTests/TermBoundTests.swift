import Testing

@testable import Consensus

/// A term near the end of the numbers deafens who takes it over, so nobody does.
@Suite struct TermBoundTests {
    private func led() throws -> TestCluster {
        let cluster = try TestCluster(["a", "b", "c"])
        cluster.elect("a")
        try cluster.propose("a", "x")
        cluster.settle()
        return cluster
    }

    private static let high: [UInt64] = [RaftGroup.termMax + 1, 1 << 62, .max]

    /// Every kind of message, in and about that term.
    private static func bodies(_ term: UInt64) -> [RaftMessage.Body] {
        let mark = SnapshotMark(index: 9, term: term, membership: GroupMembership(voters: [TestCluster.id("a")]))
        let entry = Entry(index: 2, term: term, kind: .command, payload: [])
        return [
            .preVote(lastIndex: 9, lastTerm: term), .preVoteReply(granted: true),
            .vote(lastIndex: 9, lastTerm: term, isTransfer: true), .voteReply(granted: true),
            .append(previousIndex: 1, previousTerm: 1, commitIndex: 1, entries: [entry]),
            .append(previousIndex: 1, previousTerm: term, commitIndex: 1, entries: []),
            .appendAccepted(matchIndex: 9), .appendRejected(previousIndex: 1, hintIndex: 1, hintTerm: term),
            .heartbeat(commitIndex: 1, readRound: 1), .heartbeatReply(readRound: 1), .snapshot(mark),
            .snapshotFailed(index: 1), .timeoutNow, .higherTerm,
        ]
    }

    @Test(arguments: high)
    func `one message with such a term deafens nobody, whatever it is, and is counted`(term: UInt64) throws {
        for to in ["a", "b"] {
            let cluster = try led()
            for body in Self.bodies(term) { cluster.step(cluster.message(from: "c", to: to, term: term, body)) }
            #expect(cluster[to].refusedTerms == UInt64(Self.bodies(term).count))
            #expect(cluster[to].term == 1)
            #expect(cluster["a"].isLeader && cluster["b"].leader == TestCluster.id("a"))
            try cluster.propose("a", "y")
            cluster.settle()
            #expect(cluster.commands("b") == ["x", "y"])
            cluster.elect("b")
            #expect(cluster["b"].isLeader && cluster["b"].term == 2)
        }
    }

    @Test(arguments: high)
    func `a term that stands inside of a message is refused, too`(term: UInt64) throws {
        let cluster = try led()
        let naming = Self.bodies(term).filter { body in
            cluster.message(from: "c", to: "b", body).highestTerm > RaftGroup.termMax
        }
        #expect(naming.count == 6)
        for body in naming { cluster.step(cluster.message(from: "c", to: "b", body)) }
        #expect(cluster["b"].refusedTerms == 6)
        #expect(cluster["b"].lastIndex == 2 && cluster["b"].installing == nil)
    }

    @Test func `who boasts of a log that it can't have keeps nobody who has restarted from campaigning`() throws {
        var configuration = RaftConfiguration.testing
        configuration.restartProofTicks = 3 * configuration.electionTimeoutTicks
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        cluster.crash("b")
        try cluster.restart("b")
        for (index, term) in [(1, 9), (1 << 63, 1)] as [(UInt64, UInt64)] {
            cluster.step(cluster.message(from: "c", to: "b", .preVote(lastIndex: index, lastTerm: term)))
        }
        #expect(cluster["b"].heardLog == nil && cluster["b"].ignoredInputs == 2)
    }

    @Test func `the last term is taken over, and no campaign passes it`() throws {
        let cluster = try led()
        let last = RaftGroup.termMax
        cluster.step(cluster.message(from: "c", to: "b", term: last, .voteReply(granted: true)))
        #expect(cluster["b"].term == last && cluster["b"].refusedTerms == 0)
        cluster.forgetLeader()
        cluster.network = []
        cluster.tick("b", 100)
        #expect(cluster["b"].term == last && cluster["b"].role == .follower)
        #expect(cluster.network.isEmpty, "nobody is asked")
        cluster.act("b") { $0.campaign(isTransfer: true) }
        #expect(cluster["b"].term == last && cluster["b"].role == .follower)
        cluster.step(cluster.message(from: "c", to: "b", term: last, .timeoutNow))
        #expect(cluster["b"].term == last && cluster["b"].role == .follower)
    }

    @Test func `a snapshot of such a term is nobody's`() throws {
        let cluster = try led()
        let mark = SnapshotMark(
            index: 9, term: 1 << 62, membership: GroupMembership(voters: [TestCluster.id("a")]))
        cluster.act("b") { $0.snapshotInstalled(mark) }
        #expect(cluster["b"].term == 1 && cluster["b"].lastIndex == 2 && cluster["b"].refusedTerms == 1)
    }

    @Test(arguments: high)
    func `a store that holds one says so at the start, with what to do`(term: UInt64) throws {
        let membership = GroupMembership(voters: [TestCluster.id("a")])
        let mark = SnapshotMark(index: 1, term: term, membership: membership)
        var withEntry = RestoredLog(hardState: HardState(term: term), snapshot: nil)
        withEntry.append(Entry(index: 1, term: term, kind: .empty, payload: []))
        for log in [
            RestoredLog(hardState: HardState(term: term)),
            RestoredLog(hardState: HardState(term: 1), snapshot: mark, appliedIndex: 1), withEntry,
        ] {
            let error = #expect(throws: RaftError.self) {
                try RaftGroup(
                    id: TestCluster.id("a"), group: TestCluster.group, start: .restored(log), randomSeed: 1)
            }
            #expect(error?.code == .termTooHigh)
            #expect(error?.message.contains("\(term)") == true && error?.message.contains("data directory") == true)
        }
    }
}
