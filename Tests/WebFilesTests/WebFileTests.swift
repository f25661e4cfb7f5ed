import Foundation
import HTTPWebSocket
import Testing

@testable import WebFiles

/// How files for browsers are kept and given.
@Suite struct WebFileTests {
    private static let text = String(repeating: "the same words again and again ", count: 50)
    private let file = WebFile(
        path: "/a.js", name: "a.js", content: Array(text.utf8), policy: "default-src 'none'", isForOthers: true)

    @Test func `who takes gzip gets it, and nobody else does`() throws {
        let plain = file.answer(acceptEncoding: nil, ifNoneMatch: nil)
        #expect(plain.body == Array(Self.text.utf8))
        let packed = file.answer(acceptEncoding: "br, gzip;q=0.5", ifNoneMatch: nil)
        #expect(packed.body.count < plain.body.count && packed.body.prefix(2) == [0x1F, 0x8B])
        #expect(packed.headers.contains(HTTPHeader(name: "Content-Encoding", value: "gzip")))
        #expect(!plain.headers.contains { $0.name == "Content-Encoding" })
        for refusing in ["", "br", "gzip;q=0", "gzip; q=0.0", "xgzip", "*"] {
            #expect(file.answer(acceptEncoding: refusing, ifNoneMatch: nil).body == plain.body, "\(refusing)")
        }
    }

    @Test func `who has the file is told so`() throws {
        let answer = file.answer(acceptEncoding: nil, ifNoneMatch: nil)
        let etag = try #require(answer.headers.first { $0.name == "ETag" }).value
        for known in [etag, "W/\(etag)", "\"other\", \(etag)", "*"] {
            let again = file.answer(acceptEncoding: "gzip", ifNoneMatch: known)
            #expect(again.status == 304 && again.body.isEmpty, "\(known)")
        }
        for other in ["\"other\"", "", ",,", String(repeating: ",", count: 10_000)] {
            #expect(file.answer(acceptEncoding: nil, ifNoneMatch: other).status == 200)
        }
        let changed = WebFile(path: "/a.js", name: "a.js", content: Array("x".utf8), policy: "")
        #expect(changed.answer(acceptEncoding: nil, ifNoneMatch: etag).status == 200)
    }

    @Test func `a file has the type of its name, and its policy`() {
        for (name, type) in [
            ("index.html", "text/html; charset=utf-8"), ("a.b.js", "text/javascript; charset=utf-8"),
            ("a.css", "text/css; charset=utf-8"), ("a.d.ts", "text/plain; charset=utf-8"),
            ("a", "text/plain; charset=utf-8"),
        ] {
            let answer = WebFile(path: "/", name: name, content: [65], policy: "p").answer(
                acceptEncoding: nil, ifNoneMatch: nil)
            #expect(answer.contentType == type)
            #expect(answer.headers.contains(HTTPHeader(name: "Content-Security-Policy", value: "p")))
        }
    }
}
