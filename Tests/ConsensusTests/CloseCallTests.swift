import Testing

@testable import Consensus

/// Rules of which a simulation by chance seldom sees that they are broken: each is one comparison in the core.
@Suite struct CloseCallTests {
    private func led(by name: String = "a", _ names: [String] = ["a", "b", "c"]) throws -> TestCluster {
        let cluster = try TestCluster(names)
        cluster.elect(name)
        #expect(cluster[name].isEstablished)
        return cluster
    }

    // MARK: Reads

    @Test func `the answer to one round of heartbeats confirms no read of the next one`() throws {
        let cluster = try led()
        try cluster.act("a") { try $0.readIndex(1) }
        cluster.deliver { if case .heartbeat = $0.body { true } else { false } }
        let answers = cluster.network
        cluster.network = []
        #expect(answers.count == 2)
        // The answers left their senders before this one was asked.
        try cluster.act("a") { try $0.readIndex(2) }
        let round = cluster.network
        cluster.network = answers
        cluster.settle()
        #expect(cluster.server("a").reads.map(\.token) == [1])
        cluster.network = round
        cluster.settle()
        #expect(cluster.server("a").reads.map(\.token) == [1, 2])
    }

    // MARK: Snapshots

    /// c has entries 2 to 7 of term 1 that nobody else has; b leads term 2 and has the snapshot up to entry 5, of term 2.
    private func otherTermAtTheMark() throws -> TestCluster {
        let cluster = try led(by: "c")
        cluster.isolate("c")
        try cluster.propose("c", "2", "3", "4", "5", "6", "7")
        cluster.settle()
        cluster.elect("b")
        try cluster.propose("b", "of b", "of b", "of b")
        cluster.settle()
        cluster.takeSnapshot("b")
        #expect(cluster["b"].snapshot?.index == 5 && cluster["b"].snapshot?.term == 2)
        #expect(cluster["c"].lastIndex == 7 && cluster["c"].log.term(at: 5) == 1)
        cluster.heal()
        for _ in 0..<3 {
            cluster.tick("b")
            cluster.settle()
        }
        return cluster
    }

    @Test func `an entry of another term at a snapshot's end is not taken for the leader's`() throws {
        let cluster = try otherTermAtTheMark()
        #expect(cluster["c"].installing?.mark.index == 5, "what c has at 5 is not what was committed")
        #expect(cluster["c"].commitIndex < 5 && cluster.commands("c") == [])
        #expect(cluster["b"].peerStatuses.first { $0.id == TestCluster.id("c") }?.matchIndex == 0)
    }

    @Test func `a snapshot replaces a log that has an entry of another term at its end`() throws {
        let cluster = try otherTermAtTheMark()
        cluster.install("c")
        #expect(cluster["c"].lastIndex == 5 && cluster["c"].lastTerm == 2 && cluster["c"].commitIndex == 5)
        #expect(cluster.server("c").disk.entries.isEmpty)
        cluster.settle()
        try cluster.propose("b", "after")
        cluster.settle()
        cluster.tick("b")
        cluster.settle()
        #expect(cluster.commands("c") == ["after"])
        #expect(cluster.server("c").disk.entries.map(\.term) == [2])
    }

    @Test func `a snapshot within a log that is the leader's keeps what comes after it`() throws {
        let cluster = try led()
        try cluster.propose("a", "x", "y")
        cluster.settle()
        let mark = try #require(cluster["a"].snapshotMark(at: 2))
        cluster.loses = { if case .heartbeat = $0.body { true } else { false } }
        cluster.crash("c")
        try cluster.restart("c")
        #expect(cluster["c"].commitIndex == 0 && cluster["c"].lastIndex == 3)
        cluster.act("c") { $0.snapshotInstalled(mark) }
        #expect(cluster["c"].lastIndex == 3 && cluster["c"].commitIndex == 2)
        #expect(cluster.server("c").disk.entries.map(\.index) == [1, 2, 3])
    }

    @Test func `who is getting a snapshot does not campaign`() throws {
        let cluster = try otherTermAtTheMark()
        cluster.isolate("c")
        cluster.tick("c", 100)
        #expect(cluster["c"].role == .follower && cluster["c"].term == 2)
        cluster.act("c") { $0.snapshotInstallFailed(SnapshotMark(index: 4, term: 2, membership: $0.membership)) }
        cluster.tick("c", 100)
        #expect(cluster["c"].role == .follower, "another one has failed")
    }

    // MARK: Promises

    @Test func `who knows the term's leader gives nobody else its vote, though it has given it to nobody`() throws {
        let cluster = try led()
        cluster.act("c") { $0.votedFor = nil }
        cluster.forgetLeader()
        let vote = cluster.message(from: "b", to: "c", term: 1, .vote(lastIndex: 9, lastTerm: 1, isTransfer: false))
        cluster.step(vote)
        #expect(cluster.underWay(from: "c", to: "b") == [.voteReply(granted: false)])
        #expect(cluster["c"].votedFor == nil)
    }

