import ChatModel
import Testing

@testable import NodeLinkCore

@Suite struct LinkHelloTests {
    private func hello(_ node: String, cluster: String = "c", shards: UInt32 = 16) -> LinkHello {
        LinkHello(cluster: cluster, node: Names.node(node), store: 1, boot: 1, shards: shards)
    }

    private func refusal(
        _ mine: LinkHello, _ other: LinkHello, expected: String? = nil, certified: String? = nil
    ) -> LinkError.Code? {
        do throws(LinkError) {
            _ = try mine.agree(with: other, expected: expected.map(Names.node), certified: certified.map(Names.node))
            return nil
        } catch {
            return error.code
        }
    }

    @Test func `two nodes of one cluster agree on the newest version that both speak`() throws {
        var (mine, other) = (hello("a"), hello("b"))
        (mine.oldestVersion, mine.newestVersion) = (2, 5)
        (other.oldestVersion, other.newestVersion) = (1, 4)
        #expect(try mine.agree(with: other, expected: Names.node("b"), certified: Names.node("b")) == 4)
        (other.oldestVersion, other.newestVersion) = (5, 9)
        #expect(try mine.agree(with: other, expected: nil, certified: nil) == 5)
        (other.oldestVersion, other.newestVersion) = (6, 9)
        #expect(refusal(mine, other) == .version)
        (other.oldestVersion, other.newestVersion) = (0, 1)
        #expect(refusal(mine, other) == .version)
    }

    @Test func `a program that can't do the cluster's feature level is refused by both sides`() {
        var (mine, other) = (hello("a"), hello("b"))
        (mine.level, mine.clusterLevel) = (FeatureLevel(3), FeatureLevel(2))
        #expect(refusal(mine, other) == .level)
        #expect(refusal(other, mine) == .level)
        other.level = FeatureLevel(2)
        #expect(refusal(mine, other) == nil)
        // It has not heard yet that the level was raised, and does not need to.
        other.clusterLevel = FeatureLevel(1)
        #expect(refusal(other, mine) == nil)
        // A newcomer is told before it has any data.
        var newcomer = LinkHello.newcomer(Names.node("n"))
        #expect(throws: LinkError.self) { try newcomer.understand(mine, certified: nil) }
        newcomer.level = FeatureLevel(2)
        #expect(throws: Never.self) { try newcomer.understand(mine, certified: nil) }
    }

    @Test func `another cluster, another node, another number of shards and oneself are refused`() {
        #expect(refusal(hello("a"), hello("b")) == nil)
        #expect(refusal(hello("a"), hello("b", cluster: "d")) == .cluster)
        #expect(refusal(hello("a"), hello("b", shards: 8)) == .shards)
        #expect(refusal(hello("a"), hello("a")) == .identity)
        #expect(refusal(hello("a"), hello("b"), expected: "c") == .identity)
        #expect(refusal(hello("a"), hello("b"), certified: "c") == .identity)
        #expect(refusal(hello("a"), hello("b"), expected: "b", certified: "b") == nil)
        // Two without a cluster have none in common.
        #expect(refusal(hello("a", cluster: ""), hello("b", cluster: "")) == .cluster)
    }
}
