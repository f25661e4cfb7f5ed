import ChatModel
import Foundation
import OpenAPITestKit
import Testing

@testable import ServerAPI

/// What a connection of the server API does beside answering: bytes in, bytes out.
@Suite(.timeLimit(.minutes(2))) struct APIConnectionTests {
    private static let authorization = "Authorization: Bearer \(FakeCluster.adminKey)\r\n"
    private static let create = #"{"creator":"ann"}"#

    /// Sends pieces, each when the text before has come, and returns all that comes until the server closes.
    private func talk(_ port: Int, _ pieces: [(send: String, until: String)]) async throws -> String {
        let socket = try HeldSocket(port: port)
        var all = ""
        for piece in pieces {
            socket.send(piece.send)
            all += await socket.text(until: piece.until)
        }
        return all
    }

    @Test func `requests that are sent together are answered in their order`() async throws {
        try await withServer { client, cluster in
            let gets = ["/healthz", "/nothing", "/readyz"].map { "GET \($0) HTTP/1.1\r\nHost: h\r\n\r\n" }
            let post =
                "POST /v1/rooms HTTP/1.1\r\nHost: h\r\n\(Self.authorization)Transfer-Encoding: chunked\r\n\r\n"
                + "5\r\n\(Self.create.prefix(5))\r\nc\r\n\(Self.create.dropFirst(5))\r\n0\r\n\r\n"
            let last = "GET /healthz HTTP/1.1\r\nHost: h\r\nConnection: close\r\n\r\n"
            let text = try await talk(client.port, [(gets.joined() + post + last, "")])
            let statuses = text.components(separatedBy: "HTTP/1.1 ").dropFirst().map { String($0.prefix(3)) }
            #expect(statuses == ["200", "404", "200", "200", "200"])
            #expect(cluster.calls.count == 1)
            #expect(text.components(separatedBy: "Connection: close").count == 2)
        }
    }

    @Test func `HEAD is GET without a body`() async throws {
        try await withServer { client, _ in
            let text = try await talk(
                client.port,
                [
                    (
                        "HEAD /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /healthz HTTP/1.1\r\nHost: h\r\n"
                            + "Connection: close\r\n\r\n", ""
                    )
                ])
            let halves = text.components(separatedBy: "HTTP/1.1 200 OK\r\n")
            #expect(halves.count == 3)
            #expect(halves[1].contains("Content-Length: 15\r\n") && halves[1].hasSuffix("\r\n\r\n"))
            #expect(halves[2].hasSuffix(#"{"status":"ok"}"#))
        }
    }

    @Test func `who waits for a word before the body gets it, unless the answer comes first`() async throws {
        try await withServer { client, cluster in
            let head = "POST /v1/rooms HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\nContent-Length: 17\r\n"
            let taken = try await talk(
                client.port,
                [
                    (head + Self.authorization + "Connection: close\r\n\r\n", "HTTP/1.1 100 Continue\r\n\r\n"),
                    (Self.create, ""),
                ])
            #expect(taken.contains("HTTP/1.1 200 OK"))
            #expect(cluster.calls.count == 1)
            // Without the word the body may never come: the connection ends.
            let refused = try await talk(client.port, [(head + "\r\n", "")])
            #expect(refused.hasPrefix("HTTP/1.1 401 ") && refused.contains("Connection: close"))
            let strange = try await talk(client.port, [(head.replacing("100-continue", with: "more") + "\r\n", "")])
            #expect(strange.hasPrefix("HTTP/1.1 417 "))
        }
    }

    @Test(arguments: [
        "Content-Length: 3\r\nTransfer-Encoding: chunked\r\n", "Content-Length: 3\r\nContent-Length: 4\r\n",
        "Content-Length: 3\r\n folded\r\n", "Transfer-Encoding : chunked\r\n", "Host: other\r\n",
    ])
    func `a request that could hide another one is refused, and the connection ends`(header: String) async throws {
        try await withServer { client, cluster in
            let text = try await talk(
                client.port,
                [
                    (
                        "POST /v1/rooms HTTP/1.1\r\nHost: h\r\n\(Self.authorization)\(header)\r\n"
                            + "0\r\n\r\nGET /v1/rooms HTTP/1.1\r\nHost: h\r\n\(Self.authorization)\r\n", ""
                    )
                ])
            #expect(text.hasPrefix("HTTP/1.1 400 "))
            #expect(text.components(separatedBy: "HTTP/1.1 ").count == 2, "nothing behind it is answered")
            #expect(text.contains("Connection: close"))
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `a request of HTTP/1.0 is answered, and the connection ends`() async throws {
        try await withServer { client, _ in
            let text = try await talk(client.port, [("GET /healthz HTTP/1.0\r\n\r\n", "")])
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.contains("Connection: close"))
        }
    }

    @Test func `a request that drips in byte by byte is answered like any other`() async throws {
        try await withServer { client, cluster in
            let socket = try HeldSocket(port: client.port)
            let text =
                "POST /v1/rooms HTTP/1.1\r\nHost: h\r\n\(Self.authorization)Connection: close\r\nContent-Length: 17\r\n\r\n"
                + Self.create
            for byte in text.utf8 {
                socket.send(String(decoding: [byte], as: UTF8.self))
                // So that the server reads most of them apart; nothing is waited for.
                try await Task.sleep(for: .milliseconds(1))
            }
            #expect(await socket.text(until: "").hasPrefix("HTTP/1.1 200 "))
            #expect(cluster.calls.count == 1)
        }
    }

    @Test func `a body whose caller has gone does nothing`() async throws {
        try await withServer { client, cluster in
            do {
                let socket = try HeldSocket(port: client.port)
                socket.send(
                    "POST /v1/rooms HTTP/1.1\r\nHost: h\r\n\(Self.authorization)Content-Length: 17\r\n\r\n{")
            }
            #expect(try await client.call("POST", "/v1/rooms", Self.create).status == 200)
            #expect(cluster.calls.count == 1)
        }
    }
}

/// Bodies in pieces, without a socket.
@Suite(.timeLimit(.minutes(1))) struct APIBodyTests {
    @Test func `a body is asked for when it is waited for, and not before`() async throws {
        let (asked, ask) = AsyncStream.makeStream(of: Void.self)
        let body = APIRequestBody(declaredBytes: nil, isWhole: false) { ask.yield() }
        body.push([1, 2])
        #expect(try await body.next() == [1, 2])
        async let next = body.next()
        for await _ in asked { break }
        body.push([3])
        #expect(try await next == [3])
        body.finish()
        #expect(try await body.next() == nil)
    }

    @Test func `a full body takes no more until it is read`() async throws {
        let body = APIRequestBody(declaredBytes: nil, isWhole: false) {}
        body.push([UInt8](repeating: 0, count: APIRequestBody.bufferedBytesMax)[...])
        #expect(!body.hasRoom)
        _ = try await body.next()
        #expect(body.hasRoom)
    }

    @Test func `a body that comes byte by byte is one piece to whoever asks for it`() async throws {
        let body = APIRequestBody(declaredBytes: nil, isWhole: false) {}
        for byte in 0..<100_000 { body.push([UInt8(truncatingIfNeeded: byte)]) }
        #expect(try await body.next()?.count == 100_000)
        #expect(body.hasRoom)
    }

    @Test func `a body that breaks off is an error, behind what has come of it`() async throws {
        let body = APIRequestBody(declaredBytes: 9, isWhole: false) {}
        body.push([1])
        body.fail()
        #expect(try await body.next() == [1])
        await #expect(throws: ChatError.self) { try await body.next() }
    }

    @Test func `a body over the bound is refused, one that says so unread`() async throws {
        let announced = APIRequestBody(declaredBytes: 5, isWhole: false) { Issue.record("it was asked for") }
        let error = await #expect(throws: ChatError.self) { try await announced.whole(bytesMax: 4) }
        #expect(error?.code == .tooLarge)
        let chunked = APIRequestBody(declaredBytes: nil, isWhole: false) {}
        chunked.push([1, 2, 3])
        chunked.push([4, 5])
        await #expect(throws: ChatError.self) { try await chunked.whole(bytesMax: 4) }
    }

    @Test func `a stream is sent in chunks, and as it is to who knows none`() {
        var answer = APIResponse(body: [1])
        answer.stream = APIResponseStream { nil }
        var delivery = APIResponse.Delivery(isLast: false, isHeadOnly: false, isVersion10: false, date: "now")
        let chunked = String(decoding: answer.bytes(delivery), as: UTF8.self)
        #expect(chunked.contains("Transfer-Encoding: chunked\r\n") && !chunked.contains("Content-Length"))
        #expect(chunked.hasSuffix("\r\n\r\n1\r\n\u{1}\r\n"))
        delivery.isVersion10 = true
        #expect(String(decoding: answer.bytes(delivery), as: UTF8.self).hasSuffix("\r\n\r\n\u{1}"))
        #expect(
            APIResponse.piece([UInt8](repeating: 7, count: 17), isVersion10: false).starts(with: Array("11\r\n".utf8)))
        #expect(APIResponse.piece([], isVersion10: false).isEmpty)
    }

    @Test func `an answer says once how long it is kept, and is taken for no other type`() {
        var answer = APIResponse(body: [1])
        let delivery = APIResponse.Delivery(isLast: false, isHeadOnly: false, isVersion10: false, date: "now")
        let plain = String(decoding: answer.bytes(delivery), as: UTF8.self)
        #expect(plain.contains("Cache-Control: no-store\r\n"))
        #expect(plain.contains("X-Content-Type-Options: nosniff\r\n"))
        answer.headers["Cache-Control"] = "no-cache"
        let file = String(decoding: answer.bytes(delivery), as: UTF8.self)
        #expect(file.contains("Cache-Control: no-cache\r\n") && !file.contains("no-store"))
    }

    @Test func `a date is written as HTTP wants it`() {
        var date = HTTPDate()
        #expect(date.at(784_111_777) == "Sun, 06 Nov 1994 08:49:37 GMT")
    }
}
