import Testing

@testable import Consensus

/// Sentences of the paper and the thesis, each as a test.
@Suite struct PaperTests {
    private func three() throws -> TestCluster { try TestCluster(["a", "b", "c"]) }

    private func led(by name: String = "a") throws -> TestCluster {
        let cluster = try three()
        cluster.elect(name)
        #expect(cluster[name].isLeader)
        return cluster
    }

    // MARK: Election

    @Test func `when servers start up they begin as followers (3_4)`() throws {
        let cluster = try three()
        for name in ["a", "b", "c"] { #expect(cluster[name].role == .follower && cluster[name].term == 0) }
        #expect(cluster.network.isEmpty)
    }

    @Test func `a follower that hears nothing for an election timeout begins an election (3_4)`() throws {
        let cluster = try three()
        cluster.tick("a", 9)
        #expect(cluster.network.isEmpty, "not before the timeout")
        cluster.tick("a", 11)
        #expect(cluster[("a")].role == .preCandidate)
        #expect(cluster.underWay(from: "a", to: "b").first == .preVote(lastIndex: 0, lastTerm: 0))
    }

    @Test func `election timeouts are drawn anew and lie between one and two timeouts (3_4)`() throws {
        let cluster = try three()
        var seen: Set<Int> = []
        for _ in 0..<300 {
            cluster.act("a") { $0.resetElectionTimer() }
            seen.insert(cluster["a"].electionTimeout)
        }
        #expect(seen == Set(10..<20))
    }

    @Test func `a candidate that wins a majority becomes leader and says so at once (3_4)`() throws {
        let cluster = try led()
        #expect(cluster["b"].leader == TestCluster.id("a") && cluster["c"].leader == TestCluster.id("a"))
        #expect(cluster["b"].term == 1)
        #expect(cluster["a"].isEstablished)
    }

    @Test func `a server votes for at most one candidate in a term (3_4)`() throws {
        let cluster = try three()
        let first = cluster.message(from: "a", to: "c", term: 1, .vote(lastIndex: 0, lastTerm: 0, isTransfer: false))
        let second = cluster.message(from: "b", to: "c", term: 1, .vote(lastIndex: 0, lastTerm: 0, isTransfer: false))
        cluster.step(first)
        cluster.step(second)
        cluster.step(first)
        #expect(cluster.underWay(from: "c", to: "a") == [.voteReply(granted: true), .voteReply(granted: true)])
        #expect(cluster.underWay(from: "c", to: "b") == [.voteReply(granted: false)])
    }

    @Test func `a vote is remembered through a crash (3_8)`() throws {
        let cluster = try three()
        cluster.step(cluster.message(from: "a", to: "c", term: 1, .vote(lastIndex: 0, lastTerm: 0, isTransfer: false)))
        cluster.crash("c")
        try cluster.restart("c")
        cluster.network = []
        cluster.step(cluster.message(from: "b", to: "c", term: 1, .vote(lastIndex: 0, lastTerm: 0, isTransfer: false)))
        #expect(cluster.underWay(from: "c", to: "b") == [.voteReply(granted: false)])
    }

    @Test(arguments: [
        (UInt64(3), UInt64(1), false),  // older last term, longer
        (UInt64(1), UInt64(2), false),  // same last term, shorter
        (UInt64(2), UInt64(2), true),  // equal
        (UInt64(3), UInt64(2), true),  // longer
        (UInt64(1), UInt64(3), true),  // newer last term, shorter
    ])
    func `a voter denies its vote if its own log is more up to date (3_6_1)`(
        lastIndex: UInt64, lastTerm: UInt64, granted: Bool
    ) throws {
        let cluster = try three()
        let entries = [
            Entry(index: 1, term: 1, kind: .empty, payload: []), Entry(index: 2, term: 2, kind: .empty, payload: []),
        ]
        cluster.step(
            cluster.message(
                from: "a", to: "c", term: 2,
                .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: entries)))
        cluster.network = []
        cluster.step(
            cluster.message(
                from: "b", to: "c", term: 9, .vote(lastIndex: lastIndex, lastTerm: lastTerm, isTransfer: true)))
        #expect(cluster.underWay(from: "c", to: "b") == [.voteReply(granted: granted)])
    }