    @Test func `nothing is said in a term that is not on disk`() throws {
        let cluster = try led()
        cluster.holdDisk("c")
        let heartbeat = cluster.message(from: "b", to: "c", term: 5, .heartbeat(commitIndex: 0, readRound: 0))
        cluster.step(heartbeat)
        cluster.step(heartbeat)
        #expect(cluster.underWay(from: "c", to: "b") == [], "also when its save has been begun")
        cluster.releaseDisk("c")
        #expect(cluster.underWay(from: "c", to: "b").count == 2)
    }

    @Test func `what one leader has compared another leader's heartbeat does not commit`() throws {
        let cluster = try led()
        cluster.loses = { $0.from != TestCluster.id("a") }
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster["c"].agreedIndex == 2 && cluster["c"].commitIndex == 1)
        cluster.step(cluster.message(from: "b", to: "c", term: 2, .heartbeat(commitIndex: 2, readRound: 0)))
        #expect(cluster["c"].leader == TestCluster.id("b") && cluster["c"].commitIndex == 1)
    }

    @Test func `an append that shows less than was committed does not prove a restarted disk`() throws {
        var configuration = RaftConfiguration.testing
        configuration.restartProofTicks = 30
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        cluster.crash("c")
        try cluster.restart("c")
        let last = cluster["c"].lastIndex
        cluster.step(
            cluster.message(
                from: "a", to: "c",
                .append(previousIndex: last, previousTerm: 1, commitIndex: last + 1, entries: [])))
        #expect(cluster["c"].isUnproven)
        cluster.step(cluster.message(from: "a", to: "c", .timeoutNow))
        #expect(cluster["c"].role == .follower, "and leadership is not handed to it")
        cluster.step(
            cluster.message(
                from: "a", to: "c", .append(previousIndex: last, previousTerm: 1, commitIndex: last, entries: [])))
        #expect(!cluster["c"].isUnproven)
    }

    // MARK: Majorities

    @Test(arguments: [(2, false), (3, true)])
    func `of five voters three must be heard`(heard: Int, stays: Bool) throws {
        let names = ["a", "b", "c", "d", "e"]
        let cluster = try led(names)
        for name in names.dropFirst(heard) { cluster.crash(name) }
        for _ in 0..<25 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(cluster["a"].isLeader == stays)
    }

    @Test func `an answer to a round that was never sent confirms nothing`() throws {
        let cluster = try led()
        for name in ["b", "c"] {
            let round = cluster["a"].readRound + 1
            cluster.step(cluster.message(from: name, to: "a", .heartbeatReply(readRound: round)))
        }
        cluster.loses = { if case .heartbeatReply = $0.body { true } else { false } }
        try cluster.act("a") { try $0.readIndex(1) }
        // A commit looks at what is confirmed, too.
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a") == ["x"] && cluster.server("a").reads.isEmpty)
    }

    // MARK: Members

    @Test func `leadership is not handed to a learner`() throws {
        let cluster = try led()
        let d = TestCluster.id("d")
        try cluster.add("d", start: .join)
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(d)) }
        cluster.settle()
        let error = #expect(throws: RaftError.self) { try cluster.act("a") { try $0.transferLeadership(to: d) } }
        #expect(error?.code == .unknownServer && cluster["a"].transferTarget == nil)
        cluster.step(cluster.message(from: "a", to: "d", .timeoutNow))
        #expect(cluster["d"].role == .follower && cluster["d"].term == 1)
    }

    @Test func `a learner is promoted when it has the membership in force and an entry of the leader's term`() throws {
        let cluster = try led()
        try cluster.propose("a", "x", "y")
        cluster.settle()
        cluster.elect("b")
        _ = try cluster.act("b") { try $0.proposeMembership(.addLearner(TestCluster.id("d"))) }
        cluster.settle()
        let core = cluster["b"]
        #expect(core.termStartIndex == 4 && core.memberships.currentIndex == 5 && core.commitIndex == 5)
        var peer = Progress(
            id: TestCluster.id("d"), isVoter: false, next: 6, configuration: cluster.configuration)
        (peer.state, peer.isActive, peer.match) = (.replicate, true, 5)
        #expect(core.isCaughtUp(peer))
        peer.match = 4
        #expect(!core.isCaughtUp(peer), "it lacks the membership")
        var older = core
        older.memberships = MembershipHistory(index: 2, membership: core.membership)
        #expect(older.isCaughtUp(peer))
        peer.match = 3
        #expect(!older.isCaughtUp(peer), "it has nothing of this term")
    }
}
