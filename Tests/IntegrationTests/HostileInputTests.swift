import ChatModel
import Foundation
import HTTPWebSocket
import Testing
import Wire

extension IntegrationTests {
    /// What strangers may throw at the client port: the documented answer, and nobody else notices.
    @Suite struct HostileInputTests {
        /// Runs `body` beside two people who chat in a room before and after, on the same node.
        private func besideBystanders(
            _ settings: [String: Any] = [:], encoding: ClientEncoding = TestClient.standardEncoding,
            _ body: (TestNode, RoomID) async throws -> Void
        ) async throws {
            try await TestNode.run(settings, encoding: encoding) { node in
                let room = try await node.createRoom("bystanders")
                let one = try await TestClient.connected(node, "one")
                let two = try await TestClient.connected(node, "two")
                try await one.enter(room)
                try await two.enter(room)
                try await one.send(room, "before")
                try await two.message("before")
                try await body(node, room)
                try await one.send(room, "after")
                try await two.message("after")
                let texts = await two.texts(of: room)
                #expect(texts.first == "before" && texts.last == "after")
                let seqs = await two.messages(of: room).compactMap(\.seq)
                #expect(seqs == Array(1..<UInt64(seqs.count + 1)))
                #expect(try await node.api("GET", "/healthz").status == 200)
            }
        }

        // MARK: - HTTP

        private static let key = "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
        static let upgrade =
            "Host: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n" + key

        /// A request and the status that it must be answered with; nil: any refusal, or just an end.
        private static let requests: [(bytes: [UInt8], status: Int?)] = {
            let texts: [(String, Int?)] = [
                ("\r\n\r\n", nil), ("hello\r\n\r\n", 400), ("GET / HTTP/1.1\r\n\r\n", nil),
                ("GET /v1/ws HTTP/1.0\r\n" + upgrade + "\r\n", 505),
                ("POST /v1/ws HTTP/1.1\r\n" + upgrade + "\r\n", nil),
                ("GET /v1/other HTTP/1.1\r\n" + upgrade + "\r\n", 404),
                ("GET /v1/ws HTTP/1.1\r\nHost: localhost\r\n\r\n", 426),
                (
                    "GET /v1/ws HTTP/1.1\r\n" + upgrade.replacingOccurrences(of: "13", with: "12") + "\r\n", 426
                ),
                (
                    "GET /v1/ws HTTP/1.1\r\n"
                        + upgrade.replacingOccurrences(of: "dGhlIHNhbXBsZSBub25jZQ==", with: "AA==")
                        + "\r\n", 400
                ),
                ("GET /v1/ws HTTP/1.1\r\n" + upgrade + "Bad Header\r\n\r\n", 400),
                ("GET /v1/ws HTTP/1.1\r\n" + upgrade + "X: " + String(repeating: "x", count: 40_000) + "\r\n\r\n", 431),
                ("GET /" + String(repeating: "x", count: 20_000) + " HTTP/1.1\r\n" + upgrade + "\r\n", 414),
                (
                    "GET /v1/ws HTTP/1.1\r\n" + upgrade + String(repeating: "X: y\r\n", count: 3_000) + "\r\n", 431
                ),
            ]
            let noise: [UInt8] = (0..<50_000).map { UInt8(truncatingIfNeeded: $0 &* 131 &+ $0 >> 3) | 0x80 }
            let tls: [UInt8] =
                [0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00, 0x01, 0xFC] + noise.prefix(512) + [13, 10, 13, 10]
            return texts.map { (Array($0.utf8), $1) } + [(noise, nil), (tls, nil)]
        }()

        @Test func `what is no handshake is refused`() async throws {
            try await besideBystanders { node, _ in
                for (bytes, status) in Self.requests {
                    let socket = TestSocket()
                    try await socket.open(port: node.clientPort)
                    await socket.write(bytes)
                    let answer = String(decoding: try await socket.receivedUntilClosed(), as: UTF8.self)
                    await socket.close()
                    let sent = String(decoding: bytes.prefix(60), as: UTF8.self)
                    if let status {
                        #expect(answer.hasPrefix("HTTP/1.1 \(status) "), "\(sent) was answered with \(answer)")
                    } else {
                        #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 4"), "\(sent) was answered with \(answer)")
                    }
                }
            }
        }

