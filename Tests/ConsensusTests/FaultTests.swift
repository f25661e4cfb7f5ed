import ChatModel
import Testing

@testable import Consensus

/// Faults that other engines had, each as the schedule that showed it.
@Suite struct FaultTests {
    private func led(_ names: [String] = ["a", "b", "c"], configuration: RaftConfiguration = .testing) throws
        -> TestCluster
    {
        let cluster = try TestCluster(names, configuration: configuration)
        cluster.elect("a")
        #expect(cluster["a"].isLeader)
        return cluster
    }

    private func entry(_ index: UInt64, _ term: UInt64, _ text: String = "") -> Entry {
        Entry(index: index, term: term, kind: .command, payload: Array(text.utf8))
    }

    @Test func `figure 8, an entry of an old term on a majority is not committed and may be replaced`() throws {
        // One entry per append and one append at a time, so that the old entry can travel alone.
        var configuration = RaftConfiguration()
        configuration.appendBytesMax = 1
        configuration.inflightMessagesMax = 1
        let cluster = try led(["a", "b", "c", "d", "e"], configuration: configuration)
        let (a, b, c) = (TestCluster.id("a"), TestCluster.id("b"), TestCluster.id("c"))
        // (a) a leads and replicates A to b only.
        cluster.loses = { $0.from == a && $0.to != b }
        try cluster.propose("a", "A")
        cluster.settle()
        let indexA = cluster["a"].lastIndex
        #expect(cluster["b"].lastIndex == indexA && cluster["c"].lastIndex < indexA)
        // (b) a crashes; e is elected by c and d and puts B at the same index, for itself alone.
        cluster.crash("a")
        cluster.loses = { message in
            if case .append = message.body { true } else { message.to == b || message.from == b }
        }
        cluster.elect("e")
        try cluster.propose("e", "B")
        cluster.settle()
        #expect(cluster["e"].isLeader && cluster["e"].term == 2)
        // (c) e crashes; a is back, elected in term 3, and copies A to c: a, b and c have it, a majority.
        cluster.crash("e")
        try cluster.restart("a")
        cluster.heal()
        cluster.network = []
        // Its first campaign only tells it of term 2.
        cluster.elect("a")
        cluster.forgetLeader()
        cluster.campaign("a")
        while cluster["c"].lastIndex < indexA, !cluster.network.isEmpty {
            let message = cluster.network.removeFirst()
            if message.body.isElection || message.from == c || message.to == c { cluster.step(message) }
        }
        #expect(cluster["a"].isLeader && cluster["a"].term == 3)
        #expect(cluster["c"].log.term(at: indexA) == 1 && cluster["c"].lastIndex == indexA)
        cluster.step(cluster.message(from: "b", to: "a", .appendAccepted(matchIndex: indexA)))
        cluster.step(cluster.message(from: "c", to: "a", .appendAccepted(matchIndex: indexA)))
        #expect(cluster["a"].peers.filter { [b, c].contains($0.id) }.allSatisfy { $0.match == indexA })
        #expect(cluster["a"].commitIndex < indexA, "three of five have it, and still it is not committed")
        // (d) a crashes again; e wins with its newer last term and replaces A everywhere. Nobody had applied it.
        cluster.network = []
        cluster.crash("a")
        try cluster.restart("e")
        cluster.heal()
        cluster.elect("e")
        // Term 3 was a's; the first campaign only brings e up to it.
        if !cluster["e"].isLeader { cluster.elect("e") }
        #expect(cluster["e"].isLeader)
        try cluster.restart("a")
        for _ in 0..<3 {
            cluster.tick("e")
            cluster.settle()
        }
        for name in ["a", "b", "c", "d", "e"] { #expect(cluster.commands(name) == ["B"], "\(name)") }
        #expect(cluster["a"].log.term(at: indexA) == 2)
    }

    @Test func `figure 8 (e), the old entry is committed by one of the own term after it`() throws {
        let cluster = try led()
        cluster.loses = { if case .append = $0.body { $0.to == TestCluster.id("c") } else { false } }
        cluster.holdDisk("a")
        try cluster.propose("a", "A")
        cluster.deliver { if case .append = $0.body { true } else { false } }
        cluster.network = []
        cluster.crash("a")
        cluster.elect("b")
        #expect(cluster["b"].isLeader && cluster["b"].commitIndex == 1)
        cluster.heal()
        cluster.tick("b")
        cluster.settle()
        #expect(cluster["b"].commitIndex == 3 && cluster.commands("c") == ["A"])
    }

    // MARK: Promises and disks

    @Test func `an ack leaves only when the entries are on disk`() throws {
        let cluster = try led()
        cluster.holdDisk("b")
        cluster.holdDisk("c")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster["b"].lastIndex == 2 && cluster["a"].commitIndex == 1)
        cluster.releaseDisk("b")
        cluster.settle()
        #expect(cluster["a"].commitIndex == 2)
    }

