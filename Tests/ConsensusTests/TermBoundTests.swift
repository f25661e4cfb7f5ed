import ChatModel
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

    /// Terms that are within the bound, and that no election leads to either.
    private static let far: [UInt64] = [RaftGroup.termMax, RaftGroup.termMax - 1, RaftGroup.termTrusted + 5_000]

    @Test(arguments: far)
    func `one message with a term up to the bound deafens nobody either, whatever it is`(term: UInt64) throws {
        for to in ["a", "b"] {
            for body in Self.bodies(term) {
                let cluster = try led()
                cluster.step(cluster.message(from: "c", to: to, term: term, body))
                #expect(cluster[to].refusedTerms == 1)
                #expect(cluster[to].term == 1 || cluster[to].term == RaftGroup.termTrusted + RaftGroup.termStep)
                // Whoever it has taken up is heard, and hears; elections have the terms that they need.
                cluster.forgetLeader()
                for _ in 0..<40 where cluster[to].term != cluster["c"].term || cluster["c"].leader == nil {
                    cluster.tick("c", 7)
                    cluster.settle()
                    cluster.tick(to, 5)
                    cluster.settle()
                }
                #expect(cluster[to].term == cluster["c"].term)
                #expect(cluster[to].term <= RaftGroup.termTrusted + 2 * RaftGroup.termStep)
                let leader = try #require(
                    ["a", "b", "c"].first { cluster[$0].isLeader && cluster[$0].term == cluster[to].term })
                try cluster.propose(leader, "y")
                cluster.settle()
                #expect(cluster.commands(to) == ["x", "y"])
            }
        }
    }

    @Test func `servers whose terms are far apart find together in steps, and a step is all that a message takes`()
        throws
    {
        let cluster = try led()
        let far = RaftGroup.termTrusted + 10 * RaftGroup.termStep
        var terms: [UInt64] = []
        for _ in 0..<12 {
            cluster.step(cluster.message(from: "c", to: "b", term: far, .voteReply(granted: false)))
            terms.append(cluster["b"].term)
        }
        #expect(terms.first == RaftGroup.termTrusted + RaftGroup.termStep)
        #expect(terms.last == far)
        #expect(zip(terms, terms.dropFirst()).allSatisfy { $1 - $0 <= RaftGroup.termStep })
        #expect(cluster["b"].refusedTerms == 9)
    }

    @Test func `no campaign passes the bound`() throws {
        let membership = GroupMembership(voters: [TestCluster.id("a"), TestCluster.id("b")])
        let mark = SnapshotMark(index: 0, term: 0, membership: membership)
        var raft = try RaftGroup(
            id: TestCluster.id("a"), group: TestCluster.group,
            start: .restored(
                RestoredLog(hardState: HardState(term: RaftGroup.termMax - 1), snapshot: mark)), randomSeed: 1)
        raft.campaign(isTransfer: true)
        #expect(raft.term == RaftGroup.termMax)
        raft.campaign(isTransfer: true)
        #expect(raft.term == RaftGroup.termMax)
        for _ in 0..<200 { raft.tick() }
        #expect(raft.term == RaftGroup.termMax && raft.role == .candidate || raft.role == .follower)
    }

    @Test func `the end of an installation ends it, whatever was installed`() throws {
        let cluster = try led()
        let membership = GroupMembership(voters: ["a", "b", "c"].map { TestCluster.id($0) })
        let offer = SnapshotMark(index: 9, term: 1, membership: membership)
        cluster.step(cluster.message(from: "a", to: "b", .snapshot(offer)))
        #expect(cluster["b"].installing != nil)
        cluster.act("b") {
            $0.snapshotInstalled(SnapshotMark(index: 9, term: RaftGroup.termMax + 1, membership: membership))
        }
        #expect(cluster["b"].installing == nil, "it may campaign again")
        #expect(cluster["b"].refusedTerms == 1)
        #expect(cluster["b"].canCampaign)
    }

    @Test func `a snapshot of such a term is nobody's`() throws {
        let cluster = try led()
        let mark = SnapshotMark(
            index: 9, term: 1 << 62, membership: GroupMembership(voters: [TestCluster.id("a")]))
        cluster.act("b") { $0.snapshotInstalled(mark) }
        #expect(cluster["b"].term == 1 && cluster["b"].lastIndex == 2 && cluster["b"].refusedTerms == 1)
    }

    @Test(arguments: high + [RaftGroup.termMax])
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
