import HTTPTestKit
import EventLoop
import TLS

@testable import HTTPClient

/// A client and a server on one loop.
struct TestRun {
    let client: HTTPClient
    let server: TestServer
    let port: Int

    static func run(
        _ configuration: HTTPClientConfiguration = HTTPClientConfiguration(), tls: TLSContext? = nil,
        answer: @escaping @Sendable (String) -> TestServer.Answer = { _ in .bytes(TestServer.ok("")) },
        _ body: (TestRun) async throws -> Void
    ) async throws {
        let loop = try EventLoop(name: "calls")
        loop.start()
        let server = TestServer(loop: loop, tls: tls, answer)
        try await server.start()
        let client = HTTPClient(loop: loop, configuration: configuration)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(TestRun(client: client, server: server, port: server.port)))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        await server.stop()
        try await server.waitForNoConnection()
        loop.shutdown()
        await loop.joined()
        try result.get()
    }

    func request(_ path: String = "/", _ base: String? = nil) -> HTTPClientRequest {
        HTTPClientRequest(
            url: (base ?? "http://127.0.0.1:\(port)") + path, timeoutMilliseconds: 60_000, answerBytesMax: 1_000)
    }

    /// The error of a call that is to fail.
    func failure(_ request: HTTPClientRequest) async -> HTTPClientError? {
        do throws(HTTPClientError) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }
}