    @Test func `a leader counts its own copy only when it is on disk`() throws {
        let cluster = try led()
        cluster.isolate("c")
        cluster.holdDisk("a")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster["a"].commitIndex == 1, "b has it, and a's disk does not")
        cluster.releaseDisk("a")
        #expect(cluster["a"].commitIndex == 2)
    }

    @Test func `a vote leaves only when it is on disk`() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        cluster.holdDisk("b")
        cluster.step(cluster.message(from: "a", to: "b", term: 1, .vote(lastIndex: 0, lastTerm: 0, isTransfer: false)))
        #expect(cluster.network.isEmpty)
        cluster.releaseDisk("b")
        #expect(cluster.underWay(from: "b", to: "a") == [.voteReply(granted: true)])
    }

    @Test func `a candidate asks for votes only when its term, vote and log are on disk`() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        cluster.holdDisk("a")
        let entries = [entry(1, 1)]
        cluster.step(
            cluster.message(
                from: "c", to: "a", term: 1,
                .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: entries)))
        cluster.act("a") { $0.campaign(isTransfer: false) }
        #expect(cluster.network.isEmpty)
        #expect(cluster["a"].role == .candidate && cluster["a"].votes.isEmpty)
        cluster.releaseDisk("a")
        #expect(cluster.underWay(from: "a", to: "b") == [.vote(lastIndex: 1, lastTerm: 1, isTransfer: false)])
        #expect(
            cluster.underWay(from: "a", to: "c").allSatisfy { $0.isElection }, "the ack of the older term is void")
    }

    @Test func `after a failed write no index and term is used for another entry`() throws {
        let cluster = try led()
        cluster.holdDisk("a")
        try cluster.propose("a", "x")
        // b has x at (2, 1); a's write fails before anything else is heard.
        cluster.deliver { $0.to == TestCluster.id("b") }
        cluster.network = []
        cluster.act("a") { $0.persistFailed() }
        #expect(cluster["a"].role == .follower && cluster["a"].isHalted)
        #expect(throws: RaftError.self) { try cluster.propose("a", "y") }
        cluster.tick("a", 100)
        cluster.step(cluster.message(from: "b", to: "a", .appendAccepted(matchIndex: 2)))
        cluster.step(cluster.message(from: "b", to: "a", term: 8, .vote(lastIndex: 9, lastTerm: 7, isTransfer: true)))
        cluster.act("a") { $0.persisted(save: 3) }
        #expect(cluster["a"].commitIndex == 1 && cluster["a"].term == 1, "nothing that was not synced counts, ever")
        // It handed over rather than let everybody wait; whoever leads does so in another term.
        cluster.settle()
        let leader = try #require(["b", "c"].first { cluster[$0].isLeader })
        #expect(cluster[leader].term == 2)
        cluster.crash("a")
        try cluster.restart("a")
        cluster.tick(leader)
        cluster.settle()
        #expect(cluster.server("a").disk.entries == cluster.server(leader).disk.entries)
    }

    @Test func `a sole voter that failed to write leads again only in a new term`() throws {
        let cluster = try TestCluster(["a"])
        cluster.holdDisk("a")
        try cluster.propose("a", "x")
        cluster.act("a") { $0.persistFailed() }
        cluster.crash("a")
        try cluster.restart("a")
        #expect(cluster["a"].term == 2 && cluster.commands("a").isEmpty)
        try cluster.propose("a", "y")
        #expect(cluster["a"].log.term(at: 3) == 2)
    }

    @Test func `a replaced entry's late write does not vouch for its successor`() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        cluster.holdDisk("c")
        func append(_ from: String, term: UInt64, _ entries: [Entry]) {
            cluster.step(
                cluster.message(
                    from: from, to: "c", term: term,
                    .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: entries)))
        }
        append("a", term: 2, [entry(1, 2, "x")])
        append("b", term: 3, [entry(1, 3, "y")])
        append("a", term: 4, [entry(1, 2, "x")])
        #expect(cluster.server("c").unsynced.count == 3)
        cluster.act("c") { $0.persisted(save: 2) }
        #expect(cluster["c"].persistedIndex == 0, "x was written, then overwritten, and is not back yet")
        #expect(!cluster.network.contains { $0.term == 4 })
        cluster.act("c") { $0.persisted(save: 4) }
        #expect(cluster["c"].persistedIndex == 1)
        #expect(cluster.underWay(from: "c", to: "a") == [.appendAccepted(matchIndex: 1)])
    }

    @Test func `a server that lost its disk is another server`() throws {
        let cluster = try led()
        try cluster.propose("a", "x")
        cluster.settle()
        // c comes back empty under the same node name. What it says must not count for the c that had acked.
        let reborn = TestCluster.id("c", store: 2)
        var core = try RaftGroup(id: reborn, group: TestCluster.group, start: .join, randomSeed: 9)
        core.step(
            cluster.message(from: "b", to: "c", term: 5, .vote(lastIndex: 9, lastTerm: 4, isTransfer: false)))
        #expect(core.takeOutput().messages.isEmpty, "it was meant for the old store")
        for _ in 0..<100 { core.tick() }
        #expect(core.takeOutput().messages.isEmpty, "it does not campaign")
        cluster.isolate("b")
        try cluster.propose("a", "y")
        cluster.network = []
        let index = cluster["a"].lastIndex
        cluster.step(
            RaftMessage(
                group: TestCluster.group, from: reborn, to: TestCluster.id("a"), term: 1,
                body: .appendAccepted(matchIndex: index)))
        #expect(cluster["a"].commitIndex < index)
        // It may only come in as a learner, and is not promoted before it has everything.
        cluster.heal()
        cluster.tick("a")
        cluster.settle()
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(reborn)) }
        cluster.settle()
        let error = #expect(throws: RaftError.self) {
            try cluster.act("a") { try $0.proposeMembership(.promote(reborn)) }
        }
        #expect(error?.code == .notCaughtUp)
    }

    // MARK: Old and wrong messages

    @Test func `an append before the committed or compacted point changes nothing`() throws {
        let cluster = try led()
        try cluster.propose("a", "x", "y", "z")
        cluster.settle()
        cluster.tick("a")
        cluster.settle()
        cluster.takeSnapshot("b")
        #expect(cluster["b"].firstIndex == 5)
        let before = cluster.server("b").disk
        let forged = (UInt64(1)...3).map { entry($0, 1, "forged") }
        cluster.step(
            cluster.message(
                from: "a", to: "b", .append(previousIndex: 0, previousTerm: 0, commitIndex: 1, entries: forged)))
        #expect(cluster["b"].lastIndex == 4 && cluster["b"].commitIndex == 4)
        #expect(cluster.server("b").disk.entries == before.entries)
        #expect(cluster.underWay(from: "b", to: "a") == [.appendAccepted(matchIndex: 4)])
        // One that begins before the point and ends after it adds what is new.
        let longer = forged + [entry(4, 1, "forged"), entry(5, 1, "new")]
        cluster.step(
            cluster.message(
                from: "a", to: "b", .append(previousIndex: 0, previousTerm: 0, commitIndex: 1, entries: longer)))
        #expect(cluster["b"].lastIndex == 5)
        #expect(cluster.server("b").disk.entries.map(\.payload) == [Array("new".utf8)])
    }

    @Test func `an old append does not cut off entries that came after it`() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        func append(_ count: UInt64) {
            let entries = (UInt64(1)...count).map { entry($0, 1) }
            cluster.step(
                cluster.message(
                    from: "a", to: "b", term: 1,
                    .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: entries)))
        }
        append(3)
        append(1)
        #expect(cluster["b"].lastIndex == 3 && cluster.server("b").disk.entries.count == 3)
    }

    @Test func `the commit index does not go back on late heartbeats and appends`() throws {
        let cluster = try led()
        try cluster.propose("a", "x", "y")
        cluster.settle()
        let commit = cluster["b"].commitIndex
        #expect(commit == 3)
        cluster.step(cluster.message(from: "a", to: "b", .heartbeat(commitIndex: 1, readRound: 0)))
        #expect(cluster["b"].commitIndex == commit)
        cluster.step(
            cluster.message(from: "a", to: "b", .append(previousIndex: 3, previousTerm: 1, commitIndex: 0, entries: []))
        )
        #expect(cluster["b"].commitIndex == commit)
    }

    @Test func `a reply of an old term is not taken for a new one`() throws {
        let cluster = try led()
        cluster.loses = { if case .append = $0.body { true } else { false } }
        try cluster.propose("a", "x")
        cluster.settle()
        cluster.act("a") { $0.becomeFollower(term: 5, leader: nil) }
        cluster.elect("a")
        #expect(cluster["a"].isLeader && cluster["a"].term == 6)
        let index = cluster["a"].lastIndex
        cluster.step(cluster.message(from: "b", to: "a", term: 1, .appendAccepted(matchIndex: index)))
        #expect(cluster["a"].commitIndex < index)
        #expect(cluster["a"].peers.allSatisfy { $0.match == 0 })
        cluster.step(cluster.message(from: "b", to: "a", term: 6, .appendAccepted(matchIndex: index + 1)))
        #expect(cluster["a"].peers.allSatisfy { $0.match == 0 }, "nor an ack of what does not exist")
    }

    @Test func `votes of an old term do not elect`() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        cluster.act("a") { $0.campaign(isTransfer: false) }
        cluster.act("a") { $0.campaign(isTransfer: false) }
        #expect(cluster["a"].term == 2)
        cluster.step(cluster.message(from: "b", to: "a", term: 1, .voteReply(granted: true)))
        #expect(cluster["a"].role == .candidate)
        cluster.step(cluster.message(from: "b", to: "a", term: 2, .voteReply(granted: true)))
        #expect(cluster["a"].isLeader)
    }

    @Test func `two leaders of one term cannot be; the second is ignored`() throws {
        let cluster = try led()
        cluster.step(
            cluster.message(
                from: "c", to: "a", term: 1,
                .append(previousIndex: 0, previousTerm: 0, commitIndex: 9, entries: [entry(1, 1)])))
        #expect(cluster["a"].isLeader && cluster["a"].ignoredInputs == 1)
        cluster.step(cluster.message(from: "c", to: "b", term: 1, .heartbeat(commitIndex: 9, readRound: 0)))
        #expect(cluster["b"].leader == TestCluster.id("a"))
    }

    @Test func `appends that no leader can have sent are dropped whole`() throws {
        let cluster = try led()
        let bad: [[Entry]] = [
            [entry(3, 1)], [entry(2, 1), entry(4, 1)], [entry(2, 2)], [entry(2, 0)],
            [Entry(index: 2, term: 1, kind: .membership, payload: [7, 7])],
        ]
        for entries in bad {
            cluster.step(
                cluster.message(
                    from: "a", to: "b", .append(previousIndex: 1, previousTerm: 1, commitIndex: 1, entries: entries)))
        }
        cluster.step(
            cluster.message(
                from: "a", to: "b",
                .append(previousIndex: .max, previousTerm: 1, commitIndex: .max, entries: [entry(0, 1)])))
        #expect(cluster["b"].ignoredInputs == 6)
        #expect(cluster["b"].lastIndex == 1)
    }

    // MARK: Membership

    @Test func `a membership in the middle of a batch is rolled back with its own entry`() throws {
        let cluster = try TestCluster(["a", "b", "c"])
        let base = cluster["c"].membership
        let changed = GroupMembership(voters: base.voters, learners: [TestCluster.id("d")])
        let batch = [
            entry(1, 1, "x"), entry(2, 1, "y"),
            Entry(index: 3, term: 1, kind: .membership, payload: changed.encoded()), entry(4, 1, "z"),
        ]
        cluster.step(
            cluster.message(
                from: "a", to: "c", term: 1, .append(previousIndex: 0, previousTerm: 0, commitIndex: 0, entries: batch))
        )
        #expect(cluster["c"].membership == changed && cluster["c"].memberships.currentIndex == 3)
        // Cutting after it keeps it; cutting at it restores the one before.
        cluster.step(
            cluster.message(
                from: "b", to: "c", term: 2,
                .append(previousIndex: 3, previousTerm: 1, commitIndex: 0, entries: [entry(4, 2)])))
        #expect(cluster["c"].membership == changed)
        cluster.step(
            cluster.message(
                from: "a", to: "c", term: 3,
                .append(previousIndex: 2, previousTerm: 1, commitIndex: 0, entries: [entry(3, 3)])))
        #expect(cluster["c"].membership == base && cluster["c"].lastIndex == 3)
        cluster.crash("c")
        try cluster.restart("c")
        #expect(cluster["c"].membership == base)
    }

    @Test func `a membership entry is found again after a restart`() throws {
        let cluster = try led()
        try cluster.propose("a", "x")
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(TestCluster.id("d"))) }
        try cluster.propose("a", "y")
        cluster.settle()
        cluster.crash("c")
        try cluster.restart("c")
        #expect(cluster["c"].membership.learners == [TestCluster.id("d")])
        #expect(cluster["c"].memberships.currentIndex == 3)
    }

    @Test func `a learner is not promoted before it has caught up`() throws {
        var configuration = RaftConfiguration()
        configuration.promotionLagEntriesMax = 2
        let cluster = try led(configuration: configuration)
        let d = TestCluster.id("d")
        try cluster.add("d", start: .join)
        _ = try cluster.act("a") { try $0.proposeMembership(.addLearner(d)) }
        cluster.isolate("d")
        cluster.settle()
        func promotion() -> RaftError.Code? {
            do {
                _ = try cluster.act("a") { try $0.proposeMembership(.promote(d)) }
                return nil
            } catch {
                return (error as? RaftError)?.code
            }
        }
        #expect(promotion() == .notCaughtUp, "it has nothing")
        cluster.heal()
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["d"].lastIndex == cluster["a"].lastIndex)
        cluster.isolate("d")
        for text in ["x", "y", "z"] {
            try cluster.propose("a", text)
            cluster.settle()
        }
        #expect(promotion() == .notCaughtUp, "it is three behind, two are allowed")
        cluster.heal()
        cluster.tick("a")
        cluster.settle()
        #expect(promotion() == nil)
    }

    @Test func `a leader does not remove itself, it hands over first`() throws {
        let cluster = try led()
        let a = TestCluster.id("a")
        let error = #expect(throws: RaftError.self) { try cluster.act("a") { try $0.proposeMembership(.remove(a)) } }
        #expect(error?.code == .leaderCannotLeave)
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("b")) }
        cluster.settle()
        _ = try cluster.act("b") { try $0.proposeMembership(.remove(a)) }
        cluster.settle()
        cluster.tick("b")
        cluster.settle()
        #expect(cluster["b"].membership.voters.count == 2 && cluster["b"].isLeader)
        #expect(!cluster["a"].membership.contains(a), "it learns that it has left")
        #expect(cluster["b"].peers.map(\.id) == [TestCluster.id("c")], "and is then left alone")
    }

    @Test func `a removed server learns of it when it is committed and not before`() throws {
        // Otherwise, with two voters: b alone has the entry by which b may not lead, and its longer log stops a.
        let cluster = try led(["a", "b"])
        cluster.holdDisk("a")
        _ = try cluster.act("a") { try $0.proposeMembership(.remove(TestCluster.id("b"))) }
        cluster.settle()
        #expect(cluster["b"].lastIndex == 1)
        cluster.crash("a")
        try cluster.restart("a")
        cluster.elect("a")
        #expect(cluster["a"].isLeader)
    }

    @Test func `a removed server does not disturb`() throws {
        let cluster = try led()
        cluster.isolate("c")
        _ = try cluster.act("a") { try $0.proposeMembership(.remove(TestCluster.id("c"))) }
        cluster.settle()
        cluster.heal()
        // c does not know and campaigns, even with a vote request proper, in a much higher term.
        for _ in 0..<5 {
            cluster.campaign("c")
            cluster.settle()
        }
        for name in ["a", "b"] {
            cluster.step(
                cluster.message(
                    from: "c", to: name, term: 50, .vote(lastIndex: 99, lastTerm: 49, isTransfer: false)))
        }
        cluster.settle()
        #expect(cluster["a"].isLeader && cluster["a"].term == 1)
        #expect(cluster["b"].leader == TestCluster.id("a") && cluster["b"].term == 1)
    }

    // MARK: Snapshots

    @Test func `a follower is not stuck when a newer snapshot replaced the one under way`() throws {
        let cluster = try led()
        cluster.crash("c")
        try cluster.propose("a", "x")
        cluster.settle()
        cluster.takeSnapshot("a")
        try cluster.restart("c")
        cluster.tick("a")
        cluster.settle()
        #expect(cluster.server("c").offer?.mark.index == 2)
        // While c is installing, the leader goes on, takes the next snapshot and compacts beyond the first.
        try cluster.propose("a", "y")
        cluster.settle()
        cluster.takeSnapshot("a")
        #expect(cluster["a"].firstIndex == 4)
        cluster.install("c")
        cluster.settle()
        #expect(cluster.server("c").offer?.mark.index == 3, "the newer one is offered without any waiting")
        cluster.install("c")
        cluster.settle()
        try cluster.propose("a", "z")
        cluster.settle()
        #expect(cluster.commands("c") == ["z"])
    }

    @Test func `a follower is not stuck when what was under way is compacted`() throws {
        var configuration = RaftConfiguration()
        configuration.inflightMessagesMax = 2
        let cluster = try led(configuration: configuration)
        cluster.isolate("c")
        for text in ["x", "y", "z"] {
            try cluster.propose("a", text)
            cluster.settle()
        }
        cluster.takeSnapshot("a")
        cluster.heal()
        // Its window is full of appends that were lost, and the log before it is gone.
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["c"].installing != nil)
    }

    @Test func `an offer that was lost is repeated`() throws {
        let cluster = try led()
        cluster.crash("c")
        try cluster.propose("a", "x")
        cluster.settle()
        cluster.takeSnapshot("a")
        try cluster.restart("c")
        cluster.loses = { if case .snapshot = $0.body { true } else { false } }
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["c"].installing == nil)
        cluster.heal()
        for _ in 0..<10 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(cluster["c"].installing?.mark.index == 2)
    }

    @Test func `a crash between the host's write and the log's is repaired at start`() throws {
        let cluster = try led()
        cluster.crash("c")
        try cluster.propose("a", "x", "y")
        cluster.settle()
        cluster.takeSnapshot("a")
        try cluster.restart("c")
        cluster.tick("a")
        cluster.settle()
        let mark = try #require(cluster.server("c").offer).mark
        // The host has written the snapshot's data; the core never heard of it.
        cluster.crash("c")
        let disk = cluster.server("c").disk
        #expect(disk.lastIndex == 1)
        try cluster.add("c", start: .restored(disk.restored(appliedIndex: mark.index, snapshot: mark)), disk: disk)
        #expect(cluster["c"].commitIndex == 3 && cluster.server("c").disk.entries.isEmpty)
        try cluster.propose("a", "z")
        // The leader waits for the installation until it offers the snapshot again.
        for _ in 0..<10 {
            cluster.tick("a")
            cluster.settle()
        }
        #expect(cluster.commands("c") == ["z"])
    }

    @Test func `a mark inside the log is saved after the entry that it names`() throws {
        // c is installing a snapshot of 4 when it gets those very entries from the log after all.
        let cluster = try led()
        cluster.isolate("c")
        try cluster.propose("a", "x", "y", "z")
        cluster.settle()
        let mark = try #require(cluster["a"].snapshotMark(at: 4))
        cluster.heal()
        cluster.step(cluster.message(from: "a", to: "c", .snapshot(mark)))
        let entries = cluster.server("a").disk.entries
        var core = cluster["c"]
        core.step(
            cluster.message(
                from: "a", to: "c", .append(previousIndex: 0, previousTerm: 0, commitIndex: 4, entries: entries)))
        core.snapshotInstalled(mark)
        let first = core.takeOutput()
        #expect(first.save?.entries.map(\.index) == [2, 3, 4] && first.save?.snapshot == nil)
        let second = core.takeOutput()
        #expect(second.save?.snapshot == mark && second.save?.replacesLog == false)
        core.persisted(save: try #require(second.save).number)
        let last = core.takeOutput()
        #expect(last.committed.isEmpty, "the state has them already")
        #expect(last.messages.map(\.body) == [.appendAccepted(matchIndex: 4)])
    }

    @Test func `a state that was put in place counts also when nobody waits for it any more`() throws {
        // c has begun to take a snapshot of 4; its core was made anew meanwhile, and the transfer went on.
        let cluster = try led()
        cluster.isolate("c")
        try cluster.propose("a", "x", "y", "z")
        cluster.settle()
        let mark = try #require(cluster["a"].snapshotMark(at: 4))
        var core = cluster["c"]
        core.snapshotInstalled(mark)
        let entries = cluster.server("a").disk.entries
        core.step(
            cluster.message(
                from: "a", to: "c", .append(previousIndex: 0, previousTerm: 0, commitIndex: 4, entries: entries)))
        var committed: [UInt64] = []
        for _ in 0..<4 {
            let output = core.takeOutput()
            committed += output.committed.map(\.index)
            if let save = output.save { core.persisted(save: save.number) }
        }
        #expect(committed.isEmpty, "the state has them already")
    }

    @Test func `the term of a state that was put in place is saved with it`() throws {
        // Of a leader that c has not heard of; a log on disk must not begin in a later term than the disk knows.
        let cluster = try led()
        var core = cluster["c"]
        let known = core.term
        let mark = SnapshotMark(index: 9, term: known + 3, membership: core.membership)
        core.snapshotInstalled(mark)
        let save = try #require(core.takeOutput().save)
        #expect(save.snapshot == mark && save.hardState == HardState(term: known + 3))
        // A crash came before the save: the state is there, and the log is not.
        let restored = try RaftGroup(
            id: core.id, group: TestCluster.group,
            start: .restored(
                RestoredLog(hardState: HardState(term: known + 3), snapshot: mark, appliedIndex: 9)), randomSeed: 1)
        var again = restored
        #expect(try #require(again.takeOutput().save).hardState == HardState(term: known + 3))
    }

    @Test func `nothing is handed out while the state is being replaced`() throws {
        let cluster = try led()
        cluster.isolate("c")
        try cluster.propose("a", "x", "y")
        cluster.settle()
        let mark = try #require(cluster["a"].snapshotMark(at: 3))
        cluster.heal()
        cluster.step(cluster.message(from: "a", to: "c", .snapshot(mark)))
        #expect(cluster["c"].installing?.mark == mark)
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["c"].commitIndex == 3 && cluster.commands("c").isEmpty)
        cluster.act("c") { $0.snapshotInstallFailed(mark) }
        #expect(cluster.commands("c") == ["x", "y"], "the state is the old one, and the entries are here")
    }

    // MARK: Proposals

    @Test func `a proposal of a deposed leader is decided exactly once, by the entry at its index`() throws {
        let cluster = try led()
        cluster.isolate("a")
        let lost = try cluster.propose("a", "lost")
        cluster.settle()
        cluster.elect("b")
        try cluster.propose("b", "other")
        cluster.settle()
        cluster.heal()
        cluster.tick("b")
        cluster.settle()
        let atIndex = cluster.server("a").committed.filter { $0.index == lost.lowerBound }
        #expect(atIndex.count == 1 && atIndex.first?.term == 2, "another term: it is lost, and only now is that known")
        #expect(cluster.commands("a") == ["other"])
    }

    @Test func `a proposal that outlives its leader's term is reported once, as itself`() throws {
        let cluster = try led()
        let kept = try cluster.propose("a", "kept")
        cluster.deliver { $0.to == TestCluster.id("b") }
        cluster.network = []
        cluster.isolate("a")
        cluster.elect("b")
        cluster.heal()
        cluster.tick("b")
        cluster.settle()
        for name in ["a", "b", "c"] {
            let atIndex = cluster.server(name).committed.filter { $0.index == kept.lowerBound }
            #expect(atIndex.count == 1 && atIndex.first?.term == 1)
        }
    }
}

extension RaftMessage.Body {
    /// Part of an election.
    var isElection: Bool {
        switch self {
        case .preVote, .preVoteReply, .vote, .voteReply: true
        default: false
        }
    }
}
