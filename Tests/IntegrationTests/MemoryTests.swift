import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// What clients may make a node keep in memory, and for how long.
    @Suite struct MemoryTests {
        /// The head of a masked frame of so many bytes, and as many of them as `sent` says.
        private func part(of count: Int, sent: Int) -> [UInt8] {
            let length = (0..<8).reversed().map { UInt8(truncatingIfNeeded: count >> ($0 * 8)) }
            return [0x81, 0x80 | 127] + length + [0, 0, 0, 0] + [UInt8](repeating: 0x20, count: sent)
        }

        private func opened(_ node: TestNode, _ count: Int) async throws -> [TestClient] {
            var clients: [TestClient] = []
            for _ in 0..<count {
                let client = try await TestClient.open(port: node.clientPort, encoding: .json)
                _ = try await client.connect(ConnectRequest(anonymous: true))
                clients.append(client)
            }
            return clients
        }

        private func buffers(_ node: TestNode) async throws -> Double {
            try await node.metric("chatroom_buffer_bytes ")
        }

        @Test func `before login a connection may leave no more than 64 KB behind`() async throws {
            try await TestNode.run { node in
                let client = try await TestClient.open(port: node.clientPort, encoding: .json)
                await client.socket.write(part(of: 1 << 20, sent: 900_000))
                #expect(try await client.closing() == 1009)
                try await poll("its end") { try await buffers(node) == 0 }
                try await poll("its count") {
                    try await node.metric("chatroom_connections_closed_total", labels: #"code="1009""#) == 1
                }
            }
        }

        @Test func `beyond the budget the greediest go and come again, and the others stay`() async throws {
            let budget = 8 << 20
            try await TestNode.run(["loops": 2, "limits": ["bufferBytes": budget]]) { node in
                let room = try await node.createRoom("calm")
                let one = try await TestClient.connected(node, "one")
                let two = try await TestClient.connected(node, "two")
                for client in [one, two] { try await client.enter(room) }
                // More than the budget, however the lanes share them.
                let greedy = try await opened(node, 40)
                for client in greedy { await client.socket.write(part(of: 1 << 20, sent: 900_000)) }
                try await poll("connections that give way") {
                    try await node.metric("chatroom_dropped_total", labels: #"cause="memory""#) >= 20
                }
                try await poll("the budget") { try await buffers(node) <= Double(budget) }
                let gone = try await node.metric(
                    "chatroom_dropped_total", labels: #"class="connection",cause="memory""#)
                #expect(gone < 40, "no more than is needed")
                try await poll("as many ends") {
                    try await node.metric("chatroom_connections_closed_total", labels: #"code="4429""#) == gone
                }
                var pushed = 0
                for client in greedy {
                    let items = await client.items
                    if items.contains(where: { if case .push(.reconnect) = $0 { true } else { false } }) { pushed += 1 }
                }
                #expect(pushed > 0)
                try await one.send(room, "still here")
                try await two.message("still here")
                for client in greedy { await client.socket.close() }
                try await poll("nothing") { try await buffers(node) == 0 }
            }
        }

        @Test func `a frame that many wait for is counted once`() async throws {
            // A heartbeat would end those who don't read, and a short queue would be shed.
            let session = TestNode.highRates.merging(["heartbeatSeconds": 600, "sendQueueBytes": 64 << 20]) { $1 }
            try await TestNode.run(["loops": 1, "session": session]) { node in
                let room = try await node.createRoom("slow")
                let sender = try await TestClient.connected(node, "sender")
                try await sender.enter(room)
                var slow: [TestClient] = []
                for number in 0..<40 {
                    let client = try await TestClient.connected(node, "slow\(number)")
                    try await client.enter(room)
                    await client.socket.stopReading()
                    slow.append(client)
                }
                let large = String(repeating: "x", count: 32 * 1024 - 8)
                var most = 0.0
                var waiting = 0.0
                // Until most of them have something that waits, with which alone they would hold far more.
                for _ in 0..<1_000 where waiting < 40 * 400_000 {
                    try await sender.send(room, large)
                    most = max(most, try await buffers(node))
                    waiting = max(waiting, try await node.metric("chatroom_send_queue_bytes "))
                }
                #expect(waiting >= 40 * 400_000)
                #expect(most > 0 && most < waiting / 2, "\(most) bytes for \(waiting) that wait")
            }
        }

        @Test func `the first address that is full is logged with the word that helps`() async throws {
            try await TestNode.run(["limits": ["connectionsPerAddress": 1]]) { node in
                let ann = try await TestClient.connected(node, "ann")
                for _ in 0..<3 {
                    let other = try await TestClient.open(port: node.clientPort)
                    #expect(try await other.closing() == 4429)
                }
                _ = try await ann.ask(.ping).get()
                let errors = try await node.stop()?.errors ?? ""
                let lines = errors.split(separator: "\n").filter { $0.contains("trustedProxies") }
                #expect(lines.count == 1 && lines.first?.contains("address=127.0.0.1") == true)
            }
        }
    }
}
