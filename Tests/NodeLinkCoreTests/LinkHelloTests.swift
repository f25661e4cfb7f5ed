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
