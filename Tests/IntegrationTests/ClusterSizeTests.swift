import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Clusters that get more nodes and fewer.
    @Suite struct ClusterSizeTests {
        @Test func `one node becomes three under load, and the first one is drained`() async throws {
            try await TestCluster.run(3, shards: 2) { cluster in
                let (first, others) = (cluster.nodes[0], Array(cluster.nodes[1...]))
                try await cluster.start(1)
                let room = try await cluster.room("grown")
                let ledger = try await Ledger(cluster, room)
                try await ledger.run { ledger in
                    try await cluster.start(others)
                    try await ledger.acks(10)
                    #expect(await ledger.viewers[0].reconnects == 0)
                    try await cluster.drain(first)
                    try await poll("the clients of n1 are elsewhere") { await ledger.viewers[0].reconnects == 1 }
                    try await ledger.acks(10)
                }
                #expect(await ledger.writers[0].unannouncedEnds == 0)
                #expect(await ledger.viewers[0].unannouncedEnds == 0)
                #expect(try await first.api("POST", "/v1/cluster/nodes/n9/drain").status == 404)
            }
        }

        /// A configuration that was copied, with the ID in it.
        @Test func `an empty process with the ID of a node that runs waits until that one is gone`() async throws {
            try await TestCluster.run(3, shards: 2) { cluster in
                try await cluster.start(3)
                let room = try await cluster.room("twins")
                let ann = try await TestClient.entered(cluster.nodes[1], "ann", room)
                let seeds = cluster.nodes.compactMap { $0.linkPort.map { "127.0.0.1:\($0)" } }
                let twin = try TestNode(["nodeId": "n2", "shards": 2, "link": ["port": 0, "seeds": seeds]])
                var keys = TestNode.keys
                keys["cluster"] = [["secret": TestCluster.secret]]
                try twin.write(keys, to: twin.keysPath, mode: 0o600)
                let program = try Program("chatroomd", ["--config", twin.configPath])
                defer { program.signal(SIGKILL) }
                let line = try await program.errorLine { $0.contains("no seed answers yet") }
                #expect(
                    line?.contains("it is connected to another process with this node's ID") == true, "\(line ?? "")")
                // The node is as it was, and so is its data.
                _ = try await ann.send(room, "still here")
                try await cluster.settled()
                await cluster.nodes[1].kill()
                #expect(try await program.errorLine { $0.contains("joining a cluster") } != nil)
            }
        }

        /// A node that joins hears of the level after its start.
        @Test func `nodes that have just joined write what the cluster's level brings`() async throws {
            try await TestCluster.run(3, shards: 1) { cluster in
                try await cluster.start(3)
                let room = try await cluster.room("joined")
                let ann = try await TestClient.entered(cluster.nodes[0], "ann", room)
                _ = try await ann.send(room, "hello")
                try await cluster.settled()
                for node in cluster.nodes {
                    let directory = node.dataPath + "/shards/0"
                    try await poll("\(cluster.name(of: node)) has written its history in the newest format") {
                        let names = try FileManager.default.contentsOfDirectory(atPath: directory)
                        guard let name = names.first(where: { $0.hasPrefix("history-") && $0.hasSuffix(".sqlite") })
                        else { return false }
                        // https://www.sqlite.org/fileformat.html#the_database_header
                        let head = FileManager.default.contents(atPath: directory + "/" + name) ?? Data()
                        return head.count > 63 && head[60..<64].elementsEqual([0, 0, 0, 4])
                    }
                }
            }
        }

        @Test func `of five nodes two die together: shards that keep a majority go on, the others wait for it`()
            async throws
        {
            try await TestCluster.run(5, shards: 8) { cluster in
                try await cluster.start(5)
                let shards = try await cluster.shards()
                let pair = try #require(Self.pair(shards), "\(shards)")
                let dying = try pair.map { try cluster.node($0) }
                let alive = cluster.nodes.filter { node in !dying.contains { $0 === node } }
                let going = try await Self.room(cluster) { Set($0.replicas).intersection(pair).count == 1 }
                let stuck = try await Self.room(cluster) { Set($0.replicas).isSuperset(of: pair) }
                let ann = try await TestClient.entered(alive[0], "ann", stuck)
                let before = try await ann.send(stuck, "before", clientID: "before")
                try await Ledger(cluster, going, at: alive).run { ledger in
                    for node in dying { node.signal(SIGKILL) }
                    for node in dying { await node.kill() }
                    try await ledger.acks(10)
                    let refused = try await ann.refusal(of: .text(stuck, "stuck", clientID: "stuck"))
                    #expect(refused.code == .unavailable)
                    try await Self.expectServing(alive, shards: 8)
                    // Its disk alone may have what was acked.
                    let kept = try await alive[0].api("POST", "/v1/cluster/nodes/\(pair[0])/remove")
                    #expect(kept.status == 409 && kept.body.contains("may have the only copy"), "\(kept)")
                    try await dying[0].start()
                    let mended = try await retrying("a send") { try await ann.send(stuck, "stuck", clientID: "stuck") }
                    #expect(mended.place == .kept(seq: 2))
                    try await ledger.acks(10)
                }
                let again = try await ann.send(stuck, "before", clientID: "before")
                #expect(again == before)
                #expect(try await ann.wholeHistory(stuck).compactMap(\.text) == ["before", "stuck"])
            }
        }

        /// A load balancer takes out none of these; that shards have no leader is told by the cluster's health.
        private static func expectServing(_ alive: [TestNode], shards: Int) async throws {
            for node in alive {
                try await poll("the health of the cluster") {
                    let health = try await node.api("GET", "/v1/cluster/health").fields()
                    let nodes = health["nodes"] as? [String: Any]
                    guard let leaderless = health["withoutLeader"] as? Int, leaderless > 0, leaderless < shards,
                        let incomplete = health["underReplicated"] as? Int, incomplete >= leaderless
                    else { return false }
                    return health["shards"] as? Int == shards && nodes?["alive"] as? Int == alive.count
                        && nodes?["dead"] as? Int == 2 && (nodes?["versions"] as? [String])?.count == 1
                }
                let ready = try await node.api("GET", "/readyz", bearer: nil)
                #expect(ready.status == 200, "\(ready)")
            }
        }

        /// Two nodes of which some shards have both, and some have one.
        private static func pair(_ shards: [TestCluster.ShardPlace]) -> [String]? {
            let names = Set(shards.flatMap(\.replicas)).sorted()
            for (place, first) in names.enumerated() {
                for second in names[(place + 1)...] {
                    let counts = shards.map { Set($0.replicas).intersection([first, second]).count }
                    if counts.contains(2), counts.contains(1) { return [first, second] }
                }
            }
            return nil
        }

        /// A room of a shard that is as wanted.
        private static func room(
            _ cluster: TestCluster, where isWanted: (TestCluster.ShardPlace) -> Bool
        ) async throws -> RoomID {
            let wanted = Set(try await cluster.shards().filter(isWanted).map(\.shard))
            for _ in 0..<200 {
                let room = try await cluster.room("placed")
                let shard = try await cluster.any.api("GET", "/v1/rooms/\(room)").fields()["shard"] as? Int
                if let shard, wanted.contains(shard) { return room }
            }
            throw TestFailure("no room came to a shard of \(wanted)")
        }
    }
}
