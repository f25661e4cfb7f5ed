import ChatModel
import Testing

@testable import Swim

@Suite struct IncarnationBoundTests {
    private static func member(_ name: String) throws -> GossipMember {
        GossipMember(
            node: try #require(NodeID(name)), gossipAddress: try #require(GossipAddress("127.0.0.1:\(name.utf8.count)"))
        )
    }

    private func membership(_ name: String, incarnation: UInt64 = 1_000) throws -> GossipMembership {
        var membership = GossipMembership(
            try Self.member(name), incarnation: incarnation, now: .zero, randomSeed: 1)
        membership.believe(incarnationsUpTo: 2_000, now: 1_000)
        return membership
    }

    private func record(_ name: String, _ incarnation: UInt64, _ status: GossipRecord.Status) throws -> GossipRecord {
        GossipRecord(member: try Self.member(name), incarnation: incarnation, status: status)
    }

    @Test func `accusations that nobody could answer are not believed`() throws {
        let (a, bb) = (try Self.member("a").node, try Self.member("bb").node)
        var membership = try membership("a")
        membership.merge([try record("bb", 1_000, .alive)], now: .zero)
        let from = try Self.member("ccc").gossipAddress
        for incarnation in [2_001, 1 << 62] as [UInt64] {
            membership.receive(
                [
                    .suspect(incarnation: incarnation, a, by: bb), .dead(incarnation: incarnation, a, by: bb),
                    .suspect(incarnation: incarnation, bb, by: a), .dead(incarnation: incarnation, bb, by: bb),
                ], from: from, now: .zero)
        }
        let beyond = 2_001 + GossipMembership.refutationSlack
        for incarnation in [beyond, 1 << 62] {
            for status in [.alive, .suspect, .dead, .left] as [GossipRecord.Status] {
                for name in ["a", "bb", "dddd"] {
                    membership.merge([try record(name, incarnation, status)], now: .zero)
                }
            }
        }
        #expect(membership.incarnation == 1_000)
        #expect(Set(membership.alive.map(\.node)) == [a, bb])
        #expect(membership.memberCounts == [.alive: 2])
        #expect(membership.refusedIncarnations == 32)
    }

    @Test func `who is accused in the highest that is believed can answer, and the answer is believed`() throws {
        let (a, bb) = (try Self.member("a").node, try Self.member("bb").node)
        var (accused, other) = (try membership("a"), try membership("bb"))
        other.merge([try record("a", 1_000, .alive)], now: .zero)
        let from = try Self.member("ccc").gossipAddress
        let news = GossipMessage.dead(incarnation: 2_000, a, by: bb)
        accused.receive([news], from: from, now: .zero)
        other.receive([news], from: from, now: .zero)
        #expect(accused.incarnation == 2_001)
        #expect(other.memberCounts[.dead] == 1)
        other.merge(accused.records, now: .zero)
        #expect(other.memberCounts == [.alive: 2])
    }

    @Test func `who began with a wrong clock goes on with the right one`() throws {
        var membership = try membership("a", incarnation: 1 << 50)
        #expect(membership.incarnation == 1_000)
        membership.believe(incarnationsUpTo: 3_000, now: 2_000)
        #expect(membership.incarnation == 1_000)
    }
}
