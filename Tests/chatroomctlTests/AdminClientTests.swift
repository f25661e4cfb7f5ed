import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite struct AdminClientTests {
    private func client(_ transport: ScriptedTransport, servers: [String] = ["a:1", "b:2"], key: String? = "k")
        -> AdminClient
    {
        AdminClient(target: Target(servers: servers, adminKey: key, nodes: []), transport: transport)
    }

    private func failure(_ body: () async throws -> Void) async -> CommandFailure? {
        do {
            try await body()
            return nil
        } catch {
            return error as? CommandFailure
        }
    }

    @Test func `a call carries the key, the escaped path and the query that is there`() async throws {
        let transport = ScriptedTransport([.success(HTTPAnswer(200, #"{"x":1}"#))])
        let answer = try await client(transport).call(
            "POST", ["rooms", "a/b#c"], query: [("limit", "5"), ("after", nil), ("q", "a+b é")],
            body: .object(["t": .text("/")]), idempotencyKey: "i")
        #expect(answer["x"]?.integer == 1)
        let call = try #require(transport.sent.first?.call)
        #expect(call.target == "/v1/rooms/a%2Fb%23c?limit=5&q=a%2Bb%20%C3%A9")
        #expect(call.headers["Authorization"] == "Bearer k")
        #expect(call.headers["Idempotency-Key"] == "i")
        #expect(call.body.map { String(decoding: $0, as: UTF8.self) } == #"{"t":"/"}"#)
    }

    @Test func `a refusal tells code, name, field and when to come back`() async {
        let text =
            #"{"error":{"code":416,"name":"TOO_OFTEN","message":"slow\u001b[2J","field":"f","retryAfterMs":1001}}"#
        let transport = ScriptedTransport([.success(HTTPAnswer(429, text))])
        let error = await failure { _ = try await client(transport).call("GET", ["rooms"]) }
        #expect(error?.code == .refused)
        #expect(error?.status == 429)
        #expect(error?.message == "slow\u{FFFD}[2J (416 TOO_OFTEN) [field f]; try again in 2 s")
        #expect(AdminClient.refusal(HTTPAnswer(502, "<html>")).message == "the server answered HTTP 502")
        let other = AdminClient.refusal(HTTPAnswer(404, "Not Found")).message
        #expect(other.contains("api.port"), "a port for clients knows no server API")
    }

    @Test func `another node is asked when one refuses the connection`() async throws {
        let transport = ScriptedTransport([
            .failure(HTTPFailure(nothingSent: true, message: "a:1 refused the connection")),
            .success(HTTPAnswer(200, "{}")),
        ])
        _ = try await client(transport).call("DELETE", ["rooms", "r"])
        #expect(transport.sent.map(\.server) == ["a:1", "b:2"])
    }

    @Test func `the next call begins at the server that has answered`() async throws {
        let dead = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(nothingSent: true, message: "a:1 is dead"))
        let answer = Result<HTTPAnswer, HTTPFailure>.success(HTTPAnswer(200, "{}"))
        let transport = ScriptedTransport([dead, answer, answer, dead, dead, answer])
        let client = client(transport, servers: ["a:1", "b:2", "c:3"])
        for _ in 0..<3 { _ = try await client.call("GET", ["rooms"]) }
        #expect(transport.sent.map(\.server) == ["a:1", "b:2", "b:2", "b:2", "c:3", "a:1"])
    }

    @Test func `a question waits less long for a node while another can be asked, and a change does not`() async throws
    {
        let silent = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(nothingSent: false, message: "a:1 was silent"))
        let answer = Result<HTTPAnswer, HTTPFailure>.success(HTTPAnswer(200, "{}"))
        let question = ScriptedTransport([silent, silent, answer])
        _ = try await client(question, servers: ["a:1", "b:2", "c:3"]).call("GET", ["rooms"])
        #expect(question.sent.map(\.call.timeoutSeconds) == [8, 8, 15])
        let patient = ScriptedTransport([silent, answer])
        _ = try await client(patient).call("GET", ["rooms"], timeoutSeconds: 60)
        #expect(patient.sent.map(\.call.timeoutSeconds) == [60, 60])
        let change = ScriptedTransport([silent, answer])
        _ = try await client(change).call("POST", ["rooms"], idempotencyKey: "i")
        #expect(change.sent.map(\.call.timeoutSeconds) == [15, 15])
    }

    @Test func `a change without a key is not repeated once it was sent, with a key it is`() async throws {
        let lost = Result<HTTPAnswer, HTTPFailure>.failure(HTTPFailure(nothingSent: false, message: "a:1 was lost"))
        let transport = ScriptedTransport([lost, .success(HTTPAnswer(200, "{}"))])
        let error = await failure { _ = try await client(transport).call("POST", ["rooms"]) }
        #expect(error?.code == .unreachable)
        #expect(transport.sent.count == 1)
        let second = ScriptedTransport([lost, .success(HTTPAnswer(200, "{}"))])
        _ = try await client(second).call("POST", ["rooms"], idempotencyKey: "i")
        #expect(second.sent.count == 2)
    }

    @Test func `no server says which were tried and how to start one`() async {
        let down = Result<HTTPAnswer, HTTPFailure>.failure(
            HTTPFailure(nothingSent: true, message: "a:1 refused the connection"))
        let error = await failure { _ = try await client(ScriptedTransport([down, down])).call("GET", ["rooms"]) }
        #expect(error?.code == .unreachable)
        #expect(error?.message.contains("a:1 refused the connection") == true)
        #expect(error?.message.contains("cluster/up") == true)
    }

    @Test func `without a key nothing is sent`() async {
        let transport = ScriptedTransport([])
        let error = await failure { _ = try await client(transport, key: nil).call("GET", ["rooms"]) }
        #expect(error?.code == .usage)
        #expect(transport.sent.isEmpty)
    }

    @Test func `an answer that is not JSON is no answer`() async {
        let transport = ScriptedTransport([.success(HTTPAnswer(200, "<html>"))])
        let error = await failure { _ = try await client(transport).call("GET", ["rooms"]) }
        #expect(error?.code == .unreachable)
    }
}
