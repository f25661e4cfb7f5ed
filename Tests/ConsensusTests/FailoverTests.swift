import ChatModel
import Testing

@testable import Consensus

/// How long a group is without a leader, and who takes over.
@Suite struct FailoverTests {
    private func led(_ names: [String] = ["a", "b", "c"], seed: UInt64 = 0) throws -> TestCluster {
        let cluster = try TestCluster(names, seed: seed)
        cluster.elect("a")
        #expect(cluster["a"].isEstablished)
        return cluster
    }

    private func tickAll(_ cluster: TestCluster, _ names: String..., times: Int = 1) {
        for _ in 0..<times {
            for name in names { cluster.tick(name) }
            cluster.settle()
        }
    }

    // MARK: The hint

    @Test func `when the connection to the leader ends, a follower asks within three ticks`() throws {
        let cluster = try led()
        cluster.crash("a")
        for name in ["b", "c"] { cluster.act(name) { $0.onNodeLost("a") } }
        for name in ["b", "c"] { #expect(cluster[name].role == .follower && cluster[name].term == 1) }
        tickAll(cluster, "b", "c", times: 3)
        #expect(cluster["b"].isEstablished || cluster["c"].isEstablished)
        #expect(max(cluster["b"].term, cluster["c"].term) == 2)
    }

    @Test func `nobody asks at the same time as another, and not the same one in every group`() throws {
        var pauses: [Set<Int>] = []
        for number in UInt16(0)..<4 {
            var ofGroup: Set<Int> = []
            for name in ["b", "c"] {
                let voters = ["a", "b", "c"].map { TestCluster.id($0) }
                var core = try RaftGroup(
                    id: TestCluster.id(name), group: GroupID(number),
                    start: .bootstrap(GroupMembership(voters: voters)), randomSeed: 1)
                core.leader = TestCluster.id("a")
                core.onNodeLost("a")
                ofGroup.insert(core.electionTimeout * (name == "b" ? 1 : -1))
            }
            pauses.append(ofGroup)
        }
        #expect(pauses == [[1, -3], [3, -1], [1, -3], [3, -1]])
    }

    @Test func `one follower's broken connection does not disturb a leader that the others hear`() throws {
        let cluster = try led()
        cluster.act("b") { $0.onNodeLost("a") }
        cluster.tick("b", 3)
        #expect(cluster["b"].role == .preCandidate)
        cluster.settle()
        #expect(cluster["b"].term == 1 && cluster["b"].leader == nil, "the others refuse, silently")
        #expect(cluster["a"].isLeader && cluster["c"].leader == TestCluster.id("a"))
        tickAll(cluster, "a")
        #expect(cluster["b"].role == .follower && cluster["b"].leader == TestCluster.id("a"))
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("b") == ["x"] && cluster["a"].term == 1)
    }

    @Test func `a hint that a heartbeat contradicts is forgotten, with the short timeout`() throws {
        let cluster = try led()
        cluster.act("b") { $0.onNodeLost("a") }
        cluster.tick("a")
        cluster.settle()
        #expect(cluster["b"].electionTimeout >= 10 && !cluster["b"].isLeaderDoubted)
        cluster.tick("b", 9)
        #expect(cluster["b"].role == .follower && cluster["b"].leader == TestCluster.id("a"))
        #expect(cluster["b"].hearsLeader, "and others are refused again")
    }

    @Test func `the end of a connection to anybody but the leader means nothing`() throws {
        let cluster = try led()
        let timeout = cluster["b"].electionTimeout
        cluster.act("b") { $0.onNodeLost("c") }
        cluster.act("a") { $0.onNodeLost("a") }
        #expect(cluster["b"].electionTimeout == timeout && cluster["b"].hearsLeader)
        #expect(cluster["a"].isLeader)
    }

