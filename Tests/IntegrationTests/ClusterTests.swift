import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Three nodes as one cluster.
    @Suite(SharedCluster()) struct ClusterTests {}
}

extension IntegrationTests.ClusterTests {
    /// What befalls nodes under load.
    @Suite struct Faults {
        @Test func `the room goes on when its leader or a follower is killed, and who was killed catches up`()
            async throws
        {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("killed")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let ledger = try await Ledger(cluster, room, at: [leader, follower, other])
            try await ledger.run { ledger in
                await leader.kill()
                try await ledger.acks(10)
                for viewer in ledger.viewers.dropFirst() { #expect(await viewer.reconnects == 0) }
                try await cluster.start([leader])
                await follower.kill()
                try await ledger.acks(10)
                #expect(await ledger.viewers[2].reconnects == 0)
                try await cluster.start([follower])
                // Only who has everything can take over.
                try await cluster.transfer(room, to: leader)
                try await cluster.transfer(room, to: follower)
                try await ledger.acks(10)
            }
            #expect(await ledger.viewers[2].reconnects == 0, "who is at a node that lives sees no end")
        }

        @Test func `nothing acked is lost when all nodes are killed at once`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("all")
            try await Ledger(cluster, room).run { ledger in
                for node in cluster.nodes { node.signal(SIGKILL) }
                await cluster.kill()
                try await cluster.start(cluster.nodes)
                try await ledger.acks(10)
            }
        }

        @Test func `a leader that stands still is replaced, and follows when it goes on`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("paused")
            let (leader, follower, other) = try await cluster.roles(in: room)
            let ledger = try await Ledger(cluster, room, at: [leader, follower, other])
            try await ledger.run { ledger in
                leader.pause()
                for writer in ledger.writers.dropFirst() { try await writer.acks(10) }
                leader.resume()
                try await ledger.acks(10)
                try await cluster.settled()
            }
            #expect(await ledger.viewers[2].reconnects == 0)
        }

        @Test func `a minority acks nothing, and everything comes together again`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("minority")
            let leader = try await cluster.leader(of: room)
            let others = cluster.others(than: leader)
            // With its leader among those that stay, and without.
            for (round, alone) in [leader, others[0]].enumerated() {
                let client = try await TestClient.connected(alone, "ann\(round)")
                try await retrying("enter") { _ = try await client.enter(room) }
                try await retrying("a send") {
                    _ = try await client.send(room, "before \(round)", clientID: "before\(round)")
                }
                let clock = try await TestClient.connected(alone, "clock\(round)")
                for node in cluster.others(than: alone) { node.pause() }
                let (refused, pongs) = try await Self.counting(clock) {
                    try await client.refusal(of: .text(room, "alone \(round)", clientID: "alone\(round)"))
                }
                #expect(refused.code == .unavailable && refused.retryAfterMs != nil)
                #expect(pongs <= 60, "3 s, and as much again")
                for node in cluster.nodes { node.resume() }
                try await retrying("a send") {
                    _ = try await client.send(room, "alone \(round)", clientID: "alone\(round)")
                }
                try await cluster.settled()
                let kept = try await retrying("the history") { try await client.wholeHistory(room) }
                    .compactMap(\.clientID)
                #expect(kept.filter { $0 == "alone\(round)" }.count == 1)
                #expect(kept.filter { $0 == "before\(round)" }.count == 1)
            }
        }

        /// What `body` returns, and how many pings the node of `client` has answered meanwhile, each sent a tenth of a
        /// second after the answer to the one before: a clock that stands still when the machine does.
        private static func counting<Value: Sendable>(
            _ client: TestClient, while body: () async throws -> Value
        ) async throws -> (value: Value, pongs: Int) {
            async let _: Void = keepAsking(client)
            let value = try await body()
            return (value, await client.items.count { if case .reply(_, .success(.ping)) = $0 { true } else { false } })
        }

        /// Pings until the task is cancelled or the connection ends.
        private static func keepAsking(_ client: TestClient) async {
            while !Task.isCancelled, (try? await client.ask(.ping).get()) != nil {
                // The tick of that clock; nothing is waited for.
                try? await Task.sleep(for: .milliseconds(100))
            }
        }

        @Test func `every node is restarted in its turn, and nobody is lost on the way`() async throws {
            let cluster = try await TestCluster.whole()
            let room = try await cluster.room("rolling")
            let ledger = try await Ledger(cluster, room)
            try await ledger.run { ledger in
                for node in cluster.nodes {
                    let end = try await node.stop()
                    #expect(end?.status == 0)
                    try await ledger.acks(5)
                    try await cluster.start([node])
                }
            }
            for writer in ledger.writers {
                #expect(await writer.unannouncedEnds == 0, "every end is announced by reconnect")
                #expect(await writer.longest < .seconds(10))
            }
            for viewer in ledger.viewers { #expect(await viewer.unannouncedEnds == 0) }
        }
    }
}
