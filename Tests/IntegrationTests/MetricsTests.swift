import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// The figures under their stable names (PROTOCOL.md, "Metrics").
    @Suite struct MetricsTests {
        /// Name, kind, and a label that its series have. `chatroom_webhook_lag_seconds` comes with webhooks.
        static let stable: [(name: String, kind: String, labels: [String])] = [
            ("chatroom_sessions", "gauge", []), ("chatroom_rooms_active", "gauge", []),
            ("chatroom_sessions_replicated", "gauge", []),
            ("chatroom_media_questions_total", "counter", []),
            ("chatroom_connections", "gauge", []), ("chatroom_connections_max", "gauge", []),
            ("chatroom_admission_put_off_total", "counter", ["step"]),
            ("chatroom_sends_total", "counter", ["result"]), ("chatroom_ack_seconds", "histogram", []),
            ("chatroom_deliver_seconds", "histogram", []), ("chatroom_dropped_total", "counter", ["class", "cause"]),
            ("chatroom_send_queue_bytes", "gauge", []), ("chatroom_slow_sessions", "gauge", []),
            ("chatroom_log_sync_seconds", "histogram", []), ("chatroom_shard_leader", "gauge", ["shard"]),
            ("chatroom_shard_commit_lag", "gauge", ["shard"]),
            ("chatroom_shard_replicas_behind", "gauge", ["shard"]), ("chatroom_damaged_shards", "gauge", []),
            ("chatroom_leader_changes_total", "counter", []),
            ("chatroom_gossip_members", "gauge", ["state"]), ("chatroom_disk_free_bytes", "gauge", []),
            ("chatroom_token_refused_total", "counter", []),
            ("chatroom_connections_closed_total", "counter", ["code"]),
            ("chatroom_taps_total", "counter", ["result"]),
            ("chatroom_search_waiting_rows", "gauge", []), ("chatroom_search_incomplete_files", "gauge", []),
            ("chatroom_search_index_errors_total", "counter", []),
            ("chatroom_search_index_rebuilds_total", "counter", []),
            ("chatroom_origin_refused_total", "counter", []), ("chatroom_build_info", "gauge", ["version"]),
            ("chatroom_ready", "gauge", []),
            ("chatroom_api_requests_total", "counter", ["route", "status"]), ("chatroom_api_seconds", "histogram", []),
            ("chatroom_sent_bytes_total", "counter", []), ("chatroom_deliveries_total", "counter", ["class"]),
            ("process_cpu_seconds_total", "counter", []),
            ("process_open_fds", "gauge", []), ("process_max_fds", "gauge", []),
            ("process_resident_memory_bytes", "gauge", []), ("process_virtual_memory_bytes", "gauge", []),
            ("process_virtual_memory_max_bytes", "gauge", []), ("process_start_time_seconds", "gauge", []),
            ("process_threads", "gauge", []),
        ]

        @Test func `every stable name is there, described and well formed`() async throws {
            try await TestNode.run(["shards": 4]) { node in
                let lines = try await node.api("GET", "/metrics").body.split(separator: "\n").map(String.init)
                for (name, kind, labels) in Self.stable {
                    #expect(lines.contains { $0.hasPrefix("# HELP \(name) ") }, "\(name)")
                    #expect(lines.contains("# TYPE \(name) \(kind)"), "\(name)")
                    let series = kind == "histogram" ? name + "_bucket" : name
                    let own = lines.filter { $0.hasPrefix(series + "{") || $0.hasPrefix(series + " ") }
                    #expect(!own.isEmpty, "\(name)")
                    for label in labels { #expect(own.allSatisfy { $0.contains("\(label)=\"") }, "\(name)") }
                    #expect(own.allSatisfy { $0.split(separator: " ").last.flatMap { Double($0) } != nil }, "\(name)")
                }
                let described = lines.filter { $0.hasPrefix("# TYPE") }
                #expect(Set(described).count == described.count, "each is described once")
                #expect(try await node.metric("chatroom_shard_leader{") == 4)
                #expect(try await node.metric("chatroom_shard_commit_lag{") == 0)
                #expect(try await node.metric("chatroom_leader_changes_total ") == 4)
                #expect(try await node.metric("chatroom_gossip_members{", labels: #"state="alive""#) == 1)
                #expect(try await node.metric("chatroom_disk_free_bytes ") > 0)
                #expect(try await node.metric("chatroom_ready ") == 1)
            }
        }

        @Test func `the figures follow what happens`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("counted")
                let ann = try await TestClient.connected(node, "ann")
                let bob = try await TestClient.connected(node, "bob")
                try await ann.enter(room)
                try await bob.enter(room)
                for number in 1...5 { try await ann.send(room, "message \(number)") }
                try await bob.message("message 5")
                let tooLong = String(repeating: "x", count: 40)
                for _ in 0..<2 { _ = try await ann.ask(.text(room, tooLong, clientID: "same")).get() }
                let nobody = try await TestClient.open(port: node.clientPort)
                _ = try await nobody.refusal(of: .connect(ConnectRequest(token: "x")))
                #expect(try await node.metric("chatroom_sessions ") == 2)
                // It is told once a second.
                try await poll("an active room") { try await node.metric("chatroom_rooms_active ") == 1 }
                #expect(try await node.metric("chatroom_sends_total{", labels: "acked") == 7)
                #expect(try await node.metric("chatroom_ack_seconds_count") == 7)
                #expect(try await node.metric("chatroom_ack_seconds_sum") > 0)
                #expect(try await node.metric("chatroom_deliver_seconds_count") >= 6)
                #expect(try await node.metric("chatroom_log_sync_seconds_count") > 0)
                #expect(try await node.metric("chatroom_token_refused_total ") == 1)
                let creating = #"route="createRoom",status="200""#
                #expect(try await node.metric("chatroom_api_requests_total{", labels: creating) == 1)
                #expect(try await node.metric("chatroom_api_seconds_count") >= 1)
            }
        }

        @Test func `what clients are sent is counted, each time for each viewer`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("counted")
                let viewers = try await withThrowingTaskGroup(of: TestClient.self) { group in
                    for number in 0..<4 {
                        group.addTask {
                            let client = try await TestClient.connected(node, "user\(number)")
                            try await client.enter(room)
                            return client
                        }
                    }
                    return try await group.reduce(into: []) { $0.append($1) }
                }
                let before = try await node.metric("chatroom_sent_bytes_total ")
                #expect(before > 0)
                let text = String(repeating: "x", count: 20_000)
                try await viewers[0].send(room, text)
                for viewer in viewers { try await viewer.message(text) }
                let sent = try await node.metric("chatroom_sent_bytes_total ") - before
                // The text four times, and what is around it.
                #expect(sent >= 80_000 && sent < 100_000, "\(sent)")
            }
        }
    }
}
