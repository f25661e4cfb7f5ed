import Foundation
import Testing
import WaitTestKit

extension IntegrationTests {
    /// Nodes that know of each other by gossip.
    @Suite struct GossipTests {
        private static func node(_ id: String, seeds: [String] = [], key: Character = "a") async throws -> TestNode {
            let node = try TestNode(["nodeId": id, "link": ["port": 0, "seeds": seeds], "shards": 1])
            var keys = TestNode.keys
            keys["cluster"] = [["secret": String(repeating: key, count: 32)]]
            try node.write(keys, to: node.keysPath, mode: 0o600)
            try await node.create()
            try await node.start()
            return node
        }

        /// What a node says of all, by their IDs.
        private static func states(_ node: TestNode) async throws -> [String: String] {
            let nodes = try await node.api("GET", "/v1/cluster").fields()["nodes"] as? [[String: Any]] ?? []
            return Dictionary(
                nodes.map { ($0["id"] as? String ?? "", $0["state"] as? String ?? "") }
            ) { first, _ in first }
        }

        private static func wait(_ node: TestNode, until expected: [String: String]) async throws {
            try await poll("\(expected)") { try await states(node) == expected }
        }

        @Test func `nodes with one key and a seed see each other, and who stops has left`() async throws {
            let first = try await Self.node("n1")
            let port = try #require(first.linkPort)
            let stranger = try await Self.node("n3", seeds: ["127.0.0.1:\(port)"], key: "b")
            let second = try await Self.node("n2", seeds: ["127.0.0.1:\(port)"])
            for node in [first, second] { try await Self.wait(node, until: ["n1": "alive", "n2": "alive"]) }
            #expect(try await first.metric("chatroom_gossip_members{", labels: #"state="alive""#) == 2)
            #expect(try await Self.states(stranger) == ["n3": "alive"])
            #expect(try await second.stop()?.status == 0)
            try await Self.wait(first, until: ["n1": "alive", "n2": "left"])
            #expect(try await first.metric("chatroom_gossip_members{", labels: #"state="left""#) == 1)
            await first.kill()
            await stranger.kill()
        }

        @Test func `who has another cluster key is told no cluster`() async throws {
            let first = try await Self.node("n1")
            let port = try #require(first.linkPort)
            let stranger = try TestNode(["nodeId": "n3", "link": ["port": 0, "seeds": ["127.0.0.1:\(port)"]]])
            var keys = TestNode.keys
            keys["cluster"] = [["secret": String(repeating: "b", count: 32)]]
            try stranger.write(keys, to: stranger.keysPath, mode: 0o600)
            let refused = try Program("chatroomd", ["--config", stranger.configPath])
            let line = try await refused.errorLine { $0.contains("no seed answers yet") }
            #expect(line?.contains("this node has none of its cluster keys") == true)
            refused.signal(SIGKILL)
            _ = try await refused.ended()
            await first.kill()
        }

        @Test func `seeds need a cluster key, and a key must be long enough`() async throws {
            let node = try TestNode(["link": ["port": 0, "seeds": ["127.0.0.1:1"]]])
            try await node.create()
            let refused = try await Program("chatroomd", ["--config", node.configPath]).ended()
            #expect(refused.status != 0 && refused.errors.contains("link.seeds needs a cluster key"))
            var keys = TestNode.keys
            keys["cluster"] = [["secret": String(repeating: "a", count: 31)]]
            try node.write(keys, to: node.keysPath, mode: 0o600)
            let short = try await Program("chatroomd", ["--config", node.configPath]).ended()
            #expect(short.status != 0 && short.errors.contains("at least 32 bytes"))
        }
    }
}
