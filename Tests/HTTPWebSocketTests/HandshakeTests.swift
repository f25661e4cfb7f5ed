import Testing

@testable import HTTPWebSocket

private func parse(_ text: String) -> HTTPUpgradeParser.Outcome {
    var parser = HTTPUpgradeParser()
    return Array(text.utf8).withUnsafeBytes { parser.parse($0) }
}

private func request(_ text: String) -> UpgradeRequest? {
    if case .request(let request, 0) = parse(text) { request } else { nil }
}

private func status(_ text: String) -> Int? {
    guard case .failure(let response) = parse(text) else { return nil }
    return Int(String(decoding: response, as: UTF8.self).split(separator: " ")[1])
}

/// The request of RFC 6455 §1.3, with lines replaced or added.
private func handshake(method: String = "GET", _ changes: [String: String?] = [:]) -> String {
    var headers: [(String, String)] = [
        ("Host", "server.example.com"), ("Upgrade", "websocket"), ("Connection", "Upgrade"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="), ("Origin", "http://example.com"),
        ("Sec-WebSocket-Protocol", "chat, superchat"), ("Sec-WebSocket-Version", "13"),
    ]
    for (name, value) in changes.sorted(by: { $0.key < $1.key }) {
        headers.removeAll { $0.0 == name }
        if let value { headers.append((name, value)) }
    }
    return "\(method) /chat?x=1 HTTP/1.1\r\n" + headers.map { "\($0.0): \($0.1)\r\n" }.joined() + "\r\n"
}

private func refusal(_ text: String, _ subprotocols: [String] = ["chat"]) -> HTTPRefusal? {
    guard let request = request(text) else { return nil }
    if case .failure(let refusal) = WebSocketHandshake.accept(request, subprotocols: subprotocols) { return refusal }
    return nil
}

@Suite struct `The upgrade request` {
    @Test func `what a proxy says of the client is read`() {
        let given = handshake(["X-Forwarded-For": "1.2.3.4", "X-Forwarded-Proto": "https"])
        #expect(request(given)?.header("x-forwarded-for") == "1.2.3.4")
        #expect(request(given)?.header("x-forwarded-proto") == "https")
    }

    @Test func `of RFC 6455 is read, however it is cut`() {
        let bytes = Array((handshake() + "rest").utf8)
        for cut in 0...bytes.count {
            var parser = HTTPUpgradeParser()
            var found: UpgradeRequest?
            var left = 0
            for chunk in [Array(bytes[..<cut]), Array(bytes[cut...])] where found == nil {
                if case .request(let request, let rest) = chunk.withUnsafeBytes({ parser.parse($0) }) {
                    (found, left) = (request, rest)
                }
            }
            #expect(found?.path == "/chat" && found?.query == "x=1" && found?.method == "GET")
            #expect(found?.header("host") == "server.example.com")
            #expect(left == (cut < bytes.count - 4 ? 4 : cut - (bytes.count - 4)))
        }
        var parser = HTTPUpgradeParser()
        var outcomes = 0
        for byte in bytes.dropLast(4) {
            if case .request = [byte].withUnsafeBytes({ parser.parse($0) }) { outcomes += 1 }
        }
        #expect(outcomes == 1)
    }

    @Test(arguments: [
        "GET / HTTP/1.1\nHost: h\r\n\r\n", "GET  / HTTP/1.1\r\nHost: h\r\n\r\n", "GET /\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1 \r\nHost: h\r\n\r\n", " GET / HTTP/1.1\r\nHost: h\r\n\r\n", "GET x HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET http://h/ HTTP/1.1\r\nHost: h\r\n\r\n", "GET /a#b HTTP/1.1\r\nHost: h\r\n\r\n",
        "GET /\u{e9} HTTP/1.1\r\nHost: h\r\n\r\n", "G(T / HTTP/1.1\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nHost: h\r\n\r\n", "GET / HTTP/1.1\r\nHost : h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n folded\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\n: v\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nX: a\u{0}b\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nX: a\rb\r\n\r\n", "GET / HTTP/1.1\r\nHost: h\r\nContent-Length: 5\r\n\r\n",
        "\r\n\r\n", "GET / HTTPS\r\nHost: h\r\n\r\n",
        "GET / HTTP/1.1\r\nHost: h\r\nOrigin: a\r\nOrigin: b\r\n\r\n",
    ])
    func `is 400 when it breaks RFC 9112`(text: String) { #expect(status(text) == 400) }

    @Test func `is bounded`() {
        func line(_ count: Int) -> String {
            "GET /" + String(repeating: "a", count: count - 14) + " HTTP/1.1\r\nHost: h\r\n\r\n"
        }
        #expect(request(line(8192)) != nil)
        #expect(status(line(8194)) == 414)
        #expect(status(String(repeating: "G", count: 9000)) == 414)
        func headers(_ count: Int) -> String {
            "GET / HTTP/1.1\r\nHost: h\r\n" + (1..<count).map { "X\($0): v\r\n" }.joined() + "\r\n"
        }
        #expect(request(headers(1_000)) != nil, "the bytes are the bound, not the lines")
        #expect(status(headers(2_000)) == 431)
        let endless = "GET / HTTP/1.1\r\nHost: h\r\nX: " + String(repeating: "v", count: 40_000)
        #expect(status(endless) == 431)
        var parser = HTTPUpgradeParser()
        var ended = false
        for byte in endless.utf8.prefix(16 << 10) where !ended {
            if case .failure = [byte].withUnsafeBytes({ parser.parse($0) }) { ended = true }
        }
        #expect(ended)
        #expect(status("GET / HTTP/1.0\r\nHost: h\r\n\r\n") == 505)
        #expect(status("GET / HTTP/2.0\r\nHost: h\r\n\r\n") == 505)
    }

    @Test func `for a file is read too`() {
        let found = request("GET /chatroom.js HTTP/1.1\r\nHost: h\r\nAccept: */*\r\n\r\n")
        #expect(found?.path == "/chatroom.js" && found?.query == "" && found?.isUpgrade == false)
    }
}

@Suite struct `The server handshake` {
    @Test func `answers the request of RFC 6455 with its accept key`() throws {
        let found = try #require(request(handshake()))
        let response = try WebSocketHandshake.accept(found, subprotocols: ["superchat", "chat"]).get()
        #expect(
            String(decoding: response, as: UTF8.self)
                == "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\nSec-WebSocket-Protocol: chat\r\n\r\n")
    }

    @Test func `chooses no subprotocol when none is offered, and refuses when none is known`() throws {
        let none = try #require(request(handshake(["Sec-WebSocket-Protocol": nil])))
        #expect(try WebSocketHandshake.negotiate(none, subprotocols: ["chat"]).get() == nil)
        #expect(refusal(handshake(), ["other"])?.status == 400)
        #expect(refusal(handshake(), ["Chat"])?.status == 400)
    }

    @Test func `refuses what is not a right request`() {
        #expect(refusal(handshake()) == nil)
        #expect(refusal(handshake(["Connection": "keep-alive, Upgrade", "Upgrade": "WebSocket"])) == nil)
        #expect(refusal(handshake(method: "POST"))?.status == 405)
        #expect(refusal(handshake(["Upgrade": nil]))?.status == 426)
        #expect(refusal(handshake(["Upgrade": "h2c"]))?.status == 426)
        #expect(refusal(handshake(["Connection": "close"]))?.status == 400)
        for key in [nil, "", "dGhlIHNhbXBsZSBub25jZQ", "dGhlIHNhbXBsZSBub25j", "dGhlIHNhbXBsZSBub25jZQ==AAAA", "%"]
            as [String?]
        {
            #expect(refusal(handshake(["Sec-WebSocket-Key": key]))?.status == 400)
        }
        for version in [nil, "8", "14", "13, 8"] as [String?] {
            let refused = refusal(handshake(["Sec-WebSocket-Version": version]))
            #expect(refused?.status == 426)
            #expect(refused?.headers == [HTTPHeader(name: "Sec-WebSocket-Version", value: "13")])
        }
    }
}

@Suite struct `The client handshake` {
    private let nonce = Array("the sample nonce".utf8)

    private func outcome(_ response: String, _ subprotocols: [String] = ["a", "b"]) -> String {
        var handshake = WebSocketClientHandshake(nonce: nonce, subprotocols: subprotocols)
        switch Array(response.utf8).withUnsafeBytes({ handshake.parse($0) }) {
        case .needsMore: return "more"
        case .open(let subprotocol, let rest): return "open \(subprotocol ?? "-") \(rest)"
        case .failure(let status, _): return "failure \(status)"
        }
    }

    @Test func `opens against the server handshake`() throws {
        for (offered, chosen) in [(["a", "b"], "b"), ([], "-")] {
            var client = WebSocketClientHandshake(nonce: nonce, subprotocols: offered)
            let text = String(decoding: client.request(host: "h:1", target: "/v1/ws?x"), as: UTF8.self)
            let found = try #require(request(text))
            #expect(found.path == "/v1/ws" && found.query == "x" && found.header("host") == "h:1")
            let response = try WebSocketHandshake.accept(found, subprotocols: ["b"]).get()
            #expect(outcome(String(decoding: response, as: UTF8.self) + "xyz", offered) == "open \(chosen) 3")
            for byte in response.dropLast() {
                guard case .needsMore = [byte].withUnsafeBytes({ client.parse($0) }) else {
                    Issue.record("ended early")
                    break
                }
            }
        }
    }

    @Test func `fails on a wrong response`() {
        let accept = "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n"
        let switching = "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
        #expect(outcome(switching + accept + "\r\n") == "open - 0")
        #expect(outcome(switching + "\r\n") == "failure 0")
        #expect(outcome(switching + "Sec-WebSocket-Accept: AAAA\r\n\r\n") == "failure 0")
        #expect(outcome(switching + accept + accept + "\r\n") == "failure 0")
        #expect(outcome(switching + accept + "Sec-WebSocket-Protocol: c\r\n\r\n") == "failure 0")
        #expect(outcome(switching + accept + "Sec-WebSocket-Extensions: permessage-deflate\r\n\r\n") == "failure 0")
        #expect(outcome("HTTP/1.1 101 S\r\nConnection: Upgrade\r\n" + accept + "\r\n") == "failure 0")
        #expect(outcome("HTTP/1.1 503 Service Unavailable\r\n\r\n") == "failure 503")
        #expect(outcome("HTTP/1.0 101 S\r\n\r\n") == "failure 0")
        #expect(outcome("HTTP/1.1 99999 S\r\n\r\n") == "failure 0")
        #expect(outcome("nonsense\r\n\r\n") == "failure 0")
        #expect(outcome(String(repeating: "x", count: 40_000)) == "failure 0")
    }

    /// The response to a client that reads compressed messages, with these extensions: nil for a failure, else whether
    /// something comes compressed, and whether the window is kept.
    private func agreed(_ extensions: String?) -> (isAgreed: Bool, keepsContext: Bool)? {
        var client = WebSocketClientHandshake(nonce: nonce, subprotocols: [], offersCompression: true)
        let line = extensions.map { "Sec-WebSocket-Extensions: \($0)\r\n" } ?? ""
        let response =
            "HTTP/1.1 101 S\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Accept: s3pPLMBiTxaQ9kYGzzhZRbK+xOo=\r\n\(line)\r\n"
        guard case .open = Array(response.utf8).withUnsafeBytes({ client.parse($0) }) else { return nil }
        return (client.agreement != nil, client.agreement?.keepsContext ?? false)
    }

    @Test func `takes the compression that it has offered, and no other`() throws {
        let client = WebSocketClientHandshake(nonce: nonce, subprotocols: [], offersCompression: true)
        let found = try #require(request(String(decoding: client.request(host: "h", target: "/"), as: UTF8.self)))
        let answer = try #require(PermessageDeflate.agree(with: found))
        #expect(answer.keepsContext && agreed(answer.answer)?.keepsContext == true)
        #expect(agreed(nil)?.isAgreed == false)
        #expect(agreed("permessage-deflate; server_no_context_takeover")?.keepsContext == false)
        #expect(agreed("permessage-deflate; server_no_context_takeover")?.isAgreed == true)
        for wrong in [
            "permessage-bzip2", "permessage-deflate, permessage-deflate",
            "permessage-deflate; server_max_window_bits=12", "permessage-deflate; client_max_window_bits",
            "permessage-deflate;", "permessage-deflate; unknown",
            "permessage-deflate; client_no_context_takeover; client_no_context_takeover",
        ] { #expect(agreed(wrong) == nil, "\(wrong)") }
    }
}

@Suite struct `The offer of permessage-deflate` {
    private func agreement(_ offer: String) -> PermessageDeflate.Agreement? {
        request(handshake(["Sec-WebSocket-Extensions": offer])).flatMap { PermessageDeflate.agree(with: $0) }
    }

    private let plain = "permessage-deflate; client_no_context_takeover"

    @Test(arguments: [
        "permessage-deflate", "permessage-deflate; client_max_window_bits",
        "Permessage-Deflate;client_max_window_bits=8",
        "permessage-deflate; client_max_window_bits=\"15\" ;client_no_context_takeover",
        "x-webkit-deflate-frame, permessage-deflate",
        "permessage-deflate; server_max_window_bits=10, permessage-deflate",
    ])
    func `is accepted, and the client keeps the window`(offer: String) {
        #expect(agreement(offer)?.answer == plain)
        #expect(agreement(offer)?.keepsContext == true)
    }

    @Test func `is accepted from clients that keep no window`() {
        let without = agreement("permessage-deflate; client_max_window_bits; server_no_context_takeover")
        #expect(without?.answer == "permessage-deflate; server_no_context_takeover; client_no_context_takeover")
        #expect(without?.keepsContext == false)
    }

    @Test(arguments: 12...15)
    func `a window that is asked for is confirmed as the one that is used`(bits: Int) {
        #expect(
            agreement("permessage-deflate; server_max_window_bits=\(bits)")?.answer
                == plain + "; server_max_window_bits=12")
    }

    @Test(arguments: [
        "", "permessage-bzip2", "permessage-deflate; server_max_window_bits=11",
        "permessage-deflate; server_max_window_bits=16", "permessage-deflate; server_max_window_bits=012",
        "permessage-deflate; server_max_window_bits",
        "permessage-deflate; client_max_window_bits=16", "permessage-deflate; client_max_window_bits=08",
        "permessage-deflate; server_no_context_takeover=1", "permessage-deflate; unknown",
        "permessage-deflate; client_max_window_bits; client_max_window_bits", "permessage-deflate; ;",
    ])
    func `is declined with parameters that are wrong, unknown or there twice`(offer: String) {
        #expect(agreement(offer) == nil)
    }

    @Test func `is not made`() {
        #expect(request(handshake()).flatMap { PermessageDeflate.agree(with: $0) } == nil)
    }
}

@Suite struct `SHA-1` {
    /// RFC 3174, section 7.3.
    @Test(arguments: [
        ("abc", 1, "a9993e364706816aba3e25717850c26c9cd0d89d"),
        ("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 1, "84983e441c3bd26ebaae4aa1f95129e5e54670f1"),
        ("a", 1_000_000, "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
        (
            "0123456701234567012345670123456701234567012345670123456701234567", 10,
            "dea356a2cddd90c7a7ecedc5ebb563934f460452"
        ),
        ("", 1, "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
    ])
    func `gives the RFC's hashes`(text: String, times: Int, hex: String) {
        let hash = SHA1.hash(Array(repeatElement(Array(text.utf8), count: times).joined()))
        #expect(hash.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined() == hex)
    }
}
