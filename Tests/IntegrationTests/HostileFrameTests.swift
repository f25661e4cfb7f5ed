import ChatModel
import Deflate
import Foundation
import HTTPWebSocket
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// The bounds of one frame, and of its cost (PROTOCOL.md, "Frames").
    @Suite struct HostileFrameTests {
        private static let mask: [UInt8] = [1, 2, 3, 4]

        private func open(_ node: TestNode, _ encoding: ClientEncoding) async throws -> TestClient {
            try await TestClient.open(port: node.clientPort, encoding: encoding)
        }

        private func connected(_ node: TestNode, _ user: String, _ encoding: ClientEncoding) async throws -> TestClient
        {
            let client = try await open(node, encoding)
            try await client.connect(token: node.token(user))
            return client
        }

        private func pings(_ count: Int, from first: Int = 1000) -> [ClientRequest] {
            (0..<count).map { ClientRequest(id: UInt32(first + $0), operation: .ping) }
        }

        private func replies(_ client: TestClient) async -> Int {
            await client.items.count { if case .reply = $0 { true } else { false } }
        }

        // MARK: - How many

        @Test(arguments: ClientEncoding.allCases)
        func `a frame of 256 requests is answered, and of one with more the 257th with 414 and 1008`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run { node in
                let client = try await connected(node, "many", encoding)
                await client.write(pings(256))
                for id in UInt32(1000)..<1256 { _ = try await client.reply(to: id).get() }
                await client.write(pings(1000, from: 2000))
                guard case .failure(let error) = try await client.reply(to: 2256) else {
                    throw TestFailure("the 257th was answered")
                }
                #expect(error.code == .badParameter)
                #expect(try await client.closing() == 1008)
                #expect(await client.replyIfAny(to: 2257) == nil, "once")
            }
        }

        @Test func `how many requests a frame may hold is a setting`() async throws {
            try await TestNode.run(["session": ["requestsPerFrame": 3]]) { node in
                let client = try await connected(node, "few", .json)
                await client.write(pings(3))
                _ = try await client.reply(to: 1002).get()
                await client.write(pings(4, from: 2000))
                #expect(try await client.closing() == 1008)
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `20 frames of 1 MB full of malformed requests with an ID cost ten replies`(_ encoding: ClientEncoding)
            async throws
        {
            try await TestNode.run { node in
                let client = try await connected(node, "mallory", encoding)
                // Three bytes each: an ID and nothing else.
                let unit: [UInt8] = encoding == .json ? Array(#"{"id":1}"#.utf8) + [10] : [2, 8, 1]
                let frame = Array(repeatElement(unit, count: (1 << 20) / unit.count).joined())
                let before = await replies(client)
                for _ in 0..<20 { await client.write(encoding.opcode, frame) }
                #expect(try await client.closing() == 1008)
                #expect(await replies(client) - before == 10)
            }
        }

        // MARK: - Before connect

        @Test(arguments: ClientEncoding.allCases)
        func `before connect a frame has 16 KB, or 64 KB when it begins with connect`(_ encoding: ClientEncoding)
            async throws
        {
            try await TestNode.run { node in
                func frame(_ first: ClientOperation, bytes: Int) -> [UInt8] {
                    Self.frame(first, id: 1, bytes: bytes, encoding)
                }
                let token = try node.token("ann")
                let connect = ClientOperation.connect(ConnectRequest(token: token))
                for (operation, bytes, isTaken) in [
                    (connect, 64 * 1024, true), (connect, 64 * 1024 + 1, false), (connect, 17 * 1024, true),
                    (.ping, 16 * 1024 + 1, false), (.ping, 16 * 1024, true),
                ] {
                    let client = try await open(node, encoding)
                    await client.write(encoding.opcode, frame(operation, bytes: bytes))
                    guard isTaken else {
                        #expect(try await client.closing() == 1009, "\(bytes)")
                        continue
                    }
                    _ = try await client.reply(to: 1)
                    await client.socket.close()
                }
                // Once it has been answered, a frame has 1 MB.
                let client = try await open(node, encoding)
                await client.write(encoding.opcode, frame(connect, bytes: 1000))
                _ = try await client.reply(to: 1).get()
                await client.write(encoding.opcode, frame(.ping, bytes: 1 << 20))
                try await poll("an answer") { await replies(client) >= 2 }
                #expect(await client.closeCode == nil)
                await client.write(encoding.opcode, frame(.ping, bytes: 1 << 20 + 1))
                #expect(try await client.closing() == 1009)
            }
        }

        /// A frame of so many bytes that begins with that request.
        private static func frame(_ first: ClientOperation, id: UInt32, bytes: Int, _ encoding: ClientEncoding)
            -> [UInt8]
        {
            var frame: [UInt8] = []
            switch encoding {
            case .json:
                ClientRequest(id: id, operation: first).appendJSON(to: &frame)
                frame += [UInt8](repeating: 0x20, count: bytes - frame.count)
            case .protobuf:
                ClientRequest(id: id, operation: first).appendProtobuf(to: &frame)
                // A request with one long field that nobody knows.
                let length = bytes - frame.count - 8
                frame += varint(length + 5) + [0xFA, 0x3F] + varint(length)
                frame += [UInt8](repeating: 0, count: bytes - frame.count)
            }
            return frame
        }

        private static func varint(_ value: Int) -> [UInt8] {
            [UInt8(value & 0x7F | 0x80), UInt8(value >> 7 & 0x7F | 0x80), UInt8(value >> 14 & 0x7F)]
        }

        @Test(arguments: ClientEncoding.allCases)
        func `a token over 4 KB is 413, then 4401`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run { node in
                for count in [4097, 60_000] {
                    let client = try await open(node, encoding)
                    let token = String(repeating: "t", count: count)
                    let error = try await client.refusal(of: .connect(ConnectRequest(token: token)))
                    #expect(error.code == .tooLarge && error.field == "token")
                    #expect(try await client.closing() == 4401)
                }
                // One that is refused on the way changes nothing: the old token holds until its end.
                let client = try await connected(node, "ann", encoding)
                let long = RefreshRequest(token: String(repeating: "t", count: 4097))
                #expect(try await client.refusal(of: .refresh(long)).code == .tooLarge)
                _ = try await client.ask(.ping).get()
                let anonymous = try await open(node, encoding)
                var request = ConnectRequest(anonymous: true)
                request.token = String(repeating: "t", count: 4097)
                _ = try await anonymous.ask(.connect(request)).get()
            }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `before connect one message is inflated, if it is a connect, and nothing else`(_ encoding: ClientEncoding)
            async throws
        {
            try await TestNode.run(["client": ["compression": true]], encoding: encoding) { node in
                let deflater = try #require(Deflater())
                func compressed(_ message: [UInt8], as opcode: WebSocketOpcode? = nil) -> [UInt8] {
                    let payload = message.withUnsafeBytes { deflater.deflate($0) ?? [] }
                    return raw(payload, as: opcode)
                }
                func raw(_ payload: [UInt8], as opcode: WebSocketOpcode? = nil) -> [UInt8] {
                    var frame = WebSocketFrameEncoder.frame(opcode ?? encoding.opcode, payload, mask: Self.mask)
                    frame[0] |= 0x40
                    return frame
                }
                let offer = HTTPHeader(name: "Sec-WebSocket-Extensions", value: "permessage-deflate")
                func open() async throws -> TestClient {
                    try await TestClient.open(port: node.clientPort, headers: [offer], encoding: encoding)
                }
                func message(_ operation: ClientOperation, bytes: Int = 600) -> [UInt8] {
                    Self.frame(operation, id: 1, bytes: bytes, encoding)
                }
                func inflated(_ result: String) async throws -> Double {
                    try await node.metric("chatroom_inflated_before_connect_total", labels: #"result="\#(result)""#)
                }
                let connect = ClientOperation.connect(ConnectRequest(token: try node.token("browser")))
                // As browsers do, with as much as an uncompressed one may have.
                for bytes in [600, 64 << 10] {
                    let browser = try await open()
                    await browser.socket.write(compressed(message(connect, bytes: bytes)))
                    _ = try await browser.reply(to: 1).get()
                    await browser.socket.write(compressed(Self.frame(.ping, id: 2, bytes: 600, encoding)))
                    _ = try await browser.reply(to: 2).get()
                    await browser.socket.close()
                }
                #expect(try await inflated("connect") == 2)
                #expect(try await inflated("refused") == 0)

                var refused = 0.0
                let strange: [(frame: [UInt8], code: UInt16)] = [
                    (compressed(message(connect, bytes: (64 << 10) + 1)), 1009),
                    (compressed(message(.ping)), 1008),
                    (compressed(message(.ping, bytes: 17_000)), 1008),
                    (compressed([UInt8](repeating: 0x20, count: 64 << 10)), 1008),
                    // Nothing at all, in very many blocks.
                    (raw(Array(repeatElement([0, 0, 0, 0xFF, 0xFF] as [UInt8], count: 12_000).joined())), 1008),
                    (raw([7, 0xFF, 0xFF]), 1007),
                ]
                for (frame, code) in strange {
                    let stranger = try await open()
                    await stranger.socket.write(frame)
                    #expect(try await stranger.closing() == code)
                    refused += 1
                    #expect(try await inflated("refused") == refused)
                }

                // Of the other type it is not inflated.
                let other = try await open()
                await other.socket.write(
                    compressed(message(connect), as: encoding.opcode == .text ? .binary : .text))
                #expect(try await other.closing() == 1003)
                // Nor is a second one, whatever the first one was answered.
                let patient = try await open()
                let wrong = ClientOperation.connect(ConnectRequest(token: "x"))
                await patient.socket.write(compressed(message(wrong)) + compressed(message(connect)))
                #expect(try await patient.closing() == 4401)
                #expect(try await inflated("connect") == 3)
                #expect(try await inflated("refused") == refused)
            }
        }

        // MARK: - Replies that nobody reads

        /// Everything is answered, once and in order, when the client reads at last; until then the node takes no more
        /// of a frame than it may owe answers for. The answers to one of these frames have more than 1 MB.
        @Test(arguments: ClientEncoding.allCases)
        func `replies that nobody reads stop reading in the middle of a frame, and nothing is lost`(
            _ encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(["session": ["heartbeatSeconds": 600, "requestsPerFrame": 65_536]]) { node in
                let client = try await connected(node, "deaf", encoding)
                await client.socket.stopReading()
                let (frames, perFrame) = (8, 20_000)
                for number in 0..<frames {
                    // Refused with a sentence, and by no rate.
                    let again = ClientOperation.connect(ConnectRequest(anonymous: true))
                    let first = 1000 + number * perFrame
                    await client.write((0..<perFrame).map { ClientRequest(id: UInt32(first + $0), operation: again) })
                }
                // Until sockets are full, and everything that the node will take has been taken.
                var waiting = 0.0
                try await poll("the node stops") {
                    let now = try await node.metric("chatroom_send_queue_bytes")
                    defer { waiting = now }
                    return now > 0 && now == waiting
                }
                #expect(waiting < 900 * 1024, "512 KB, and what the last request brought: \(waiting) bytes")
                await client.socket.startReading()
                let ids = UInt32(1000)..<UInt32(1000 + frames * perFrame)
                _ = try await client.reply(to: ids.upperBound - 1)
                let answered = await client.items.compactMap { item -> UInt32? in
                    if case .reply(let id?, _) = item, id >= 1000 { id } else { nil }
                }
                #expect(answered == Array(ids), "each once, in order")
            }
        }
    }
}
