import ChatModel
import NodeLinkCore
import Testing

@Suite struct ClusterReachTests {
    private static let names = ["a", "b", "c", "d"].compactMap { NodeID($0) }
    private let a = names[0]
    private let b = names[1]
    private let c = names[2]
    private let d = names[3]
    private let listed = Set(names)

    /// Node a looks once a second, and c says each time which nodes it misses.
    private func look(
        _ reach: inout ClusterReach, reached: Set<NodeID>, cMisses: Set<NodeID>?, from first: UInt64, to last: UInt64
    ) {
        for now in stride(from: first, through: last, by: 1_000) {
            if let cMisses { reach.note(c, unreached: cMisses, listed: listed, at: now) }
            reach.look(listed: listed, reached: reached, at: now)
        }
    }

    @Test func `who reaches a node that this one has missed for four seconds reaches more`() {
        var reach = ClusterReach(own: a)
        look(&reach, reached: [c, d], cMisses: [], from: 0, to: 3_000)
        #expect(reach.unreached == [b] && reach.reachedByOthers == [b])
        #expect(reach.reachingMore.isEmpty)
        look(&reach, reached: [c, d], cMisses: [], from: 4_000, to: 4_000)
        #expect(reach.reachingMore == [c], "d has said nothing")
        #expect(reach.reachingFewer.isEmpty)
        look(&reach, reached: [b, c, d], cMisses: [], from: 5_000, to: 5_000)
        #expect(reach.reachingMore.isEmpty && reach.reachedByOthers.isEmpty)
        look(&reach, reached: [c, d], cMisses: [], from: 6_000, to: 9_000)
        #expect(reach.reachingMore.isEmpty, "it begins anew")
    }

    @Test func `a node that all miss makes nobody better`() {
        var reach = ClusterReach(own: a)
        look(&reach, reached: [c, d], cMisses: [b], from: 0, to: 60_000)
        #expect(reach.reachingMore.isEmpty && reach.reachingFewer.isEmpty && reach.reachedByOthers.isEmpty)
    }

    @Test func `others are missed alike when each misses another one`() {
        var reach = ClusterReach(own: a)
        look(&reach, reached: [c, d], cMisses: [d], from: 0, to: 60_000)
        #expect(reach.reachingMore.isEmpty && reach.reachingFewer.isEmpty)
    }

    @Test func `who reaches fewer is in doubt for half a minute longer`() {
        var reach = ClusterReach(own: a)
        look(&reach, reached: [b, c, d], cMisses: [b], from: 0, to: 3_000)
        #expect(reach.reachingFewer.isEmpty)
        look(&reach, reached: [b, c, d], cMisses: [b], from: 4_000, to: 10_000)
        #expect(reach.reachingFewer == [c])
        look(&reach, reached: [b, c, d], cMisses: [], from: 11_000, to: 39_000)
        #expect(reach.reachingFewer == [c])
        look(&reach, reached: [b, c, d], cMisses: [], from: 40_000, to: 40_000)
        #expect(reach.reachingFewer.isEmpty)
    }

    @Test func `a word holds for five seconds`() {
        var reach = ClusterReach(own: a)
        look(&reach, reached: [c, d], cMisses: [], from: 0, to: 4_000)
        look(&reach, reached: [c, d], cMisses: nil, from: 5_000, to: 8_000)
        #expect(reach.reachingMore == [c])
        look(&reach, reached: [c, d], cMisses: nil, from: 9_000, to: 9_000)
        #expect(reach.reachingMore.isEmpty)
    }

    @Test func `nothing is kept of nodes that are not listed`() throws {
        let stranger = try #require(NodeID("x"))
        var reach = ClusterReach(own: a)
        reach.note(stranger, unreached: [], listed: listed, at: 0)
        reach.note(c, unreached: [stranger], listed: listed, at: 0)
        reach.look(listed: listed, reached: [c, d, stranger], at: 0)
        reach.note(c, unreached: [stranger], listed: listed, at: 4_000)
        reach.look(listed: listed, reached: [c, d, stranger], at: 4_000)
        #expect(reach.reachingMore == [c])
        // A node that was taken out is missed by nobody.
        reach.look(listed: [a, c, d], reached: [c, d], at: 4_000)
        #expect(reach.unreached.isEmpty && reach.reachingMore.isEmpty)
    }

    @Test func `who is not reached takes nothing over`() {
        var reach = ClusterReach(own: a)
        look(&reach, reached: [c, d], cMisses: [], from: 0, to: 4_000)
        look(&reach, reached: [d], cMisses: nil, from: 5_000, to: 5_000)
        #expect(reach.reachingMore.isEmpty)
    }
}
