import Testing

@testable import HTTPWebSocket

/// A request on the client port may have a small body if it is a POST.
@Suite struct RequestBodyTests {
    private func read(_ pieces: [String]) -> (body: String?, rest: Int, status: Int?) {
        var parser = HTTPUpgradeParser()
        for piece in pieces {
            switch Array(piece.utf8).withUnsafeBytes({ parser.parse($0) }) {
            case .needsMore: continue
            case .request(let request, let rest): return (String(decoding: request.body, as: UTF8.self), rest, nil)
            case .failure(let response):
                return (nil, 0, Int(String(decoding: response, as: UTF8.self).split(separator: " ")[1]))
            }
        }
        return (nil, 0, nil)
    }

    private func head(_ method: String = "POST", length: String) -> String {
        "\(method) /v1/demo HTTP/1.1\r\nHost: h\r\nContent-Length: \(length)\r\n\r\n"
    }

    @Test func `the body comes with its head, behind it, or byte by byte`() {
        #expect(read([head(length: "2") + "{}"]) == ("{}", 0, nil))
        #expect(read([head(length: "2"), "{}"]) == ("{}", 0, nil))
        #expect(read((head(length: "2") + "{}").map { String($0) }) == ("{}", 0, nil))
        #expect(read([head(length: "2") + "{}GET"]) == ("{}", 3, nil))
        #expect(read([head(length: "2"), "{", "}GET"]) == ("{}", 3, nil))
        #expect(read([head(length: "0") + "x"]) == ("", 1, nil))
        #expect(read([head(length: "3") + "{}"]) == (nil, 0, nil), "it waits for the rest")
    }

    @Test func `more than 1 KB is 413, and what is no number or no POST is 400`() {
        #expect(read([head(length: "1024") + String(repeating: "x", count: 1024)]).body?.count == 1024)
        #expect(read([head(length: "1025")]).status == 413)
        #expect(read([head(length: "99999999999999999999999")]).status == 413)
        for length in ["", "-1", "+1", "1a", "0x1", "1 1"] {
            #expect(read([head(length: length)]).status == 400, "\(length)")
        }
        for method in ["GET", "PUT", "HEAD"] { #expect(read([head(method, length: "1") + "x"]).status == 400) }
        let chunked = "POST / HTTP/1.1\r\nHost: h\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"
        #expect(read([chunked]).status == 411)
        let upload = "POST /v1/media/1 HTTP/1.1\r\nHost: h\r\nContent-Length: 70000\r\n\r\n"
        #expect(read([upload]).status == 405, "its size is not what is wrong")
    }
}