        @Test func `browsers come from the own host or an allowed origin`() async throws {
            try await besideBystanders(["allowedOrigins": ["https://app.example"]]) { node, _ in
                let own = "127.0.0.1:\(node.clientPort)"
                let cases: [(String, Int?)] = [
                    ("http://\(own)", nil), ("https://\(own)", 403), ("HTTPS://APP.EXAMPLE", nil),
                    ("http://localhost:\(node.clientPort)", nil), ("http://[::1]:\(node.clientPort)", nil),
                    ("http://localhost:1", 403), ("http://localhost.evil.example:\(node.clientPort)", 403),
                    ("http://127.0.0.1.evil.example:\(node.clientPort)", 403), ("http://localhost", 403),
                    ("https://app.example", nil), ("null", 403), ("https://evil.example", 403),
                    ("https://app.example.evil.example", 403), ("http://app.example", 403),
                    ("https://app.example:8443", 403), ("http://\(own).evil.example", 403), ("", 403),
                ]
                for (origin, status) in cases {
                    let client = TestClient()
                    let headers = [HTTPHeader(name: "Origin", value: origin)]
                    let refused = try await client.handshake(port: node.clientPort, headers: headers)
                    #expect(refused == status, "\(origin)")
                    await client.socket.close()
                }
            }
        }

        // MARK: - Frames

