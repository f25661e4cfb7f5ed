import Testing

@testable import HTTPWebSocket

@Suite struct HTTPRequestDecoderTests {
    private static let limits = HTTPHeadLimits(firstLineBytes: 200, headerBytes: 200, headBytes: 600, headers: 8)

    /// What a decoder says of bytes that come in pieces: heads, whole bodies, and how it ended.
    private struct Dialogue: Equatable {
        var requests: [String] = []
        var refusal: Int?
        var isWithinRequest = false
    }

    private static func dialogue(_ bytes: [UInt8], piece: Int) -> Dialogue {
        var decoder = HTTPRequestDecoder(names: ["authorization"], limits: limits)
        var dialogue = Dialogue()
        var body: [UInt8] = []
        for start in stride(from: 0, to: bytes.count, by: piece) {
            Array(bytes[start..<min(bytes.count, start + piece)]).withUnsafeBytes { chunk in
                var position = 0
                while let event = decoder.next(chunk, from: &position) {
                    switch event {
                    case .head(let head, let framing):
                        body = []
                        dialogue.requests.append("\(head.method) \(head.target) \(framing)")
                    case .body(let range): body += chunk[range]
                    case .end:
                        dialogue.requests[dialogue.requests.count - 1] += " \(String(decoding: body, as: UTF8.self))"
                    case .refused(let refusal): dialogue.refusal = refusal.status
                    }
                }
                #expect(position == chunk.count)
            }
        }
        dialogue.isWithinRequest = decoder.isWithinRequest
        return dialogue
    }

    /// In pieces of every size the same.
    private func check(_ text: String, _ expected: Dialogue, sourceLocation: SourceLocation = #_sourceLocation) {
        let bytes = Array(text.utf8)
        for piece in [1, 2, 3, 5, 7, 16, max(1, bytes.count - 1), max(1, bytes.count)] {
            let found = Self.dialogue(bytes, piece: piece)
            #expect(found == expected, "pieces of \(piece)", sourceLocation: sourceLocation)
        }
    }

    @Test(arguments: [
        ("http://h:80/a?b=/c", "/a?b=/c"), ("HTTPS://h/a//b", "/a//b"), ("http://h", "/"), ("http://h?a", "/?a"),
        ("http://", "/"), ("http:/a", "http:/a"), ("/http://h/a", "/http://h/a"), ("*", "*"), ("h:80", "h:80"),
    ])
    func `of a whole URL the target is what follows its authority`(target: String, path: String) {
        check("GET \(target) HTTP/1.1\r\nHost: h\r\n\r\n", Dialogue(requests: ["GET \(path) none"]))
    }

    @Test func `requests behind each other are read in order, with bodies of either kind`() {
        check(
            "GET /a HTTP/1.1\r\nHost: h\r\n\r\n"
                + "POST /b HTTP/1.1\r\nhost:h\r\nContent-Length: 5\r\n\r\nhello"
                + "\r\nPUT /c HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: Chunked\r\n\r\n"
                + "3\r\nabc\r\nA;name=\"x y\"\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\n"
                + "GET /d HTTP/1.0\r\n\r\n",
            Dialogue(requests: [
                "GET /a none", "POST /b fixed(5) hello", "PUT /c chunked abc0123456789", "GET /d none",
            ]))
    }

    @Test(arguments: [
        // Two lengths, in whatever guise.
        "Content-Length: 3\r\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked\r\nContent-Length: 3",
        "Content-Length: 3\r\nContent-Length: 3", "Content-Length: 3\r\nContent-Length: 4", "Content-Length: 3, 3",
        "Content-Length: +3", "Content-Length: -3", "Content-Length: 0x3", "Content-Length: 3 3", "Content-Length:",
        "Content-Length: 9999999999999999999", "Content-Length: 3\u{b}", "Content-Length : 3", "Content_Length\t: 3",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked",
        // Lines that another reader could see elsewhere.
        "X: a\r\n folded", "X: a\nContent-Length: 3", "X: a\rContent-Length: 3", " X: a", "X", ": a", "X: \u{0}",
        "Host: other", "Authorization: a\r\nAuthorization: b", "Authorization: caf\u{e9}",
    ])
    func `what two readers could take for different requests is refused`(header: String) {
        check("POST / HTTP/1.1\r\nHost: h\r\n\(header)\r\n\r\nabc", Dialogue(refusal: 400, isWithinRequest: true))
    }

