import ChatModel
import OpenAPITestKit
import Testing

@testable import ServerAPI

@Suite struct HTTPTests {
    @Test(arguments: ErrorCode.allCases)
    func `each refusal has its status, its shape and when to come back`(code: ErrorCode) async throws {
        try await withServer { client, cluster in
            cluster.fail(with: ChatError(code, "because \"so\"", retryAfterMs: 1001, field: "f"))
            let answer = try await client.call("GET", "/v1/rooms/r1")
            #expect(answer.status == code.httpStatus)
            #expect(answer.headers["retry-after"] == "2")
            #expect(answer.headers["content-type"] == "application/json")
            #expect(
                answer.json == [
                    "error": .object([
                        "code": .integer(Int64(code.number)), "name": .text(code.name),
                        "message": .text("because \"so\""), "retryAfterMs": .integer(1001), "field": .text("f"),
                    ])
                ])
        }
    }

    @Test func `waits round up to whole seconds and absent ones are absent`() async throws {
        #expect(APIResponse(ChatError(.tooOften, "", retryAfterMs: 0)).headers["Retry-After"] == "0")
        #expect(APIResponse(ChatError(.tooOften, "", retryAfterMs: 1)).headers["Retry-After"] == "1")
        #expect(APIResponse(ChatError(.tooOften, "", retryAfterMs: 2000)).headers["Retry-After"] == "2")
        #expect(APIResponse(ChatError(.tooOften, "", retryAfterMs: .max)).headers["Retry-After"] == "9223372036854776")
        #expect(APIResponse(ChatError(.tooOften, "", retryAfterMs: .min)).headers["Retry-After"] == "0")
        #expect(APIResponse(ChatError(.tooOften, "")).headers["Retry-After"] == nil)
    }

    @Test(arguments: [
        nil, "", "Bearer", "Bearer ", "Bearer wrong", "Basic correct-horse", "correct-horse", "Bearer correct-horse x",
        "Bearer \(String(repeating: "t", count: 4097))",
    ])
    func `without the admin key every call but three is refused`(authorization: String?) async throws {
        try await withServer { client, cluster in
            for route in Routes.all(bodyBytesMax: 1) where route.needsAuthorization {
                let target = route.path.replacing("{room}", with: "r1").replacing("{user}", with: "u")
                let answer = try await client.call(
                    route.method.rawValue, target.replacing("{messageId}", with: "m"), "{}",
                    headers: authorization.map { ["Authorization": $0] } ?? [:], bearer: nil)
                #expect(answer.status == 401)
                #expect(answer.error?["name"]?.text == "UNAUTHORIZED")
                #expect(answer.headers["www-authenticate"] == "Bearer")
            }
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `the scheme's case does not matter`() async throws {
        try await withServer { client, _ in
            let answer = try await client.call(
                "GET", "/v1/rooms", headers: ["Authorization": "bearer   correct-horse"], bearer: nil)
            #expect(answer.status == 200)
        }
    }

    @Test func `health, readiness and figures need no key`() async throws {
        try await withServer { client, cluster in
            #expect(try await client.call("GET", "/healthz", bearer: nil).json == ["status": .text("ok")])
            #expect(try await client.call("GET", "/readyz", bearer: nil).json == ["status": .text("ready")])
            let metrics = try await client.call("GET", "/metrics", bearer: nil)
            #expect(String(decoding: metrics.body, as: UTF8.self) == "chatroom_sessions 3\n")
            #expect(metrics.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8")
            cluster.become(unready: "shard 3 has no leader")
            let waiting = try await client.call("GET", "/readyz", bearer: nil)
            #expect(waiting.status == 503)
            #expect(waiting.error?["message"]?.text == "shard 3 has no leader")
            #expect(waiting.headers["retry-after"] == "1")
            cluster.become(unready: "this node is being drained", mayPass: false)
            let drained = try await client.call("GET", "/readyz", bearer: nil)
            #expect(drained.status == 503)
            #expect(drained.error?["message"]?.text == "this node is being drained")
            #expect(drained.headers["retry-after"] == nil)
            #expect(try await client.call("GET", "/healthz", bearer: nil).status == 200)
        }
    }

    @Test(arguments: [
        "/", "/v1", "/v2/rooms", "/v1/rooms/r1/messages/m/x", "/v1/rooms/r1/queues", "/v1//rooms", "/../etc/passwd",
        "/%2e%2e", "/v1/rooms/r1/nothing", "*", "/\u{7f}",
    ])
    func `an unknown path is not found`(target: String) async throws {
        try await withServer { client, _ in
            let answer = try await client.call("GET", target)
            // One that is no target (RFC 9112 §3.2) is malformed.
            #expect(answer.status == (target.utf8.contains(0x7F) ? 400 : 404))
            #expect(answer.error?["code"]?.integer == Int64(answer.status))
        }
    }

    @Test(arguments: [
        ("PUT", "/v1/rooms", "POST, GET"), ("OPTIONS", "/healthz", "GET"), ("get", "/v1/rooms", "POST, GET"),
    ])
    func `a wrong method tells the right ones`(method: String, target: String, allowed: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call(method, target)
            #expect(answer.status == 404 && answer.headers["allow"] == allowed)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test(arguments: [
        "", "{", "null", "[]", "\"x\"", "{\"creator\":\"ann\"} x", "{\"creator\":\"ann\",}", "{'creator':'ann'}",
        "\u{feff}{}", "{\"creator\":\"\\ud800\"}", String(repeating: "[", count: 100_000),
    ])
    func `what is not a JSON object is malformed`(body: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("POST", "/v1/rooms", body)
            #expect(answer.status == 400)
            let code = answer.error?["code"]?.integer
            #expect(code == 400 || code == 414)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `every truncation of a good body is refused`() async throws {
        try await withServer { client, cluster in
            let body = #"{"creator":"ann","name":"a\u00e9\ud83d\ude00","slowModeSeconds":12}"#
            for length in stride(from: 1, to: body.count, by: 3) {
                let answer = try await client.call("POST", "/v1/rooms", String(body.prefix(length)))
                #expect(answer.status == 400)
            }
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `a body over the bound is refused and the largest one is taken`() async throws {
        try await withServer(configure: { $0.bodyBytesMax = 1000 }) { client, cluster in
            let head = #"{"creator":"ann","x":""#
            let fitting = head + String(repeating: "x", count: 1000 - head.utf8.count - 2) + "\"}"
            #expect(try await client.call("POST", "/v1/rooms", fitting).status == 200)
            let over = try await client.call("POST", "/v1/rooms", fitting + " ")
            #expect(over.status == 413)
            #expect(over.error?["name"]?.text == "TOO_LARGE")
            #expect(cluster.calls.count == 1)
        }
    }

    @Test func `a chunked body over the bound is refused too`() async throws {
        try await withServer(configure: { $0.bodyBytesMax = 1000 }) { client, cluster in
            var text =
                "POST /v1/rooms HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(FakeCluster.adminKey)\r\n"
                + "Transfer-Encoding: chunked\r\n\r\n"
            for _ in 0..<20 { text += "64\r\n\(String(repeating: "x", count: 100))\r\n" }
            let answer = try await client.send(Array((text + "0\r\n\r\n").utf8))
            #expect(answer.status == 413)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `a body that announces gigabytes is refused at once and the connection ends`() async throws {
        try await withServer { client, _ in
            let head = "POST /v1/rooms HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer \(FakeCluster.adminKey)\r\n"
            let answer = try await client.send(Array((head + "Content-Length: 9000000000\r\n\r\n{").utf8))
            #expect(answer.status == 413)
            #expect(answer.headers["connection"] == "close")
        }
    }

    @Test func `headers over their bounds are refused`() async throws {
        try await withServer { client, cluster in
            let long = try await client.call(
                "GET", "/v1/rooms", headers: ["X-Long": String(repeating: "x", count: 9000)])
            #expect(long.status >= 400)
            var many: [String: String] = [:]
            for number in 0..<200 { many["X-\(number)"] = "x" }
            #expect(try await client.call("GET", "/v1/rooms", headers: many).status >= 400)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test(arguments: ["garbage\r\n\r\n", "GET\r\n\r\n", "GET / HTTP/9.9\r\n\r\n", "\u{16}\u{3}\u{1}\u{2}\u{0}\r\n\r\n"])
    func `what is not HTTP does no harm`(text: String) async throws {
        try await withServer { client, _ in
            _ = try? await client.send(Array(text.utf8))
            let answer = try await client.call("GET", "/healthz")
            #expect(answer.status == 200)
        }
    }

    @Test(arguments: ["", String(repeating: "k", count: 65), "caf\u{e9}"])
    func `a bad idempotency key is refused before anything is done`(key: String) async throws {
        try await withServer { client, cluster in
            let answer = try await client.call("DELETE", "/v1/rooms/r1", headers: ["Idempotency-Key": key])
            #expect(answer.status == 400)
            #expect(cluster.calls.isEmpty)
        }
    }

    @Test func `one connection serves several requests, also after a refusal`() async throws {
        try await withServer { client, _ in
            let first = "POST /v1/rooms HTTP/1.1\r\nHost: h\r\nContent-Length: 2\r\n\r\n{}"
            let second = "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n"
            let answer = try await client.send(Array((first + second).utf8), answers: 2)
            #expect(answer.status == 200)
            #expect(answer.json == ["status": .text("ok")])
        }
    }

    @Test func `a port that is taken is told by name`() async throws {
        try await withServer { client, _ in
            await #expect(throws: ServerAPIError.self) {
                try await withServer(configure: { $0.port = client.port }) { _, _ in }
            }
        }
    }
}
