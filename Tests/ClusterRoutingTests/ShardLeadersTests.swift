import ChatModel
import RoomProtocol
import Rooms
import Testing
import WaitTestKit

@testable import ClusterRouting

@Suite struct ShardLeadersTests {
    private let node: NodeID
    private let notice = ShardNotice(shard: ShardID(3), term: 5)

    init() throws { node = try #require(NodeID("n2")) }

    /// A gateway loop that begins now is told all there is.
    private func notify(_ leaders: ShardLeaders, _ open: inout OpenRequests) {
        leaders.repeatAll { node, notice, isHeard in
            _ = open.onLeader(node, notice.shard, term: notice.term)
            if !isHeard { open.onLeaderSuspected(node, notice.shard, term: notice.term, at: 0) }
        }
    }

    @Test func `a gateway that begins while a leader is doubted asks it as soon as it is heard again`() {
        let leaders = ShardLeaders()
        leaders.onLeader(node, notice)
        let wasKnown = leaders.note(node, notice, isHeard: false)
        var open = OpenRequests()
        notify(leaders, &open)
        #expect(wasKnown && open.leader(of: notice.shard) == nil)
        // That it is heard again is told to gateways as the end of the doubt, not as a new leadership.
        let isKnown = leaders.note(node, notice, isHeard: true)
        _ = open.onLeaderConfirmed(node, notice.shard, term: notice.term)
        #expect(isKnown && open.leader(of: notice.shard)?.node == node)
    }

    @Test func `a gateway that begins is told of leaders that are heard, and not of those that were lost`() {
        let leaders = ShardLeaders()
        let lost = ShardNotice(shard: ShardID(4), term: 1)
        leaders.onLeader(node, notice)
        leaders.onLeader(node, lost)
        leaders.onNodeLost(node, lost.shard)
        var open = OpenRequests()
        notify(leaders, &open)
        #expect(open.leader(of: notice.shard)?.term == 5 && open.leader(of: lost.shard) == nil)
    }

    // MARK: - Waiting for a leader

    /// Far enough away for no test to reach it.
    private var never: ContinuousClock.Instant { .now + .seconds(600) }

    /// Waits for a leader, and lets it become known when somebody waits.
    private func wait(_ leaders: ShardLeaders, for event: () -> Void) async throws {
        let former = leaders.leader(of: notice.shard)
        async let change: Void = leaders.change(of: notice.shard, since: former, until: never)
        try await poll("somebody waits") { leaders.waiterCount == 1 }
        event()
        await change
        #expect(leaders.waiterCount == 0)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a call that waits for a leader goes on when one becomes known, the same one or another`() async throws {
        let leaders = ShardLeaders()
        try await wait(leaders) { leaders.onLeader(node, notice) }
        try await wait(leaders) { leaders.onLeaderStill(node, ShardNotice(shard: notice.shard, term: 6)) }
        leaders.onNodeLost(node)
        try await wait(leaders) { leaders.onLeader(node, notice) }
        _ = leaders.note(node, notice, isHeard: false)
        try await wait(leaders) { _ = leaders.note(node, notice, isHeard: true) }
        #expect(leaders.leader(of: notice.shard).node == node)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a leader that became known before the wait began is no reason to wait`() async {
        let leaders = ShardLeaders()
        let former = leaders.leader(of: notice.shard)
        leaders.onLeader(node, notice)
        await leaders.change(of: notice.shard, since: former, until: never)
        #expect(leaders.waiterCount == 0)
    }

    @Test(.timeLimit(.minutes(1)))
    func `a wait ends at its deadline, not with the leader of another shard, nor with one that was heard before`()
        async throws
    {
        let leaders = ShardLeaders()
        leaders.onLeader(node, notice)
        let former = leaders.leader(of: notice.shard)
        let deadline = ContinuousClock.now + .milliseconds(50)
        async let change: Void = leaders.change(of: notice.shard, since: former, until: deadline)
        try await poll("somebody waits, or has waited") { leaders.waiterCount == 1 || ContinuousClock.now >= deadline }
        leaders.onLeader(node, ShardNotice(shard: ShardID(4), term: 9))
        _ = leaders.note(node, notice, isHeard: true)
        await change
        #expect(ContinuousClock.now >= deadline && leaders.waiterCount == 0)
    }
}