    @Test(arguments: ["identity", "gzip, chunked", "chunked, identity", "xchunked", "chunked;q=1", "\"chunked\"", ""])
    func `no transfer coding but chunked is known`(coding: String) {
        check(
            "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: \(coding)\r\n\r\n0\r\n\r\n",
            Dialogue(refusal: 501, isWithinRequest: true))
    }

    @Test(arguments: [
        "\r\n", "g\r\n", "0x3\r\nabc\r\n", " 3\r\nabc\r\n", "3 \r\nabc\r\n", "-1\r\n", "3\nabc\r\n", "3\rabc\r\n",
        "3\r\nabcd\r\n", "3\r\nabc\n0\r\n\r\n", "1000000000000000\r\n", "3;\u{1}\r\n",
        "3;\(String(repeating: "x", count: 257))\r\nabc\r\n", "0\r\nX\n\r\n", "0\r\nX: \u{7f}\r\n\r\n",
    ])
    func `broken chunks are refused`(body: String) {
        check(
            "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n\(body)",
            Dialogue(requests: ["POST /b chunked"], refusal: 400, isWithinRequest: true))
    }

    @Test func `trailers without end are refused`() {
        let line = "X: \(String(repeating: "x", count: 100))\r\n"
        let text =
            "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n"
            + String(repeating: line, count: 1 + HTTPChunkedBody.trailerBytesMax / 100)
        #expect(Self.dialogue(Array(text.utf8), piece: 50).refusal == 400)
    }

    @Test(arguments: [
        ("GET / HTTP/1.1\r\n\r\n", 400), ("GET / HTTP/2.0\r\nHost: h\r\n\r\n", 505),
        ("GET  / HTTP/1.1\r\nHost: h\r\n\r\n", 400), ("GET /\r\nHost: h\r\n\r\n", 400), ("\rGET", 400),
        ("\u{16}\u{3}\u{1}\r\n\r\n", 400), ("POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        ("GET /\(String(repeating: "x", count: 300))", 414),
        ("GET / HTTP/1.1\r\nHost: h\r\nX: \(String(repeating: "x", count: 300))\r\n\r\n", 431),
        ("GET / HTTP/1.1\r\n\(String(repeating: "X: y\r\n", count: 9))\r\n", 431),
        ("GET / HTTP/1.1\r\n\(String(repeating: "X: yyyyyyyyyyyyy\r\n", count: 60))", 431),
    ])
    func `a head that is none, or too large, is refused with the status that says so`(text: String, status: Int) {
        check(text, Dialogue(refusal: status, isWithinRequest: true))
    }

    @Test func `every truncation waits, and nothing is said twice`() {
        let text = "POST /b HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n"
        for count in 1..<text.utf8.count {
            let found = Self.dialogue(Array(text.utf8.prefix(count)), piece: 4)
            #expect(found.refusal == nil)
            #expect(found.isWithinRequest)
            #expect(found.requests == [] || found.requests == ["POST /b chunked"])
        }
    }

    @Test func `behind a refusal nothing is read`() {
        let text = "GET / HTTP/9\r\nHost: h\r\n\r\nGET /a HTTP/1.1\r\nHost: h\r\n\r\n"
        check(text, Dialogue(refusal: 505, isWithinRequest: true))
    }

    @Test func `headers that nobody reads may be anything but control characters`() {
        check(
            "GET /\u{e9} HTTP/1.1\r\nHost: h\r\nCookie: \u{e9}\r\nCookie: b\r\n\r\n",
            Dialogue(requests: ["GET /\u{e9} none"]))
    }
}