    /// Ticks of 100 ms, each server's at another moment, timeouts of ten: the goal is a median below 15 and 30 at worst.
    @Test(arguments: [(true, 3), (true, 5), (false, 3), (false, 5)])
    func `after the death of a leader the next one commits in time`(hint: Bool, voters: Int) throws {
        var durations: [Int] = []
        for seed in UInt64(1)...30 {
            let names = Array(["a", "b", "c", "d", "e"].prefix(voters))
            let cluster = try led(names, seed: seed * 100)
            // Somewhere between two heartbeats, long after the election.
            for name in names.dropFirst() { cluster.tick(name, Int(seed % 2)) }
            cluster.crash("a")
            if hint { for name in names.dropFirst() { cluster.act(name) { $0.onNodeLost("a") } } }
            var ticks = 0
            while !names.dropFirst().contains(where: { cluster[$0].isEstablished }), ticks < 100 {
                ticks += 1
                for name in names.dropFirst() {
                    cluster.tick(name)
                    if (seed + UInt64(ticks)) % 3 != 0 { cluster.settle() }
                }
                cluster.settle()
            }
            durations.append(ticks)
        }
        durations.sort()
        print("\(voters) voters, hint \(hint): median \(durations[15]) ticks, worst \(durations.last ?? 0)")
        #expect(durations[15] <= (hint ? 3 : 15))
        #expect((durations.last ?? .max) <= (hint ? 6 : 29))
    }

    // MARK: Who may not lead

    @Test func `a replica that may not lead leaves the election to others, and votes`() throws {
        let cluster = try led()
        cluster.act("b") { $0.mayLead = false }
        cluster.crash("a")
        cluster.tick("b", 25)
        cluster.settle()
        #expect(cluster["b"].role == .follower && cluster["b"].leader == nil && cluster["b"].term == 1)
        cluster.tick("c", 20)
        cluster.settle()
        #expect(cluster["c"].isEstablished, "it got the vote of one who may not lead")
    }

