import ChatModel
import RoomLink
import Testing

@testable import Node

@Suite struct ShardLeadersTests {
    private let node: NodeID
    private let notice = ShardNotice(shard: ShardID(3), term: 5)

    init() throws { node = try #require(NodeID("n2")) }

    /// A gateway loop that begins now is told all there is.
    private func tell(_ leaders: ShardLeaders, _ open: inout OpenCalls) {
        leaders.repeatAll { node, notice, isHeard in
            _ = open.leads(node, notice.shard, term: notice.term)
            if !isHeard { open.doubts(node, notice.shard, term: notice.term, at: 0) }
        }
    }

    @Test func `a gateway that begins while a leader is doubted asks it as soon as it is heard again`() {
        let leaders = ShardLeaders()
        leaders.leads(node, notice)
        let wasKnown = leaders.note(node, notice, isHeard: false)
        var open = OpenCalls()
        tell(leaders, &open)
        #expect(wasKnown && open.leader(of: notice.shard) == nil)
        // That it is heard again is told to gateways as the end of the doubt, not as a new leadership.
        let isKnown = leaders.note(node, notice, isHeard: true)
        _ = open.trusts(node, notice.shard, term: notice.term)
        #expect(isKnown && open.leader(of: notice.shard)?.node == node)
    }

    @Test func `a gateway that begins is told of leaders that are heard, and not of those that were lost`() {
        let leaders = ShardLeaders()
        let lost = ShardNotice(shard: ShardID(4), term: 1)
        leaders.leads(node, notice)
        leaders.leads(node, lost)
        leaders.lost(node, lost.shard)
        var open = OpenCalls()
        tell(leaders, &open)
        #expect(open.leader(of: notice.shard)?.term == 5 && open.leader(of: lost.shard) == nil)
    }
}
