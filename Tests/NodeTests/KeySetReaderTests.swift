import ChatModel
import Cryptography
import CryptographyTestKit
import EventLoop
import Foundation
import HTTPClient
import HTTPTestKit
import Logging
import Synchronization
import ServerAPI
import Testing

@testable import Node

/// Tokens whose keys an issuer publishes, from a real server with TLS.
struct KeySetReaderTests {
    private static let now: Int64 = 1_700_000_000
    private static let signer = TestSigner(.ES256)

    /// What the issuer answers, and the node's keys.
    private final class Issuer: Sendable {
        let answer = Mutex("")

        func publish(_ keys: [[String: String]]) throws {
            let data = try JSONSerialization.data(withJSONObject: ["keys": keys])
            say(TestServer.ok(String(decoding: data, as: UTF8.self)))
        }

        func say(_ answer: String) { self.answer.withLock { $0 = answer } }
    }

    private struct Run {
        var issuer: Issuer
        var server: TestServer
        var keys: TokenKeys
        var file: KeysFile

        func accepts(_ token: String) async -> Bool { await refusal(token) == nil }

        func refusal(_ token: String) async -> ChatError? {
            do throws(ChatError) {
                _ = try await keys.verify(token, skewSeconds: 30)
                return nil
            } catch {
                return error
            }
        }
    }

    private static func run(
        _ change: (inout [String: Any]) -> Void = { _ in }, first: String? = nil, isTrusted: Bool = true,
        _ body: (Run) async throws -> Void
    ) async throws {
        let issuer = Issuer()
        try issuer.publish([signer.jwk("a")])
        if let first { issuer.say(first) }
        try await TestCertificate.localhost.use { trustFile, tls in
            let loop = try EventLoop(name: "keys")
            loop.start()
            let server = TestServer(loop: loop, tls: tls) { _ in .last(issuer.answer.withLock { $0 }) }
            try await server.start()
            var configuration = HTTPClientConfiguration()
            if isTrusted { configuration.trustFile = trustFile }
            let client = HTTPClient(loop: loop, configuration: configuration)
            var record: [String: Any] = [
                "jwksUrl": "https://localhost:\(await server.port)/keys", "algorithms": ["ES256"], "use": "client",
                "iss": "login", "aud": "chat",
            ]
            change(&record)
            let data = try JSONSerialization.data(withJSONObject: ["admin": [[String: Any]](), "token": [record]])
            let file = try JSONDecoder().decode(KeysFile.self, from: data)
            var logger = Logger(label: "keys")
            logger.logLevel = .critical
            let keys = try await TokenKeys(
                file, keySets: KeySetReader(logger: logger), now: { Timestamp(now * 1_000) })
            await keys.keySets.start(client)
            let result: Result<Void, any Error>
            do {
                result = .success(try await body(Run(issuer: issuer, server: server, keys: keys, file: file)))
            } catch {
                result = .failure(error)
            }
            await keys.keySets.stop()
            await client.shutdown()
            await server.stop()
            try await server.waitForNoConnection()
            loop.shutdown()
            await loop.joined()
            try result.get()
        }
    }

    private static func token(
        _ more: [String: Any] = [:], kid: String = "a", by signer: TestSigner = signer
    ) -> String {
        var claims: [String: Any] = ["sub": "ann", "exp": now + 600, "iss": "login", "aud": "chat"]
        claims.merge(more) { $1 }
        guard let token = try? signer.token(claims, kid: kid) else { fatalError("no token could be made") }
        return token
    }

    @Test func `a token of a published key is accepted under the record's terms`() async throws {
        try await Self.run { run in
            #expect(await run.accepts(Self.token()))
            #expect(await !run.accepts(Self.token(["iss": "other"])))
            #expect(await !run.accepts(Self.token(["iss": NSNull()])))
            #expect(await !run.accepts(Self.token(["aud": "other"])))
            #expect(await !run.accepts(Self.token(["exp": Self.now - 31])))
            #expect(await !run.accepts(Self.token(by: TestSigner(.ES256))))
            // A client's key opens no server API.
            let administrator = try await run.keys.administrator(bearer: Self.token())
            #expect(administrator == nil)
            let requests = await run.server.requests
            #expect(requests.count == 1 && requests[0].hasPrefix("GET /keys HTTP/1.1\r\n"))
        }
    }

