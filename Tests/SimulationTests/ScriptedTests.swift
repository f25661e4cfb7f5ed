import Consensus
import Simulation
import Testing

/// Schedules that chance seldom makes, in the cluster with its rooms, disks and reconcilers.
struct ScriptedTests {
    /// Figure 8 of the Raft paper with three servers. The leader of an old term has entries alone (a), another one of a
    /// later term has others alone (b), the first is elected again and copies the old ones to a majority (c), and still
    /// they are not committed: the second is elected once more and replaces them (d).
    @Test(arguments: 1...20 as ClosedRange<UInt64>)
    func `figure 8, entries of an old term on a majority are not committed and are replaced`(seed: UInt64) throws {
        let simulation = ClusterSimulation(nodes: 3, seed: seed)
        let group = GroupID(0)
        let others = { (one: Int) in (0..<3).filter { $0 != one } }
        func core(_ number: Int) throws -> RaftGroup { try #require(simulation.core(of: group, at: number)) }
        let isReady = simulation.run(atMost: .seconds(60)) { simulation.isAtRest }
        try #require(isReady, "seed \(seed)")

        // (a) The first one proposes more than fits one append, and only its own disk has it.
        let first = try #require(simulation.leader(of: group))
        let before = try core(first).lastIndex
        let firstID = try core(first).id
        let oldTerm = try core(first).term
        simulation.lose { $0.group == group && $0.from == firstID }
        let old = simulation.propose(40, to: group, at: first)
        #expect(
            simulation.run(atMost: .seconds(1)) {
                simulation.core(of: group, at: first).map { $0.persistedIndex >= before + 40 } == true
            }, "seed \(seed)")
        #expect(try core(first).commitIndex <= before)

        // (b) It crashes. Of the others one is elected, and what it proposes only its own disk has.
        simulation.crashNode(first)
        simulation.lose { message in
            if case .append = message.body { message.group == group } else { false }
        }
        #expect(
            simulation.run(atMost: .seconds(20)) {
                others(first).contains { simulation.core(of: group, at: $0)?.isLeader == true }
            }, "seed \(seed)")
        let second = try #require(simulation.leader(of: group))
        let third = try #require(others(first).first { $0 != second })
        let new = simulation.propose(2, to: group, at: second)
        #expect(
            simulation.run(atMost: .milliseconds(500)) {
                simulation.core(of: group, at: second).map { $0.persistedIndex >= before + 2 } == true
            }, "seed \(seed)")
        #expect(try core(second).term > oldTerm && core(third).lastIndex == before)

        // (c) It crashes, and the first one is back and elected. Its old entries travel, and nothing of its own term.
        simulation.crashNode(second)
        simulation.lose { message in
            guard case .append(let previous, _, _, let entries) = message.body, message.group == group else {
                return false
            }
            // What is to come behind all the old ones tells the leader that they are missing, as long as they are.
            let lacksOld = simulation.core(of: group, at: third).map { $0.lastIndex < before + 40 } ?? true
            return !(previous >= before + 40 && lacksOld) && entries.contains { $0.term == message.term }
        }
        simulation.startNode(first)
        let isCopied = simulation.run(atMost: .seconds(30)) {
            simulation.core(of: group, at: first)?.peerStatuses.contains { $0.matchIndex > before } == true
        }
        #expect(isCopied, "seed \(seed)")
        let copied = try core(first).peerStatuses.map(\.matchIndex).max() ?? 0
        #expect(try copied <= before + 40 && core(third).lastIndex >= copied)
        #expect(try core(first).commitIndex <= before, "two of three have it, and still it is not committed")

        // (d) It crashes, the second one is elected with its newer last term, and the old entries are gone.
        // What it has sent and nobody has got yet goes with it: it could still bring an entry of its own term.
        simulation.crashNode(first)
        simulation.lose { $0.group == group && $0.from == firstID }
        simulation.startNode(second)
        #expect(
            simulation.run(atMost: .seconds(30)) { new.allSatisfy { simulation.isApplied($0, of: group) } },
            "seed \(seed)")
        simulation.lose(nil)
        simulation.startNode(first)
        #expect(simulation.run(atMost: .seconds(60)) { simulation.isAtRest }, "seed \(seed)")
        simulation.end()
        #expect(simulation.checkers.violations == [], "seed \(seed)")
        #expect(!old.contains { simulation.isApplied($0, of: group) }, "seed \(seed)")
    }

    /// One message was enough: who believed it heard nobody any more, and who it told campaigned beyond.
    @Test(arguments: 1...5 as ClosedRange<UInt64>)
    func `messages with terms near the end of the numbers deafen no node, and the cluster goes on`(seed: UInt64) throws
    {
        let simulation = ClusterSimulation(nodes: 3, seed: seed)
        let group = GroupID(0)
        try #require(simulation.run(atMost: .seconds(60)) { simulation.isAtRest }, "seed \(seed)")
        let leader = try #require(simulation.leader(of: group))
        let ids = try (0..<3).map { try #require(simulation.core(of: group, at: $0)).id }
        for number in 0..<3 {
            let stranger = ids[(number + 1) % 3]
            for term in [1 << 62, .max, RaftGroup.termMax + 1] as [UInt64] {
                for body in [
                    .voteReply(granted: true), .higherTerm, .timeoutNow, .preVote(lastIndex: 1, lastTerm: term),
                    .vote(lastIndex: 1 << 60, lastTerm: term, isTransfer: true),
                    .heartbeat(commitIndex: .max, readRound: .max),
                    .append(previousIndex: 0, previousTerm: 0, commitIndex: .max, entries: []),
                ] as [RaftMessage.Body] {
                    simulation.inject(
                        RaftMessage(group: group, from: stranger, to: ids[number], term: term, body: body),
                        at: number)
                }
            }
            #expect(simulation.core(of: group, at: number)?.refusedTerms == 21, "seed \(seed)")
        }
        let proposals = simulation.propose(5, to: group, at: leader)
        #expect(
            simulation.run(atMost: .seconds(5)) { proposals.allSatisfy { simulation.isApplied($0, of: group) } },
            "seed \(seed)")
        #expect(simulation.leader(of: group) == leader, "seed \(seed)")
        // Over restarts and an election, too.
        simulation.crashNode(leader)
        #expect(
            simulation.run(atMost: .seconds(20)) {
                (0..<3).contains { $0 != leader && simulation.core(of: group, at: $0)?.isEstablished == true }
            }, "seed \(seed)")
        simulation.startNode(leader)
        #expect(simulation.run(atMost: .seconds(60)) { simulation.isAtRest }, "seed \(seed)")
        simulation.end()
        #expect(simulation.checkers.violations == [], "seed \(seed)")
        let terms = (0..<3).compactMap { simulation.core(of: group, at: $0)?.term }
        #expect(terms.allSatisfy { $0 < 1_000 }, "seed \(seed)")
    }
}