    @Test func `a server that sees a larger term becomes a follower of it (3_3)`() throws {
        let cluster = try led()
        cluster.step(cluster.message(from: "b", to: "a", term: 7, .higherTerm))
        #expect(cluster["a"].role == .follower && cluster["a"].term == 7)
        #expect(cluster.server("a").disk.hardState == HardState(term: 7, votedFor: nil))
    }

    @Test func `a candidate returns to follower when another has won its term (3_4)`() throws {
        let cluster = try three()
        cluster.act("a") { $0.campaign(isTransfer: false) }
        #expect(cluster["a"].role == .candidate)
        cluster.step(cluster.message(from: "b", to: "a", term: 1, .heartbeat(commitIndex: 0, readRound: 0)))
        #expect(cluster["a"].role == .follower && cluster["a"].leader == TestCluster.id("b"))
    }

    @Test func `a split vote ends in a new election with a higher term (3_4)`() throws {
        let cluster = try three()
        cluster.holdDisk("c")
        cluster.act("a") { $0.campaign(isTransfer: false) }
        cluster.act("b") { $0.campaign(isTransfer: false) }
        cluster.settle()
        #expect(cluster["a"].role != .leader && cluster["b"].role != .leader)
        cluster.releaseDisk("c")
        cluster.network = []
        cluster.elect("b")
        #expect(cluster["b"].isLeader && cluster["b"].term == 2)
    }