        @Test(arguments: ClientEncoding.allCases)
        func `broken frames close with their code`(_ encoding: ClientEncoding) async throws {
            let text = Array(#"{"id":1,"ping":{}}"#.utf8)
            let other = encoding == .json ? WebSocketOpcode.binary : .text
            let first = 0x80 | encoding.opcode.rawValue
            let mask: [UInt8] = [1, 2, 3, 4]
            var huge: [UInt8] = []
            WebSocketFrameEncoder.appendHeader(encoding.opcode, payloadCount: .max, mask: mask, to: &huge)
            let cases: [(name: String, bytes: [UInt8], code: UInt16)] = [
                ("the other subprotocol's", WebSocketFrameEncoder.frame(other, text, mask: mask), 1003),
                ("unmasked", WebSocketFrameEncoder.frame(encoding.opcode, text), 1002),
                ("reserved bit", [first | 0x40, 0x80] + mask, 1002),
                ("reserved opcode", [0x83, 0x80] + mask, 1002),
                ("fragmented ping", [0x09, 0x80] + mask, 1002),
                ("long ping", [0x89, 0xFE, 0x00, 0x7E] + mask, 1002),
                ("continuation of nothing", [0x80, 0x80] + mask, 1002),
                ("length not minimal", [first, 0xFE, 0x00, 0x01] + mask + [0x00], 1002),
                ("close with one byte", [0x88, 0x81] + mask + [0x00], 1002),
                (
                    "over 1 MB",
                    WebSocketFrameEncoder.frame(
                        encoding.opcode, [UInt8](repeating: 0x20, count: 1 << 20 + 1), mask: mask), 1009
                ),
                ("endless", huge, 1009),
                ("not UTF-8", WebSocketFrameEncoder.frame(.text, [0x22, 0xFF, 0x22], mask: mask), 1007),
                ("a surrogate", WebSocketFrameEncoder.frame(.text, [0xED, 0xA0, 0x80], mask: mask), 1007),
            ]
            try await besideBystanders(encoding: encoding) { node, room in
                for (name, bytes, code) in cases {
                    for isConnected in [false, true] {
                        let client = try await TestClient.open(port: node.clientPort)
                        if isConnected {
                            try await client.connect(token: node.token("mallory"))
                            try await client.enter(room)
                        }
                        await client.socket.write(bytes)
                        #expect(try await client.closing() == code, "\(name)")
                    }
                }
            }
        }

        // MARK: - JSON

        @Test func `strange but readable requests get an answer`() async throws {
            try await besideBystanders { node, room in
                let client = try await TestClient.open(port: node.clientPort, encoding: .json)
                try await client.connect(token: node.token("strange"))
                try await client.enter(room)
                let max = "9223372036854775807"
                let bodies = [
                    #""history":{"room":"bystanders","startTime":\#(max)}"#,
                    #""history":{"room":"bystanders","startTime":-\#(max)}"#,
                    #""history":{"room":"bystanders","startTime":-9223372036854775808,"order":"ASC"}"#,
                    #""history":{"room":"bystanders","startTime":\#(max),"order":"ASC"}"#,
                    #""history":{"room":"bystanders","startTime":1e308}"#,
                    #""history":{"room":"bystanders","limit":\#(max)}"#, #""history":{"room":"bystanders","limit":-1}"#,
                    #""history":{"room":"bystanders","limit":1e999}"#,
                    #""history":{"room":"bystanders","afterSeq":18446744073709551615,"order":"ASC"}"#,
                    #""history":{"room":"bystanders","beforeSeq":18446744073709551615}"#,
                    #""history":{"room":"bystanders","beforeSeq":0}"#,
                    #""history":{"room":"bystanders","beforeSeq":9223372036854775808,"afterSeq":9223372036854775808}"#,
                    #""history":{"room":"bystanders","types":["TEXT","NONSENSE"]}"#,
                    #""enter":{"room":"bystanders","since":18446744073709551615,"epoch":""}"#,
                    #""enter":{"room":"bystanders","since":18446744073709551616,"epoch":"1"}"#,
                    #""enter":{"room":"bystanders","since":-1,"epoch":"1"}"#,
                    #""enter":{"room":"bystanders","since":1}"#, #""enter":{"room":".."}"#, #""enter":{"room":""}"#,
                    #""enter":{"room":5}"#, #""enter":5"#, #""enter":null"#, #""send":{}"#,
                    #""members":{"room":"bystanders","kind":"TEMPORARY","after":"\#u{FFFD}nonsense","limit":1}"#,
                    #""members":{"room":"bystanders","kind":"FIXED","after":"-1"}"#,
                    #""members":{"room":"bystanders","kind":"TEMPORARY","after":"\#(max)999"}"#,
                    #""members":{"room":"bystanders","kind":"TEMPORARY_REVERSED","after":"0"}"#,
                    #""membersById":{"room":"bystanders","users":[]}"#,
                    #""queue":{"room":"bystanders","after":"\#(max)","limit":0}"#,
                    #""queue":{"room":"bystanders","after":"x"}"#,
                    #""queueSet":{"room":"bystanders","key":"k","value":"v","ifVersion":\#(max)}"#,
                    #""queueSet":{"room":"bystanders","key":"k","value":"v","ifVersion":-9223372036854775808}"#,
                    #""tempMute":{"room":"bystanders","user":"one","seconds":\#(max)}"#,
                    #""tempMute":{"room":"bystanders","user":"one","seconds":-1}"#,
                    #""kick":{"room":"bystanders","user":"one","banSeconds":\#(max)}"#,
                    #""updateRoom":{"room":"bystanders","set":{"slowModeSeconds":\#(max)}}"#,
                    #""recall":{"room":"bystanders","messageId":"\#(max)"}"#,
                    #""recall":{"room":"bystanders","messageId":""}"#,
                    #""combined":{"room":"bystanders","messageId":"1-2-3"}"#,
                    #""send":{"room":"bystanders","clientId":"c1","type":"LOCATION","latitude":1e999,"longitude":0,"title":""}"#,
                    #""send":{"room":"bystanders","clientId":"c2","type":"FILE","media":{"url":"u","name":"n","size":\#(max),"contentType":"c"}}"#,
                    #""send":{"room":"bystanders","clientId":"c3","type":"COMMAND","payload":"***"}"#,
                    #""send":{"room":"bystanders","clientId":"c4","type":"NOTIFICATION","event":311}"#,
                    #""send":{"room":"bystanders","clientId":"c5","type":"CUSTOM","content":"","subtype":\#(max)}"#,
                    #""connect":{"anonymous":true}"#, #""refresh":{"token":""}"#, #""barrage":{"room":"bystanders"}"#,
                ]
                for (index, body) in bodies.enumerated() {
                    let id = UInt32(10_000 + index)
                    await client.write(text: #"{"id":\#(id),\#(body)}"#)
                    if case .failure(let error) = try await client.reply(to: id) {
                        #expect(error.code != .internal, "\(body): \(error)")
                    }
                }
            }
        }

        // MARK: - Who one is

        @Test(arguments: ClientEncoding.allCases)
        func `nothing is done for who has not connected`(_ encoding: ClientEncoding) async throws {
            try await besideBystanders(encoding: encoding) { node, room in
                let client = try await TestClient.open(port: node.clientPort)
                for operation in [
                    ClientOperation.ping, .enter(EnterRequest(room: room)), .text(room, "x"),
                    .history(RoomHistoryRequest(room: room)), .exit(RoomNameRequest(room: room)),
                    .barrage(BarrageRequest(room: room, text: "x")),
                    .refresh(RefreshRequest(token: try node.token("ann"))),
                ] {
                    #expect(try await client.refusal(of: operation).code == .unauthorized)
                }
                try await client.connect(token: node.token("late"))
                try await client.enter(room)
            }
        }

        /// Tokens that must be refused, with what is wrong with each.
        private static func badTokens() throws -> [(String, String)] {
            let now = Int(Date().timeIntervalSince1970)
            func token(_ change: (inout TestToken) -> Void) throws -> String {
                var token = TestToken()
                change(&token)
                return try token.signed()
            }
            let good = try TestToken().signed()
            return [
                ("empty", ""), ("no JWT", "abc"), ("dots", ".."), ("long", String(repeating: "a", count: 5000)),
                ("alg none", try token { $0.algorithm = "none" }),
                ("alg HS512", try token { $0.algorithm = "HS512" }),
                ("alg ES256 with the key of HS256", try token { $0.algorithm = "ES256" }),
                ("unknown kid", try token { $0.kid = "other" }),
                ("wrong signature", try token { $0.secret = "some other secret of thirty-two bytes" }),
                ("no signature", good.split(separator: ".").dropLast().joined(separator: ".") + "."),
                ("changed", good.replacingOccurrences(of: ".", with: ".e30", maxReplacements: 1)),
                (
                    "other use",
                    try token {
                        $0.kid = "staff"
                        $0.secret = TestNode.adminTokenSecret
                    }
                ),
                ("expired", try token { $0.claims["exp"] = now - 31 }),
                ("expired long ago", try token { $0.claims["exp"] = -1e300 }),
                ("no exp", try token { $0.claims["exp"] = nil }),
                ("not yet", try token { $0.claims["nbf"] = now + 60 }),
                ("no sub", try token { $0.claims["sub"] = nil }),
                ("sub is no user ID", try token { $0.claims["sub"] = "a b" }),
                ("rooms are no room IDs", try token { $0.claims["rooms"] = ["a b"] }),
            ]
        }

        @Test(arguments: ClientEncoding.allCases)
        func `bad tokens are refused`(_ encoding: ClientEncoding) async throws {
            try await besideBystanders(encoding: encoding) { node, _ in
                for (name, token) in try Self.badTokens() {
                    let client = try await TestClient.open(port: node.clientPort)
                    let error = try await client.refusal(of: .connect(ConnectRequest(token: token)))
                    // One that is too long is refused before it is looked at.
                    let code = name == "long" ? ErrorCode.tooLarge : .unauthorized
                    #expect(error.code == code, "\(name): \(error)")
                    #expect(try await client.closing() == 4401, "\(name)")
                    await client.socket.close()
                }
                let none = try await TestClient.open(port: node.clientPort)
                #expect(try await none.refusal(of: .connect(ConnectRequest())).code == .unauthorized)
                #expect(try await none.closing() == 4401)
            }
        }

        @Test func `times in tokens may be far away, but a token does not live for more than 366 days`() async throws {
            try await besideBystanders { node, _ in
                let now = Int(Date().timeIntervalSince1970)
                for (claim, value, isGood) in [
                    ("exp", 1e300, false), ("exp", Double(Int64.max), false), ("iat", -1e300, false),
                    ("nbf", -1e300, true), ("nbf", Double(now + 20), true),
                ] {
                    var token = TestToken()
                    token.claims[claim] = value
                    let client = try await TestClient.open(port: node.clientPort)
                    if isGood {
                        try await client.connect(token: token.signed())
                        _ = try await client.ask(.ping).get()
                    } else {
                        let request = ConnectRequest(token: try token.signed())
                        #expect(try await client.refusal(of: .connect(request)).code == .unauthorized)
                        #expect(try await client.closing() == 4401)
                    }
                }
            }
        }
    }
}

extension String {
    fileprivate func replacingOccurrences(of target: String, with other: String, maxReplacements: Int) -> String {
        var text = self
        for _ in 0..<maxReplacements {
            guard let range = text.range(of: target) else { break }
            text.replaceSubrange(range, with: other)
        }
        return text
    }
}
