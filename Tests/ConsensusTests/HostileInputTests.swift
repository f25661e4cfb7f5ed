import ChatModel
import Testing

@testable import Consensus

/// Whatever comes in, the core neither traps nor forgets what is committed.
@Suite struct HostileInputTests {
    @Test func `random messages never trap and never move the commit index back`() throws {
        var random = TestSeed.generator("hostile")
        for _ in 0..<60 {
            let cluster = try TestCluster(["a", "b", "c"])
            cluster.elect("a")
            try cluster.propose("a", "x", "y", "z")
            cluster.settle()
            cluster.takeSnapshot("b", keeping: UInt64(random.below(3)))
            var commits: [String: UInt64] = [:]
            for _ in 0..<150 {
                let to = ["a", "b", "c"][random.below(3)]
                cluster.step(message(to: to, &random, term: cluster[to].term))
                if random.below(4) == 0 { cluster.tick(to) }
                if random.below(10) == 0, let offer = cluster.server(to).offer {
                    if random.below(2) == 0 { cluster.install(to) }
                    cluster.act(to) { $0.snapshotInstallFailed(offer.mark) }
                }
                #expect(cluster[to].commitIndex >= commits[to] ?? 0)
                #expect(cluster[to].commitIndex <= cluster[to].lastIndex)
                commits[to] = cluster[to].commitIndex
                cluster.network = []
            }
        }
    }

    /// A peer that lies about everything but its name. What it may not lie about is what a majority vouches for,
    /// so entries and commit indices are those of a liar in a minority.
    private func message(to: String, _ random: inout SplitMix64, term: UInt64) -> RaftMessage {
        func number(_ random: inout SplitMix64) -> UInt64 {
            [0, 1, 2, 3, 4, 5, 7, .max, .max - 1, 1 << 63][random.below(10)]
        }
        let members = GroupMembership(voters: [TestCluster.id("a"), TestCluster.id("q")])
        let from = ["a", "b", "c", "q"].filter { $0 != to }[random.below(3)]
        let first = number(&random)
        let entries = (0..<random.below(4)).map { offset in
            Entry(
                index: first &+ UInt64(offset) &+ 1, term: random.below(3) == 0 ? number(&random) : term,
                kind: random.below(5) == 0 ? .membership : .command,
                payload: random.below(2) == 0 ? members.encoded() : [1, 2])
        }
        let body: RaftMessage.Body =
            switch random.below(13) {
            case 0: .preVote(lastIndex: number(&random), lastTerm: number(&random))
            case 1: .preVoteReply(granted: random.below(2) == 0)
            case 2: .vote(lastIndex: number(&random), lastTerm: number(&random), isTransfer: random.below(2) == 0)
            case 3: .voteReply(granted: random.below(2) == 0)
            case 4, 5:
                .append(
                    previousIndex: first, previousTerm: random.below(2) == 0 ? number(&random) : term,
                    commitIndex: number(&random), entries: entries)
            case 6: .appendAccepted(matchIndex: number(&random))
            case 7:
                .appendRejected(
                    previousIndex: number(&random), hintIndex: number(&random), hintTerm: number(&random))
            case 8: .heartbeat(commitIndex: number(&random), readRound: number(&random))
            case 9: .heartbeatReply(readRound: number(&random), declines: Bool.random(using: &random))
            case 10:
                .snapshot(SnapshotMark(index: number(&random), term: number(&random), membership: members))
            case 11: .snapshotFailed(index: number(&random))
            default: random.below(2) == 0 ? .timeoutNow : .higherTerm
            }
        return RaftMessage(
            group: random.below(20) == 0 ? GroupID(9) : TestCluster.group, from: TestCluster.id(from),
            to: TestCluster.id(to), term: random.below(30) == 0 ? number(&random) : term, body: body)
    }
}