    @Test func `a leadership handed to one who is stopping stays where it is, and it leads on what it has`() throws {
        let cluster = try led()
        cluster.act("b") { $0.takesLeadership = false }
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("b")) }
        cluster.settle()
        #expect(cluster["b"].role == .follower && cluster["a"].isLeader)
        tickAll(cluster, "a", times: 30)
        cluster.act("a") { $0.takesLeadership = false }
        tickAll(cluster, "a", times: 30)
        #expect(cluster["a"].isEstablished)
    }

    @Test func `a leadership that is declined stays where it is, and its leader goes on at once`() throws {
        let cluster = try led()
        // The word that it declines is lost.
        cluster.loses = { if case .heartbeatReply(readRound: 0, declines: true) = $0.body { true } else { false } }
        cluster.act("b") { $0.mayLead = false }
        cluster.settle()
        cluster.loses = { _ in false }
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("b")) }
        #expect(throws: RaftError.self) { try cluster.propose("a", "too early") }
        cluster.settle()
        #expect(cluster["b"].role == .follower && cluster["a"].isLeader && cluster["a"].transferTarget == nil)
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a") == ["x"])
    }

    @Test(arguments: [true, false])
    func `who declines is offered no leadership, until it says that it takes one`(_ isStopping: Bool) throws {
        let cluster = try led()
        let b = TestCluster.id("b")
        func isDeclining() -> Bool? { cluster["a"].peerStatuses.first { $0.id == b }?.declinesLeadership }
        cluster.act("b") { if isStopping { $0.takesLeadership = false } else { $0.mayLead = false } }
        // It says so at once: its process may be about to end.
        cluster.settle()
        #expect(isDeclining() == true)
        tickAll(cluster, "a", times: 10)
        #expect(isDeclining() == true)
        let error = #expect(throws: RaftError.self) { try cluster.act("a") { try $0.transferLeadership(to: b) } }
        #expect(error?.code == .leadershipDeclined)
        try cluster.propose("a", "x")
        cluster.act("b") { ($0.takesLeadership, $0.mayLead) = (true, true) }
        tickAll(cluster, "a", times: 10)
        #expect(isDeclining() == false)
        try cluster.act("a") { try $0.transferLeadership(to: b) }
        cluster.settle()
        #expect(cluster["b"].isEstablished && cluster.commands("b") == ["x"])
    }

    @Test func `a leader that may not lead hands over, to one that does not decline`() throws {
        let cluster = try led()
        for name in ["a", "b"] { cluster.act(name) { $0.mayLead = false } }
        tickAll(cluster, "a", times: 3)
        #expect(cluster["c"].isEstablished)
        #expect(cluster["a"].role == .follower)
    }

    @Test func `a leader that may not lead does so meanwhile where nobody takes the leadership`() throws {
        let cluster = try led()
        cluster.act("a") { $0.mayLead = false }
        // Offers are lost, and so is each word of it.
        cluster.loses = { if case .timeoutNow = $0.body { true } else { false } }
        var accepted = 0
        var offered: Set<ServerID> = []
        for turn in 0..<400 {
            tickAll(cluster, "a")
            if let target = cluster["a"].transferTarget { offered.insert(target) }
            if (try? cluster.propose("a", "x\(turn)")) != nil { accepted += 1 }
            cluster.settle()
        }
        #expect(cluster["a"].isEstablished && cluster.commands("a").count == accepted)
        #expect(offered == [TestCluster.id("b"), TestCluster.id("c")])
        #expect(accepted > 100, "more often than not it is not being handed over")
    }

    @Test func `a leader that may not lead takes every proposal where all others decline`() throws {
        let cluster = try led()
        for name in ["b", "c"] { cluster.act(name) { $0.mayLead = false } }
        tickAll(cluster, "a", times: 10)
        cluster.act("a") { $0.mayLead = false }
        for turn in 0..<200 {
            tickAll(cluster, "a")
            try cluster.propose("a", "x\(turn)")
            cluster.settle()
        }
        #expect(cluster["a"].isEstablished && cluster.commands("a").count == 200)
    }

    @Test func `the longest log leads for a moment although it may not, if nobody can win without it`() throws {
        let cluster = try led()
        cluster.act("b") { $0.mayLead = false }
        cluster.isolate("c")
        try cluster.propose("a", "x")
        cluster.settle()
        #expect(cluster.commands("a") == ["x"])
        cluster.heal()
        cluster.crash("a")
        var turns = 0
        while !cluster["c"].isEstablished, turns < 200 {
            turns += 1
            tickAll(cluster, "b", "c")
        }
        #expect(turns < 120)
        #expect(cluster.commands("c") == ["x"])
    }

    @Test func `a sole voter leads in any case`() throws {
        let cluster = try TestCluster(["a"])
        cluster.act("a") { $0.mayLead = false }
        cluster.tick("a", 50)
        #expect(cluster["a"].isLeader)
    }

    // MARK: A process that stood still

    @Test func `a leader that stood still steps down before it acks anything`() throws {
        let cluster = try led()
        cluster.holdDisk("a")
        try cluster.propose("a", "x")
        try cluster.act("a") { try $0.readIndex(1) }
        cluster.isolate("a")
        cluster.settle()
        cluster.elect("b")
        #expect(cluster["b"].isEstablished)
        cluster.act("a") { $0.clockJumped(ticks: 100) }
        #expect(cluster["a"].role == .follower && cluster["a"].leader == nil)
        #expect(cluster.server("a").failedReads == [1])
        let error = #expect(throws: RaftError.self) { try cluster.propose("a", "y") }
        #expect(error?.code == .notLeader)
        cluster.releaseDisk("a")
        #expect(cluster.commands("a") == [], "nothing is committed by what the old leader finds out")
        cluster.heal()
        tickAll(cluster, "b", times: 2)
        #expect(cluster["a"].leader == TestCluster.id("b"))
    }

    @Test func `a follower that stood still neither campaigns at once nor refuses others for the old leader`() throws {
        let cluster = try led()
        cluster.crash("a")
        cluster.act("c") { $0.clockJumped(ticks: 10) }
        cluster.tick("c", 9)
        #expect(cluster["c"].role == .follower && !cluster["c"].hearsLeader)
        cluster.campaign("b")
        cluster.settle()
        #expect(cluster["b"].isEstablished)
    }

    @Test func `a short pause counts as time, and a sole voter goes on after any`() throws {
        let cluster = try led()
        cluster.crash("b")
        cluster.crash("c")
        for _ in 0..<2 {
            cluster.act("a") { $0.clockJumped(ticks: 9) }
            #expect(cluster["a"].isLeader)
            cluster.tick("a")
        }
        #expect(cluster["a"].role == .follower, "a majority was silent for two timeouts")
        let alone = try TestCluster(["a"])
        alone.act("a") { $0.clockJumped(ticks: 1_000) }
        #expect(alone["a"].isLeader)
    }

    // MARK: A log that reaches back behind the snapshot

    @Test func `a follower behind the newest mark is served from the log while that reaches back`() throws {
        let cluster = try led()
        cluster.isolate("c")
        for text in ["1", "2", "3", "4"] {
            try cluster.propose("a", text)
            cluster.settle()
            cluster.takeSnapshot("a", keeping: 100)
        }
        #expect(cluster["a"].snapshot?.index == cluster["a"].commitIndex && cluster["a"].firstIndex == 1)
        // Also after a restart of the leader.
        cluster.crash("a")
        try cluster.restart("a")
        #expect(cluster["a"].firstIndex <= 2, "all but what may be the base of the log")
        cluster.elect("a")
        cluster.heal()
        tickAll(cluster, "a", times: 3)
        #expect(cluster.commands("c") == ["1", "2", "3", "4"])
        #expect(cluster.server("c").offer == nil, "no snapshot was needed")
    }

    // MARK: An older copy of a disk

    private func proving() throws -> TestCluster {
        var configuration = RaftConfiguration.testing
        configuration.restartProofTicks = 3 * configuration.electionTimeoutTicks
        let cluster = try TestCluster(["a", "b", "c"], configuration: configuration)
        cluster.elect("a")
        return cluster
    }

    @Test func `who was restarted has no vote until a leader has shown that its log is whole`() throws {
        let cluster = try proving()
        cluster.crash("b")
        try cluster.restart("b")
        #expect(cluster["b"].isUnproven)
        let vote = RaftMessage(
            group: TestCluster.group, from: TestCluster.id("c"), to: TestCluster.id("b"), term: 9,
            body: .vote(lastIndex: 99, lastTerm: 9, isTransfer: true))
        cluster.act("b") { $0.step(vote) }
        #expect(cluster["b"].votedFor == nil)
        cluster.act("a") { $0.peerRestarted("b") }
        cluster.settle()
        tickAll(cluster, "a", "c", times: 30)
        #expect(!cluster["b"].isUnproven)
    }

    @Test func `when all were restarted they elect a leader after a while`() throws {
        let cluster = try proving()
        for name in ["a", "b", "c"] { cluster.crash(name) }
        for name in ["a", "b", "c"] { try cluster.restart(name) }
        let ticks = cluster["a"].configuration.restartProofTicks
        tickAll(cluster, "a", "b", "c", times: ticks - 1)
        #expect(["a", "b", "c"].allSatisfy { cluster[$0].isUnproven })
        tickAll(cluster, "a", "b", "c", times: 3 * cluster["a"].configuration.electionTimeoutTicks)
        #expect(["a", "b", "c"].contains { cluster[$0].isEstablished })
    }

    @Test func `what a node had acked before it began anew is not counted`() throws {
        let cluster = try proving()
        cluster.act("a") { _ = try? $0.propose([[1]]) }
        cluster.settle()
        #expect(cluster["a"].peerStatuses.allSatisfy { $0.matchIndex == cluster["a"].lastIndex })
        cluster.act("a") { $0.peerRestarted("b") }
        #expect(cluster["a"].peerStatuses.first { $0.id == TestCluster.id("b") }?.matchIndex == 0)
        cluster.settle()
        #expect(cluster["a"].peerStatuses.allSatisfy { $0.matchIndex == cluster["a"].lastIndex })
    }

    /// Found by the simulation: the copy held an entry that a later leader had replaced, and a heartbeat to the server's
    /// former life came late. Or the leader sends one before it is told that the node has begun anew.
    @Test func `a heartbeat does not commit what an older copy of the disk holds in place of what was acked`() throws {
        let cluster = try proving()
        cluster.isolate("a")
        try cluster.propose("a", "lost")
        cluster.settle()
        let old = cluster.server("a").disk
        cluster.elect("b")
        try cluster.propose("b", "kept")
        cluster.settle()
        cluster.heal()
        tickAll(cluster, "b", times: 3)
        #expect(cluster["a"].commitIndex == cluster["b"].commitIndex)
        cluster.crash("a")
        try cluster.add("a", start: .restored(old.restored(appliedIndex: 0)), disk: old)
        let commit = cluster["b"].commitIndex
        #expect(cluster["a"].lastTerm < cluster["b"].term && cluster["a"].lastIndex <= commit)
        let before = cluster.commands("a")
        cluster.step(cluster.message(from: "b", to: "a", .heartbeat(commitIndex: commit, readRound: 0)))
        #expect(cluster["a"].commitIndex == 0 && cluster.commands("a") == before)
        cluster.act("b") { $0.peerRestarted("a") }
        cluster.settle()
        #expect(cluster["a"].commitIndex == commit)
        #expect(cluster.commands("a").last == "kept" && !cluster.commands("a").contains("lost"))
    }

    /// Found by the simulation: the leader handed over to it again and again, and took nothing meanwhile.
    @Test func `who has come back by a snapshot after which nothing comes has its log shown to be whole`() throws {
        let cluster = try proving()
        cluster.crash("c")
        try cluster.propose("a", "x", "y")
        cluster.settle()
        cluster.takeSnapshot("a")
        try cluster.restart("c")
        cluster.act("a") { $0.peerRestarted("c") }
        tickAll(cluster, "a", times: 2)
        #expect(cluster["c"].installing != nil)
        cluster.install("c")
        cluster.settle()
        #expect(cluster["c"].lastIndex == cluster["a"].lastIndex && !cluster["c"].isUnproven)
        try cluster.act("a") { try $0.transferLeadership(to: TestCluster.id("c")) }
        cluster.settle()
        #expect(cluster["c"].isLeader)
    }

    /// Found by the simulation: a leader came back with an older copy of its disk, the others' election took longer than
    /// it waits, and the one voter that had what was acked was outvoted by it.
    @Test func `who may have forgotten what it acked does not outvote a newer log that it has heard of`() throws {
        let cluster = try proving()
        cluster.crash("a")
        try cluster.restart("a")
        let own = cluster["a"].lastIndex
        let newer = RaftMessage.Body.preVote(lastIndex: own + 1, lastTerm: 1)
        let older = RaftMessage.Body.preVote(lastIndex: own, lastTerm: 1)
        let ticks = cluster["a"].configuration.restartProofTicks
        for tick in 0..<2 * ticks {
            if tick % 10 == 0 { cluster.step(cluster.message(from: "b", to: "a", newer)) }
            cluster.network = []
            cluster.tick("a")
            #expect(cluster["a"].role == .follower, "it does not ask for votes itself")
        }
        #expect(!cluster["a"].isUnproven)
        cluster.network = []
        cluster.step(cluster.message(from: "c", to: "a", older))
        #expect(cluster.underWay(from: "a", to: "c") == [.preVoteReply(granted: false)])
        cluster.step(cluster.message(from: "b", to: "a", newer))
        #expect(cluster.underWay(from: "a", to: "b") == [.preVoteReply(granted: true)])
        // When nobody boasts of the newer log any more, the group goes on without it.
        cluster.network = []
        for _ in 0..<2 * ticks where cluster["a"].role == .follower { cluster.tick("a") }
        #expect(cluster["a"].role == .preCandidate)
    }

    // MARK: Back from the loss of a majority

    /// b and c are killed; a has been without a leader for as long as the proof lasts, but for `early` ticks.
    private func alone(early: Int = 0) throws -> TestCluster {
        let cluster = try proving()
        try cluster.propose("a", "x")
        cluster.settle()
        for name in ["b", "c"] { cluster.crash(name) }
        while cluster["a"].isLeader { cluster.tick("a") }
        cluster.tick("a", cluster["a"].configuration.restartProofTicks - early)
        cluster.network = []
        return cluster
    }

    /// As hosts do it: both are told of the connection, then time passes on both.
    private func comesBack(_ name: String, to cluster: TestCluster) throws -> Int {
        try cluster.restart(name)
        cluster.act("a") { $0.peerRestarted(name) }
        cluster.settle()
        var ticks = 0
        while !cluster["a"].isEstablished, !cluster[name].isEstablished, ticks < 200 {
            ticks += 1
            tickAll(cluster, "a", name)
        }
        return ticks
    }

    @Test func `one of two killed voters comes back and has a vote after two election timeouts, not five`() throws {
        for _ in 0..<10 {
            let cluster = try alone()
            let ticks = try comesBack("b", to: cluster)
            #expect(ticks == 2 * cluster["a"].configuration.electionTimeoutTicks)
            #expect(cluster["a"].isEstablished)
        }
    }

    @Test func `where nobody has waited for long, the one that asked is answered when the whole proof's time is over`()
        throws
    {
        let cluster = try alone(early: 29)
        let ticks = try comesBack("b", to: cluster)
        #expect(ticks <= cluster["a"].configuration.restartProofTicks)
    }

    @Test func `a voter that came back with the newer log asks itself as soon as it may`() throws {
        let cluster = try proving()
        cluster.isolate("a")
        cluster.elect("b")
        try cluster.propose("b", "of b and c")
        cluster.settle()
        for name in ["b", "c"] { cluster.crash(name) }
        cluster.heal()
        cluster.tick("a", 60)
        let ticks = try comesBack("c", to: cluster)
        #expect(cluster["c"].isEstablished && ticks <= 2 * cluster["a"].configuration.electionTimeoutTicks)
        tickAll(cluster, "c")
        #expect(cluster.commands("a").contains("of b and c"))
    }

    /// a, cut off, lacks what b and c have acked; c comes back with a copy of its disk that lacks it too. As long as b is
    /// in reach of either of them, a must not win by the vote of c.
    @Test(arguments: [true, false]) func `an older copy does not elect who lacks what it had acked`(
        reachesReturned: Bool
    ) throws {
        let cluster = try proving()
        cluster.isolate("a")
        cluster.elect("b")
        let old = cluster.server("c").disk
        try cluster.propose("b", "acked")
        cluster.settle()
        #expect(cluster.commands("b") == ["acked"])
        cluster.crash("c")
        // a has waited for ever so long.
        cluster.tick("a", 100)
        cluster.network = []
        cluster.tick("b", 25)
        cluster.network = []
        #expect(!cluster["b"].isLeader)
        let (a, b, c) = (TestCluster.id("a"), TestCluster.id("b"), TestCluster.id("c"))
        let cutPair: Set<ServerID> = reachesReturned ? [a, b] : [b, c]
        cluster.loses = { cutPair == [$0.from, $0.to] }
        try cluster.add("c", start: .restored(old.restored(appliedIndex: 0)), disk: old)
        for name in ["a", "b"] where cutPair != [TestCluster.id(name), c] {
            cluster.act(name) { $0.peerRestarted("c") }
        }
        cluster.settle()
        for _ in 0..<100 {
            for name in ["a", "c", "b"] { cluster.tick(name) }
            cluster.settle()
            #expect(!cluster["a"].isLeader || cluster["a"].lastIndex >= cluster["b"].lastIndex)
            if ["a", "b", "c"].contains(where: { cluster[$0].isEstablished }) { break }
        }
        #expect(cluster["b"].isEstablished, "it alone has what was acked")
    }

    @Test func `who has come back itself, or hears a leader, vouches for nobody`() throws {
        let cluster = try proving()
        for name in ["a", "b", "c"] { cluster.crash(name) }
        try cluster.restart("a")
        cluster.tick("a", 200)
        #expect(cluster["a"].leaderlessTicks >= 200 && !cluster["a"].hasWaited)
        try cluster.restart("b")
        cluster.act("a") { $0.peerRestarted("b") }
        cluster.settle()
        cluster.tick("b", cluster["b"].configuration.restartProofTicks - 1)
        cluster.settle()
        #expect(cluster["b"].isUnproven && !cluster["b"].othersHaveWaited)

        let fresh = try alone()
        #expect(fresh["a"].hasWaited)
        fresh.step(fresh.message(from: "b", to: "a", term: 9, .heartbeat(commitIndex: 0, readRound: 0)))
        #expect(!fresh["a"].hasWaited && fresh["a"].leaderlessTicks == 0)
    }

    @Test func `a leader that has committed an entry of its term trusts its disk`() throws {
        let cluster = try proving()
        for name in ["a", "b", "c"] { cluster.crash(name) }
        for name in ["a", "b", "c"] { try cluster.restart(name) }
        cluster.tick("a", 30)
        cluster.tick("b", 30)
        cluster.network = []
        cluster.act("b") { $0.leader = nil }
        cluster.elect("a")
        #expect(cluster["a"].isEstablished && cluster["a"].isDiskTrusted)
    }
}
