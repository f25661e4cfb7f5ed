import HTTPTestKit
import Foundation
@testable import HTTPClient
import Testing

/// What goes out and what comes back.
struct CallTests {
    @Test func `method, path, headers and body arrive as they were given`() async throws {
        try await TestRun.run(answer: { _ in .bytes(TestServer.ok("done")) }) { run in
            var request = run.request("/a/../b/%2e?c=d")
            request.method = "PUT"
            request.headers = [("X-One", "1"), ("X-Empty", ""), ("Content-Type", "application/json")]
            request.body = Array("{}".utf8)
            let answer = try await run.client.send(request)
            #expect(answer == HTTPClientAnswer(status: 200, body: Array("done".utf8)))
            let lines = try #require(await run.server.requests.first).components(separatedBy: "\r\n")
            #expect(lines.first == "PUT /a/../b/%2e?c=d HTTP/1.1")
            #expect(lines.last == "{}")
            for line in ["X-One: 1", "X-Empty:", "Content-Type: application/json", "Content-Length: 2"] {
                #expect(lines.contains(line), "\(line) in \(lines)")
            }
            #expect(lines.count { $0.lowercased().hasPrefix("content-type") || $0.hasPrefix("Expect") } == 1)
        }
    }

    @Test func `headers of the answer are kept where they were asked for`() async throws {
        let answer =
            "HTTP/1.1 200 OK\r\nETag:  \"a:b\" \r\nX-Other: 1\r\nX-Twice: 1\r\nx-twice: 2\r\nContent-Length: 0\r\n\r\n"
        try await TestRun.run(answer: { _ in .bytes(answer) }) { run in
            var request = run.request()
            let unasked = try await run.client.send(request)
            #expect(unasked.headers.isEmpty)
            request.answerHeaders = ["etag", "x-twice", "x-none"]
            let asked = try await run.client.send(request)
            #expect(asked.headers == ["etag": "\"a:b\"", "x-twice": "2"])
        }
    }

    @Test func `a POST without a body says that it has none`() async throws {
        try await TestRun.run { run in
            var request = run.request()
            request.method = "POST"
            _ = try await run.client.send(request)
            let text = try #require(await run.server.requests.first)
            #expect(text.hasPrefix("POST / HTTP/1.1\r\n") && text.contains("Content-Length: 0\r\n"))
            #expect(!text.contains("Content-Type"))
        }
    }

    @Test func `a redirect is an answer`() async throws {
        try await TestRun.run(answer: { _ in
            .bytes("HTTP/1.1 302 Found\r\nLocation: /elsewhere\r\nContent-Length: 0\r\n\r\n")
        }) { run in
            let answer = try await run.client.send(run.request())
            #expect(answer.status == 302)
            #expect(await run.server.requests.count == 1)
        }
    }

    @Test func `calls one after the other share a connection, but for those that must not`() async throws {
        try await TestRun.run { run in
            for _ in 0..<3 { _ = try await run.client.send(run.request()) }
            #expect(await run.server.connectionsMade == 1)
            var alone = run.request()
            alone.reusesConnection = false
            _ = try await run.client.send(alone)
            #expect(await run.server.connectionsMade == 2)
        }
    }

    @Test(arguments: ["file:///etc/passwd", "ftp://127.0.0.1/", "gopher://127.0.0.1:1/", "unix:/tmp/x", "http://", ""])
    func `other protocols than HTTP are refused`(_ url: String) async throws {
        try await TestRun.run { run in
            let error = await run.failure(run.request("", url))
            #expect(error?.code == .request && error?.nothingSent == true, "\(String(describing: error))")
        }
    }

    @Test(arguments: [("X", "a\r\nY: b"), ("X", "a\0"), ("X: y", ""), ("", "x"), ("X Y", "z")])
    func `a header can't begin another line`(_ name: String, _ value: String) async throws {
        try await TestRun.run { run in
            var request = run.request()
            request.headers = [(name, value)]
            #expect(await run.failure(request)?.code == .request)
            #expect(await run.server.connectionsMade == 0)
        }
    }
}