    @Test func `a key that is new is looked for at once, and names that nobody has only once`() async throws {
        try await Self.run { run in
            #expect(await run.accepts(Self.token()))
            let newer = TestSigner(.ES256)
            try run.issuer.publish([newer.jwk("b")])
            #expect(await run.accepts(Self.token(kid: "b", by: newer)))
            #expect(await run.server.requests.count == 2)
            #expect(await !run.accepts(Self.token()), "withdrawn")
            for kid in ["c", "d", "e"] {
                let refusal = await run.refusal(Self.token(kid: kid))
                #expect(refusal?.code == .unauthorized)
            }
            #expect(await run.server.requests.count == 2)
        }
    }

    @Test(arguments: [
        "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n", "",
        "HTTP/1.1 302 Found\r\nLocation: /other\r\nContent-Length: 0\r\n\r\n",
        TestServer.ok("<html>"), TestServer.ok(#"{"keys":[]}"# + String(repeating: " ", count: 65_536)),
    ])
    func `before the first success 503, and then known keys stay`(_ failure: String) async throws {
        try await Self.run(first: failure) { run in
            let refusal = await run.refusal(Self.token())
            #expect(refusal?.code == .unavailable && refusal?.retryAfterMs != nil)
            // The reading at the start, and the one for this token; a redirect leads nowhere.
            #expect(await run.server.requests.count == 2)
            #expect(await run.server.requests.allSatisfy { $0.hasPrefix("GET /keys ") })
            #expect(await run.refusal(Self.token(kid: "b"))?.code == .unavailable)
            #expect(await run.server.requests.count == 2)
            // For another use, of another algorithm, or no token: nothing that the set could decide.
            let administrator = try await run.keys.administrator(bearer: Self.token())
            #expect(administrator == nil)
            #expect(await run.refusal(Self.token(by: TestSigner(.EdDSA)))?.code == .unauthorized)
            #expect(await run.refusal("a.b.c")?.code == .unauthorized)
        }
        try await Self.run { run in
            #expect(await run.accepts(Self.token()))
            run.issuer.say(failure)
            #expect(await run.refusal(Self.token(kid: "b"))?.code == .unauthorized)
            #expect(await run.server.requests.count == 2)
            #expect(await run.accepts(Self.token()))
        }
    }

    @Test func `a server without a trusted certificate is not believed`() async throws {
        try await Self.run(isTrusted: false) { run in
            #expect(await run.refusal(Self.token())?.code == .unavailable)
            #expect(await run.server.requests.isEmpty)
        }
    }

    @Test func `published keys of an admin record open the server API, and 503 is told there too`() async throws {
        try await Self.run({ $0["use"] = "admin" }) { run in
            let administrator = try await run.keys.administrator(bearer: Self.token())
            #expect(administrator == Administrator(name: "ann"))
            #expect(await !run.accepts(Self.token()))
        }
        try await Self.run({ $0["use"] = "admin" }, first: "") { run in
            let error = await #expect(throws: ChatError.self) {
                _ = try await run.keys.administrator(bearer: Self.token())
            }
            #expect(error?.code == .unavailable)
        }
    }

    @Test func `a record that stays as it was keeps its keys over a reload, another one goes`() async throws {
        try await Self.run { run in
            #expect(await run.accepts(Self.token()))
            run.issuer.say("")
            try await run.keys.replace(with: run.file)
            #expect(await run.accepts(Self.token()))
            #expect(await run.server.requests.count == 1)
            var file = run.file
            file.keySets = []
            try await run.keys.replace(with: file)
            #expect(await run.refusal(Self.token())?.code == .unauthorized)
            try run.issuer.publish([Self.signer.jwk("a")])
            try await run.keys.replace(with: run.file)
            #expect(await run.accepts(Self.token()))
        }
    }

    @Test func `a published key does not replace one of the keys file that has its name`() async throws {
        try await Self.run { run in
            var file = run.file
            let own = TestSigner(.ES256)
            let record: [String: String] = [
                "kid": "a", "algorithm": "ES256", "use": "client", "publicKey": own.publicKeyPEM,
            ]
            file.token = [try JSONDecoder().decode(TokenKey.self, from: JSONEncoder().encode(record))]
            try await run.keys.replace(with: file)
            #expect(await !run.accepts(Self.token()))
            #expect(await run.accepts(Self.token(by: own)))
        }
    }
}
