@testable import HTTPClient
import HTTPTestKit
import Testing

/// Everything has a bound, and every call an end.
struct BoundTests {
    @Test func `a body may be as long as its bound and no longer`() async throws {
        let bodies = ["/full": 1_000, "/long": 1_001]
        try await TestRun.run(answer: { request in
            let path = request.split(separator: " ")[1]
            return .bytes(TestServer.ok(String(repeating: "x", count: bodies[String(path)] ?? 0)))
        }) { run in
            let full = try await run.client.send(run.request("/full"))
            #expect(full.body.count == 1_000)
            let error = await run.failure(run.request("/long"))
            #expect(error?.code == .tooLarge && error?.nothingSent == false)
        }
    }

    @Test func `a body of unknown length is cut at its bound`() async throws {
        let chunk = "100\r\n" + String(repeating: "x", count: 256) + "\r\n"
        let chunks = String(repeating: chunk, count: 20)
        try await TestRun.run(answer: { _ in
            .bytes("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + chunks)
        }) { run in
            #expect(await run.failure(run.request())?.code == .tooLarge)
            try await run.server.waitForNoConnection()
        }
    }

    @Test func `headers have a bound too`() async throws {
        let line = "X-Long: " + String(repeating: "x", count: 1_000) + "\r\n"
        let lines = String(repeating: line, count: 70)
        try await TestRun.run(answer: { _ in .bytes(TestServer.ok("", lines)) }) { run in
            #expect(await run.failure(run.request())?.code == .tooLarge)
        }
    }

    @Test func `an answer that does not come ends with its time`() async throws {
        try await TestRun.run(answer: { _ in .held("") }) { run in
            var request = run.request()
            request.timeoutMilliseconds = 300
            let error = await run.failure(request)
            #expect(error?.code == .timeout && error?.nothingSent == false)
            try await run.server.waitForNoConnection()
        }
    }

    @Test(arguments: ["HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nhalf", "HTTP/1.1 20", ""])
    func `an answer that breaks off is none`(_ text: String) async throws {
        try await TestRun.run(answer: { _ in .last(text) }) { run in
            let error = await run.failure(run.request())
            #expect(error != nil && error?.nothingSent == false, "\(String(describing: error))")
            if text.isEmpty { #expect(error?.code == .connectionClosed) }
        }
    }

    @Test func `bytes that are not HTTP are no answer`() async throws {
        try await TestRun.run(answer: { _ in .last("220 mail.example ESMTP\r\n") }) { run in
            let error = await run.failure(run.request())
            #expect(error?.code == .notHTTP && error?.nothingSent == false, "\(String(describing: error))")
        }
    }

    @Test func `where nobody listens, nothing is sent`() async throws {
        try await TestRun.run { run in
            await run.server.stop()
            let error = await run.failure(run.request())
            #expect(error?.code == .noConnection && error?.nothingSent == true)
        }
    }

    @Test func `a cancelled call ends at once, and its connection with it`() async throws {
        try await TestRun.run(answer: { _ in .held("") }) { run in
            let call = Task { await run.failure(run.request()) }
            try await run.server.waitFor(requests: 1)
            call.cancel()
            let error = await call.value
            #expect(error?.code == .cancelled && error?.nothingSent == false)
            try await run.server.waitForNoConnection()
        }
    }

    @Test func `a call of a cancelled task is not made`() async throws {
        try await TestRun.run { run in
            let error = await Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await run.failure(run.request())
            }.value
            #expect(error?.code == .cancelled && error?.nothingSent == true)
            #expect(await run.server.connectionsMade == 0)
        }
    }

    @Test func `one server has so many calls, so many more wait, and the rest hear that it is busy`() async throws {
        var configuration = HTTPClientConfiguration()
        configuration.callsPerServerMax = 1
        configuration.waitingMax = 1
        try await TestRun.run(configuration, answer: { _ in .held(TestServer.ok("late")) }) { run in
            let first = Task { try await run.client.send(run.request("/1")) }
            try await run.server.waitFor(requests: 1)
            try await withThrowingTaskGroup(of: HTTPClientError?.self) { group in
                for number in [2, 3] { group.addTask { await run.failure(run.request("/\(number)")) } }
                // The other one can't end: it waits for the first call.
                let refused = try await group.next()
                #expect(refused??.code == .busy)
                await run.server.release()
                try await run.server.waitFor(requests: 2)
                await run.server.release()
                let served = try await group.next()
                #expect(served == .some(nil))
            }
            #expect(try await first.value.body == Array("late".utf8))
            #expect(await run.server.requests.count == 2)
        }
    }

    @Test func `a shutdown ends the calls under way and refuses later ones`() async throws {
        try await TestRun.run(answer: { _ in .held("") }) { run in
            let call = Task { await run.failure(run.request()) }
            try await run.server.waitFor(requests: 1)
            await run.client.shutdown()
            let error = await call.value
            #expect(error?.code == .shutDown && error?.nothingSent == false)
            #expect(await run.failure(run.request())?.code == .shutDown)
        }
    }
}
