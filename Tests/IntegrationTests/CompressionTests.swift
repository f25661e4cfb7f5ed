import ChatModel
import Deflate
import HTTPWebSocket
import Testing
import Wire

extension IntegrationTests {
    /// permessage-deflate with a node that is set so, and with one that is not.
    @Suite struct CompressionTests {
        private static let offer = HTTPHeader(
            name: "Sec-WebSocket-Extensions", value: "permessage-deflate; client_max_window_bits")
        private static let mask: [UInt8] = [1, 2, 3, 4]

        private func connected(_ node: TestNode, _ user: String) async throws -> TestClient {
            let client = try await TestClient.open(port: node.clientPort, headers: [Self.offer])
            try await client.connect(token: node.token(user, rooms: nil))
            return client
        }

        /// A request as a client compresses it.
        private func compressed(_ text: String, first: UInt8 = 0xC1) throws -> [UInt8] {
            let deflater = try #require(Deflater())
            let payload = try #require(Array(text.utf8).withUnsafeBytes { deflater.deflate($0) })
            var frame = WebSocketFrameEncoder.frame(.text, payload, mask: Self.mask)
            frame[0] = first
            return frame
        }

        @Test func `long room frames are compressed for those who can read it, and all see the same`() async throws {
            try await TestNode.run(["client": ["compression": true]]) { node in
                let room = try await node.createRoom("live")
                let ann = try await self.connected(node, "ann")
                let bob = try await self.connected(node, "bob")
                let cid = try await TestClient.connected(node, "cid")
                for client in [ann, bob, cid] { try await client.enter(room) }
                let long = String(repeating: "hello ", count: 200)
                try await ann.send(room, long)
                try await cid.send(room, "short")
                for client in [ann, bob, cid] {
                    try await client.message("short")
                    #expect(await client.texts(of: room) == [long, "short"])
                }
                #expect(await ann.compressedCount > 0)
                #expect(await bob.compressedCount > 0)
                #expect(await cid.compressedCount == 0)
            }
        }

        @Test func `a room is one compressed stream for those who say so, and newcomers read it with the others`()
            async throws
        {
            try await TestNode.run(["client": ["compression": true]], encoding: .json) { node in
                let room = try await node.createRoom("live")
                func primed(_ user: String) async throws -> TestClient {
                    let client = try await TestClient.open(port: node.clientPort, headers: [Self.offer])
                    _ = try await client.connect(ConnectRequest(token: node.token(user, rooms: nil), prime: true))
                    return client
                }
                let ann = try await primed("ann")
                let cid = try await TestClient.connected(node, "cid")
                for client in [ann, cid] { try await client.enter(room) }
                for number in 1...5 { try await ann.send(room, "hello all, this is number \(number)") }
                let dan = try await primed("dan")
                try await dan.enter(room)
                try await ann.send(room, "hello all, and hello dan")
                for client in [ann, cid, dan] { try await client.message("hello all, and hello dan") }
                let shown = await cid.texts(of: room)
                #expect(await ann.texts(of: room) == shown)
                #expect(await ann.compressedCount == 6)
                // Primed with those before it, unless nobody on its loop has been shown them.
                let late = await dan.texts(of: room)
                #expect(!late.isEmpty && shown.suffix(late.count) == late[...])
                #expect(await dan.compressedCount == late.count)
            }
        }

        @Test func `compressed requests are read, and are bounded by what they become`() async throws {
            try await TestNode.run(["client": ["compression": true]], encoding: .json) { node in
                let room = try await node.createRoom("live")
                let ann = try await self.connected(node, "ann")
                try await ann.enter(room)
                let text = String(repeating: "a", count: 1000)
                let request =
                    #"{"id":77,"send":{"room":"live","clientId":"c","type":"TEXT","text":""# + text + #""}}"#
                await ann.socket.write(try self.compressed(request))
                try await ann.message(text)

                let bomb = try await self.connected(node, "bomb")
                await bomb.socket.write(try self.compressed(String(repeating: " ", count: 2 << 20)))
                try await bomb.wait(for: "its end") { await bomb.closeCode }
                #expect(await bomb.closeCode == 1009)

                let corrupt = try await self.connected(node, "corrupt")
                var frame = WebSocketFrameEncoder.frame(.text, [7, 0xFF, 0xFF], mask: Self.mask)
                frame[0] = 0xC1
                await corrupt.socket.write(frame)
                try await corrupt.wait(for: "its end") { await corrupt.closeCode }
                #expect(await corrupt.closeCode == 1007)
                try await ann.send(room, "still here")
                try await ann.message("still here")
            }
        }

        @Test func `nothing is negotiated with a node that is not set so`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("live")
                let ann = try await self.connected(node, "ann")
                try await ann.enter(room)
                let long = String(repeating: "hello ", count: 200)
                try await ann.send(room, long)
                try await ann.message(long)
                #expect(await ann.compressedCount == 0)
                await ann.socket.write(try self.compressed(#"{"id":9,"ping":{}}                    "#))
                try await ann.wait(for: "its end") { await ann.closeCode }
                #expect(await ann.closeCode == 1002)
            }
        }
    }
}