    @Test func `in the pre-vote phase no term is raised unless a majority would vote (9_6)`() throws {
        let cluster = try led()
        cluster.isolate("c")
        for _ in 0..<20 {
            cluster.forgetLeader()
            cluster.campaign("c")
            cluster.settle()
        }
        #expect(cluster["c"].term == 1)
        cluster.heal()
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["c"].role == .follower && cluster["c"].leader == TestCluster.id("a"))
        #expect(cluster["a"].isLeader && cluster["a"].term == 1, "the return of the server disturbs nobody")
    }

    @Test func `a leader steps down if an election timeout passes without a majority (6_2)`() throws {
        let cluster = try led()
        cluster.isolate("a")
        for _ in 0..<20 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(cluster["a"].role == .follower || cluster["a"].role == .preCandidate)
        #expect(cluster["a"].term == 1 && cluster["a"].leader == nil)
        let error = #expect(throws: RaftError.self) { try cluster.propose("a", "x") }
        #expect(error?.code == .notLeader)
    }

    @Test func `a leader that a majority answers stays (6_2)`() throws {
        let cluster = try led()
        cluster.isolate("c")
        for _ in 0..<50 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(cluster["a"].isLeader)
    }

    // MARK: Replication

    @Test func `an entry is committed once a majority has it, and followers hear of it (3_5)`() throws {
        let cluster = try led()
        let range = try cluster.propose("a", "x")
        #expect(cluster["a"].commitIndex < range.upperBound)
        cluster.settle()
        for name in ["a", "b", "c"] { #expect(cluster.commands(name) == ["x"]) }
    }

    @Test func `a minority commits nothing (3_5)`() throws {
        let cluster = try led()
        cluster.isolate("a")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a").isEmpty)
    }

    @Test func `slow or crashed followers are served until they have everything (3_5)`() throws {
        let cluster = try led()
        cluster.crash("c")
        for text in ["x", "y", "z"] {
            try cluster.propose("a", text)
            cluster.settle()
        }
        #expect(cluster.commands("a") == ["x", "y", "z"])
        try cluster.restart("c")
        cluster.tick("a")
        cluster.settle()
        #expect(cluster.commands("c") == ["x", "y", "z"])
    }

    @Test func `a follower rejects an append whose predecessor it lacks (3_5)`() throws {
        let cluster = try led()
        cluster.step(
            cluster.message(
                from: "a", to: "b", .append(previousIndex: 7, previousTerm: 1, commitIndex: 9, entries: [])))
        #expect(
            cluster.underWay(from: "b", to: "a") == [.appendRejected(previousIndex: 7, hintIndex: 1, hintTerm: 1)])
        #expect(cluster["b"].commitIndex == 1)
    }

    @Test func `commit follows only as far as the append has compared the logs (figure 3_1, step 5)`() throws {
        let cluster = try three()
        let old = (UInt64(1)...3).map { Entry(index: $0, term: 1, kind: .empty, payload: []) }
        cluster.step(
            cluster.message(
                from: "b", to: "c", term: 1, .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: old)))
        // The new leader has 1 in common and says that 3 is committed, which need not be the 3 that is here.
        cluster.step(
            cluster.message(
                from: "a", to: "c", term: 2, .append(previousIndex: 1, previousTerm: 1, commitIndex: 3, entries: [])))
        #expect(cluster["c"].commitIndex == 1)
        #expect(cluster["c"].lastIndex == 3, "what was not contradicted stays")
    }

    /// Figure 3.6: followers with missing and with extraneous entries.
    @Test(arguments: [
        [1, 1, 1, 4, 4, 5, 5, 6, 6], [1, 1, 1, 4], [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 6],
        [1, 1, 1, 4, 4, 5, 5, 6, 6, 6, 7, 7], [1, 1, 1, 4, 4, 4, 4], [1, 1, 1, 2, 2, 2, 3, 3, 3, 3, 3],
    ])
    func `the leader brings every follower's log to its own (figure 3_6)`(terms: [UInt64]) throws {
        func log(_ terms: [UInt64]) -> TestDisk {
            var disk = TestDisk()
            var save = RaftOutput.Save(number: 1)
            save.hardState = HardState(term: 7)
            save.snapshot = SnapshotMark(
                index: 0, term: 0,
                membership: GroupMembership(voters: ["a", "b", "c"].map { TestCluster.id($0) }))
            save.entries = terms.enumerated().map {
                Entry(index: UInt64($0.offset) + 1, term: $0.element, kind: .command, payload: [])
            }
            disk.write(save)
            return disk
        }
        let cluster = try three()
        for (name, terms) in [("a", [1, 1, 1, 4, 4, 5, 5, 6, 6, 6]), ("b", terms), ("c", [1, 1, 1])] {
            let disk = log(terms)
            try cluster.add(name, start: .restored(disk.restored(appliedIndex: 0)), disk: disk)
        }
        cluster.elect("a")
        #expect(cluster["a"].isLeader)
        cluster.tick("a")
        cluster.settle()
        #expect(cluster.server("b").disk.entries == cluster.server("a").disk.entries)
        #expect(cluster["b"].commitIndex == 11)
    }

    @Test func `a rejection skips a whole term (3_5)`() throws {
        let cluster = try three()
        let common = [Entry(index: 1, term: 1, kind: .empty, payload: [])]
        func give(_ name: String, from: String, term: UInt64) {
            let rest = (UInt64(2)...30).map { Entry(index: $0, term: term, kind: .empty, payload: []) }
            cluster.step(
                cluster.message(
                    from: from, to: name, term: term,
                    .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: common + rest)))
        }
        give("b", from: "c", term: 2)
        give("c", from: "b", term: 2)
        give("a", from: "b", term: 3)
        cluster.network = []
        var appends = 0
        cluster.onOutput = { _, output in
            appends += output.messages.count {
                if case .append = $0.body { $0.to == TestCluster.id("c") } else { false }
            }
        }
        cluster.elect("a")
        // b and c are in term 2 and hear of term 3 by the first campaign.
        if !cluster["a"].isLeader { cluster.elect("a") }
        #expect(cluster["c"].lastIndex == 31 && cluster["c"].log.term(at: 30) == 3)
        // The probe at 30, the one at 1 after 29 entries of term 2 were skipped, and the news of the commit.
        #expect(appends <= 4)
    }

    @Test func `appends are pipelined up to the in-flight bound (10_2_2)`() throws {
        var configuration = RaftConfiguration()
        configuration.inflightMessagesMax = 3
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        for text in ["1", "2", "3", "4", "5"] { try cluster.propose("a", text) }
        #expect(cluster.underWay(from: "a", to: "b").count == 3, "three leave without an answer, the rest waits")
        cluster.settle()
        #expect(cluster.commands("b") == ["1", "2", "3", "4", "5"])
    }

    @Test func `bytes under way are bounded too`() throws {
        var configuration = RaftConfiguration()
        configuration.inflightBytesMax = 300
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        for _ in 0..<5 { _ = try cluster.act("a") { try $0.propose([[UInt8](repeating: 0, count: 86)]) } }
        #expect(cluster.underWay(from: "a", to: "b").count == 2)
        cluster.settle()
        #expect(cluster["b"].commitIndex == 6)
    }

    @Test func `everything proposed in a turn leaves as one append`() throws {
        let cluster = try led()
        cluster.act("a") { core in
            _ = try? core.propose([[1]])
            _ = try? core.propose([[2], [3]])
        }
        let sent = cluster.underWay(from: "a", to: "b")
        #expect(sent.count == 1)
        guard case .append(_, _, _, let entries)? = sent.first else {
            Issue.record("no append: \(sent)")
            return
        }
        #expect(entries.map(\.payload) == [[1], [2], [3]])
    }

    @Test func `the leader may commit before its own disk has written (10_2_1)`() throws {
        let cluster = try led()
        cluster.holdDisk("a")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster["a"].commitIndex == 2, "the two followers are a majority")
        #expect(cluster.commands("a").isEmpty, "but it applies only what it has on disk")
        #expect(cluster.commands("b").isEmpty || cluster.commands("b") == ["x"])
        cluster.releaseDisk("a")
        #expect(cluster.commands("a") == ["x"])
    }

    @Test func `where followers need not hear of commits at once, the next append or heartbeat tells`() throws {
        var configuration = RaftConfiguration()
        configuration.tellsCommitsAtOnce = false
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a") == ["x"], "the leader answers as soon as ever")
        #expect(cluster.commands("b").isEmpty, "nothing was sent for the commit alone")
        try cluster.propose("a", "y")
        cluster.settle()
        #expect(cluster.commands("b") == ["x"], "the append of y has told of x")
        for _ in 0..<configuration.heartbeatTicks { cluster.act("a") { $0.tick() } }
        cluster.settle()
        #expect(cluster.commands("b") == ["x", "y"])
        #expect(cluster.commands("c") == ["x", "y"])
    }

    // MARK: Transfer, reads, membership, snapshots

    @Test func `leadership is handed over to a server that has caught up (3_10)`() throws {
        let cluster = try led()
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("b")) }
        let error = #expect(throws: RaftError.self) { try cluster.propose("a", "x") }
        #expect(error?.code == .transferring)
        cluster.settle()
        #expect(cluster["b"].isLeader && cluster["b"].term == 2)
        #expect(cluster["a"].role == .follower && cluster["a"].leader == TestCluster.id("b"))
    }

    @Test func `the target of a transfer first gets what it lacks (3_10)`() throws {
        let cluster = try led()
        cluster.isolate("b")
        try cluster.propose("a", "x")
        cluster.settle()
        cluster.heal()
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("b")) }
        #expect(!cluster.underWay(from: "a", to: "b").contains(.timeoutNow))
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["b"].isLeader)
        #expect(cluster.commands("b") == ["x"])
    }

    @Test func `a transfer that fails is given up after an election timeout (3_10)`() throws {
        let cluster = try led()
        cluster.crash("b")
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("b")) }
        for _ in 0..<10 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(cluster["a"].isLeader)
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a") == ["x"])
    }

    @Test func `a read waits for a round of heartbeats that began after it (6_4)`() throws {
        let cluster = try led()
        cluster.tick("a")
        let before = cluster.network
        cluster.network = []
        try cluster.act("a") { try $0.readIndex(7) }
        let round = cluster.network
        cluster.network = before
        cluster.settle()
        #expect(cluster.server("a").reads.isEmpty, "older heartbeats' answers confirm nothing")
        cluster.network = round
        cluster.settle()
        #expect(cluster.server("a").reads == [RaftOutput.ReadState(token: 7, index: 1)])
    }

    @Test func `all reads of a turn share one round`() throws {
        let cluster = try led()
        cluster.act("a") { core in for token in UInt64(1)...50 { try? core.readIndex(token) } }
        #expect(cluster.underWay(from: "a", to: "b").count == 1)
        cluster.settle()
        #expect(cluster.server("a").reads.count == 50)
    }

    @Test func `a new leader answers reads only after committing an entry of its term (6_4)`() throws {
        let cluster = try led()
        try cluster.propose("a", "x")
        cluster.settle()
        cluster.forgetLeader()
        cluster.campaign("b")
        cluster.deliver { if case .preVote = $0.body { true } else { false } }
        cluster.deliver { if case .preVoteReply = $0.body { true } else { false } }
        cluster.deliver { if case .vote = $0.body { true } else { false } }
        cluster.deliver { if case .voteReply = $0.body { true } else { false } }
        #expect(cluster["b"].isLeader && !cluster["b"].isEstablished)
        try cluster.act("b") { try $0.readIndex(1) }
        cluster.deliver { if case .heartbeat = $0.body { true } else { false } }
        cluster.deliver { if case .heartbeatReply = $0.body { true } else { false } }
        #expect(cluster.server("b").reads.isEmpty)
        cluster.settle()
        #expect(cluster.server("b").reads == [RaftOutput.ReadState(token: 1, index: 3)])
    }

    @Test func `reads of a leader that is deposed fail`() throws {
        let cluster = try led()
        cluster.isolate("a")
        try cluster.act("a") { try $0.readIndex(3) }
        cluster.step(cluster.message(from: "b", to: "a", term: 9, .higherTerm))
        #expect(cluster.server("a").failedReads == [3] && cluster.server("a").reads.isEmpty)
    }

    @Test func `a membership is in force as soon as it is in the log (4_1)`() throws {
        let cluster = try led()
        try cluster.add("d", start: .join)
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(TestCluster.id("d"))) }
        #expect(cluster["a"].membership.learners == [TestCluster.id("d")])
        cluster.settle()
        #expect(cluster["d"].membership == cluster["a"].membership)
        #expect(cluster["d"].lastIndex == cluster["a"].lastIndex)
        let index = try cluster.act("a") { try $0.proposeMembership(.promote(TestCluster.id("d"))) }
        cluster.isolate("b", "c")
        cluster.settle()
        #expect(cluster["a"].commitIndex < index, "two of four are no majority")
        cluster.heal()
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["a"].commitIndex == index)
    }

    @Test func `a learner does not count and does not campaign (4_2_1)`() throws {
        let cluster = try led()
        try cluster.add("d", start: .join)
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(TestCluster.id("d"))) }
        cluster.settle()
        cluster.isolate("b", "c")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a").isEmpty)
        cluster.tick("d", 100)
        #expect(cluster["d"].role == .follower)
    }

    @Test func `only one membership change is under way (4_1)`() throws {
        let cluster = try led()
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(TestCluster.id("d"))) }
        let error = #expect(throws: RaftError.self) {
            try cluster.act("a") { try $0.proposeMembership(.remove(TestCluster.id("c"))) }
        }
        #expect(error?.code == .membershipChangeInProgress)
        cluster.settle()
        _ = try cluster.act("a") { try $0.proposeMembership(.remove(TestCluster.id("c"))) }
    }

    @Test func `no membership changes before an entry of the own term is committed`() throws {
        let cluster = try three()
        cluster.forgetLeader()
        cluster.loses = { if case .append = $0.body { true } else { false } }
        cluster.elect("a")
        #expect(cluster["a"].isLeader)
        let error = #expect(throws: RaftError.self) {
            try cluster.act("a") { try $0.proposeMembership(.addLearner(TestCluster.id("d"))) }
        }
        #expect(error?.code == .termNotCommitted)
    }

    @Test func `changes that make no sense or cost the majority are refused`() throws {
        let cluster = try led()
        func code(_ change: MembershipChange) -> RaftError.Code? {
            #expect(throws: RaftError.self) { try cluster.act("a") { try $0.proposeMembership(change) } }?.code
        }
        #expect(code(.addLearner(TestCluster.id("b"))) == .alreadyMember)
        #expect(code(.promote(TestCluster.id("b"))) == .unknownServer)
        #expect(code(.remove(TestCluster.id("x"))) == .unknownServer)
        #expect(code(.addLearner(TestCluster.id(String(repeating: "x", count: 256)))) == .invalidServer)
        cluster.crash("c")
        for _ in 0..<30 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(code(.remove(TestCluster.id("b"))) == .quorumWouldBeLost)
        #expect(cluster["a"].lastIndex == 1, "a refused change leaves nothing behind")
        _ = try cluster.act("a") { try $0.proposeMembership(.remove(TestCluster.id("c"))) }
    }

    @Test func `a follower behind the compacted log gets a snapshot and goes on from there (5)`() throws {
        let cluster = try led()
        cluster.crash("c")
        try cluster.propose("a", "x", "y")
        cluster.settle()
        cluster.takeSnapshot("a")
        try cluster.propose("a", "z")
        cluster.settle()
        try cluster.restart("c")
        cluster.tick("a")
        cluster.settle()
        let offer = try #require(cluster.server("c").offer)
        #expect(offer.mark.index == 3 && offer.from == TestCluster.id("a"))
        #expect(cluster["c"].lastIndex == 1, "nothing changes before the data is installed")
        cluster.install("c")
        cluster.settle()
        #expect(cluster.commands("c") == ["z"], "what the snapshot holds does not come out as entries")
        #expect(cluster["c"].commitIndex == 4)
        #expect(cluster.server("c").disk.snapshot?.index == 3)
        #expect(cluster.server("c").disk.entries.map(\.index) == [4])
    }

    @Test func `a snapshot that could not be installed is offered again`() throws {
        let cluster = try led()
        cluster.crash("c")
        try cluster.propose("a", "x")
        cluster.settle()
        cluster.takeSnapshot("a")
        try cluster.restart("c")
        cluster.tick("a")
        cluster.settle()
        let mark = try #require(cluster.server("c").offer).mark
        cluster.act("c") { $0.snapshotInstallFailed(mark) }
        cluster.settle()
        #expect(cluster["c"].installing == nil, "not without a pause")
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["c"].installing?.mark == mark)
        cluster.install("c")
        cluster.settle()
        #expect(cluster["c"].commitIndex == cluster["a"].commitIndex)
    }

    @Test func `entries that left memory are fetched from disk for a follower`() throws {
        var configuration = RaftConfiguration()
        configuration.windowBytesMax = 200
        configuration.appendBytesMax = 200
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        cluster.isolate("c")
        let texts = (0..<20).map { "\($0)" }
        for text in texts {
            try cluster.propose("a", text)
            cluster.settle()
        }
        #expect(cluster["a"].log.windowFirstIndex > 10)
        var fetches = 0
        cluster.onOutput = { _, output in fetches += output.fetches.count }
        cluster.heal()
        cluster.tick("a")
        cluster.settle()
        #expect(cluster.commands("c") == texts)
        #expect(fetches > 3)
    }
}
