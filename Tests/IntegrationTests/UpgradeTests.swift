import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// The cluster's feature level from the outside, with programs that act as those of the release before.
    @Suite struct UpgradeTests {
        private static let newest = FeatureLevel.newest.number

        private func level(_ node: TestNode) async throws -> Int {
            Int(try await node.metric("chatroom_feature_level"))
        }

        private func raise(_ node: TestNode, to level: Int) async throws -> HTTPAnswer {
            try await node.api("PUT", "/v1/cluster/featureLevel", #"{"level":\#(level)}"#)
        }

        private func setMax(_ node: TestNode, _ level: Int, raiseAfterSeconds: Int = 0) throws {
            try node.rewrite { $0["featureLevel"] = ["max": level, "raiseAfterSeconds": raiseAfterSeconds] }
        }

        /// A program of the release before ends with a sentence.
        private func isKeptOut(_ node: TestNode) async throws {
            try setMax(node, Self.newest - 1)
            let program = try Program("chatroomd", ["--config", node.configPath])
            defer { program.signal(SIGKILL) }
            let line = try await program.errorLine { $0.hasPrefix("chatroomd: ") || $0.contains("node is serving") }
            let message = try #require(line)
            #expect(message.contains("the cluster has feature level \(Self.newest)"), "\(message)")
            #expect(message.contains("this program can do \(Self.newest - 1)"), "\(message)")
            #expect(try await program.ended().status == 65)
        }

        @Test func `a cluster begins with the level of its program, and can't be led back below it`() async throws {
            let node = try TestNode()
            try await node.create()
            try await node.start()
            #expect(try await level(node) == Self.newest)
            #expect(try await raise(node, to: Self.newest).status == 200)
            #expect(try await raise(node, to: Self.newest - 1).status == 409)
            let tooHigh = try await raise(node, to: Self.newest + 1)
            #expect(tooHigh.status == 409 && tooHigh.body.contains("can do feature level \(Self.newest)"), "\(tooHigh)")
            #expect(try await raise(node, to: 0).status == 400)
            _ = try await node.stop()

            try await isKeptOut(node)
        }

        @Test func `a node of a young cluster can't be led back either, though its links are refused`() async throws {
            try await TestCluster.run(3) { cluster in
                try await cluster.start(3)
                let node = cluster.nodes[2]
                #expect(try await level(node) == Self.newest)
                _ = try await node.stop()
                try await isKeptOut(node)
            }
        }

        @Test func `the level waits for an operator where it is told to`() async throws {
            let node = try TestNode()
            try setMax(node, Self.newest - 1)
            try await node.create()
            try await node.start()
            #expect(try await level(node) == Self.newest - 1)
            #expect(try await raise(node, to: Self.newest).status == 409)
            _ = try await node.stop()
            // The new program, back, and the new one again.
            for max in [Self.newest, Self.newest - 1, Self.newest] {
                try setMax(node, max)
                try await node.start()
                #expect(try await level(node) == Self.newest - 1)
                let nodes = try await node.api("GET", "/v1/cluster").body
                #expect(nodes.contains(#""featureLevel":\#(max)"#), "\(nodes)")
                _ = try await node.stop()
            }
            try await node.start()
            #expect(try await raise(node, to: Self.newest).status == 200)
            #expect(try await level(node) == Self.newest)
            await node.kill()
            try await node.start()
            #expect(try await level(node) == Self.newest)
            await node.kill()
        }

        @Test func `the level is raised by itself when all nodes have been able to do it for a while`() async throws {
            let node = try TestNode()
            try setMax(node, Self.newest - 1)
            try await node.create()
            try setMax(node, Self.newest, raiseAfterSeconds: 1)
            try await node.start()
            try await poll("the level is raised") { try await level(node) == Self.newest }
            await node.kill()
        }

        @Test func `seats of hosts wait for the level that brings them`() async throws {
            let node = try TestNode()
            try setMax(node, 1)
            try await node.create()
            try await node.start()
            let upgrading = try await node.api("POST", "/v1/rooms", #"{"creator":"owner","seatsPerUser":1}"#)
            #expect(upgrading.status == 503, "\(upgrading)")
            let room = try await node.createRoom("early", creator: "owner")
            let host = try await TestClient.entered(node, "owner", room)
            _ = try await TestClient.entered(node, "ann", room)
            var requests = [QueueSetRequest](repeating: QueueSetRequest(room: room, key: "k", value: "v"), count: 3)
            (requests[0].owner, requests[1].keepOwner, requests[2].locked) = (try user("ann"), true, false)
            for request in requests {
                #expect(try await host.refusal(of: .queueSet(request)).code == .upgrading)
            }
            try await host.set(room, "k")
            let given = try await node.api("PUT", "/v1/rooms/early/queue/k", #"{"value":"v","owner":"ann"}"#)
            #expect(given.status == 200, "\(given)")
            #expect(try await host.queue(room).map(\.owner.text) == ["ann"])
            await node.kill()
        }

        @Test func `connect names the features of the level`() async throws {
            try await TestNode.run { node in
                let client = try await TestClient.open(port: node.clientPort)
                let connected = try await client.connect(token: try node.token("ann"))
                #expect(connected.features == FeatureLevel.newest.clientFeatures)
            }
        }
    }
}
