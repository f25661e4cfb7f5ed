import Foundation
import Synchronization
import Testing
import WaitTestKit

@testable import ServerAPI

#if canImport(Glibc)
    import Glibc
#endif

/// Connections that send a part of a request and wait.
@Suite(.timeLimit(.minutes(3))) struct HalfRequestTests {
    private static let half = "GET /healthz HTTP/1.1\r\nHost: h\r\n"
    private static let halfBody = "POST /v1/rooms HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n"

    private static func held(_ text: String, _ count: Int, port: Int) throws -> [HeldSocket] {
        try (0..<count).map { _ in
            let socket = try HeldSocket(port: port)
            socket.send(text)
            return socket
        }
    }

    @Test(arguments: [
        half, "", halfBody + "\r\n{", halfBody + "Authorization: Bearer \(FakeCluster.adminKey)\r\n\r\n{",
        halfBody
            + "X-Chatroom-Key: k\r\nX-Chatroom-Time: 1\r\nX-Chatroom-Nonce: n\r\nX-Chatroom-Signature: kk\r\n\r\n{",
        // Idle behind an answer.
        "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n",
    ])
    func `half requests on all places, and more, keep nobody out`(text: String) async throws {
        try await withServer(configure: {
            ($0.connectionsMax, $0.connectionsPerAddressMax) = (40, 30)
            // Nobody is cut for being late.
            ($0.headSeconds, $0.bodySeconds, $0.idleSeconds) = (3_600, 3_600, 3_600)
        }) { client, _ in
            let sockets = try Self.held(text, 60, port: client.port)
            // The server refuses a new connection while answers are being made on all places; that is over soon.
            try await poll("an answer") { (try? await client.call("GET", "/healthz").status) == 200 }
            for _ in 0..<5 {
                #expect(try await client.call("GET", "/healthz").status == 200)
                #expect(try await client.call("POST", "/v1/rooms", #"{"creator":"ann"}"#).status == 200)
            }
            withExtendedLifetime(sockets) {}
        }
    }

    @Test func `clients that read no answers, on all places and more, keep nobody out`() async throws {
        try await withServer(configure: {
            ($0.connectionsMax, $0.connectionsPerAddressMax) = (40, 30)
            $0.unreadSeconds = 3_600
        }) { client, _ in
            // More than sockets hold.
            let requests = String(repeating: "GET /v1/openapi.json HTTP/1.1\r\nHost: h\r\n\r\n", count: 400)
            let sockets = try Self.held(requests, 60, port: client.port)
            // The server refuses a new connection while all answers are being made; that is over when the sockets are full.
            try await poll("an answer") { (try? await client.call("GET", "/healthz").status) == 200 }
            withExtendedLifetime(sockets) {}
        }
    }

    @Test(arguments: [half, "", "GET /healthz HTTP/1.1\r\nHost: h\r\n\r\nGET /he"])
    func `a head that does not come in time is cut`(text: String) async throws {
        try await withServer(configure: { ($0.headSeconds, $0.idleSeconds) = (1, 2) }) { client, _ in
            let socket = try HeldSocket(port: client.port)
            socket.send(text)
            #expect(await socket.isClosed())
        }
    }

    @Test func `the second head on a connection has its time from its first byte on`() async throws {
        try await withServer(configure: { ($0.headSeconds, $0.idleSeconds) = (1, 3_600) }) { client, _ in
            let socket = try HeldSocket(port: client.port)
            socket.send("GET /healthz HTTP/1.1\r\nHost: h\r\n\r\n")
            #expect(await socket.read(until: #""ok"}"#))
            socket.send("GET /he")
            #expect(await socket.isClosed())
        }
    }

    @Test func `a body that does not come in time is cut`() async throws {
        try await withServer(configure: { $0.bodySeconds = 1 }) { client, _ in
            let socket = try HeldSocket(port: client.port)
            socket.send(Self.halfBody + "Authorization: Bearer \(FakeCluster.adminKey)\r\n\r\n{")
            #expect(await socket.isClosed())
        }
    }

    @Test(arguments: [
        "", "Authorization: Bearer wrong\r\n",
        "X-Chatroom-Key: unknown\r\nX-Chatroom-Time: 1\r\nX-Chatroom-Nonce: n\r\nX-Chatroom-Signature: x\r\n",
        "X-Chatroom-Key: k\r\nX-Chatroom-Time: 1\r\nX-Chatroom-Signature: kk\r\n",
    ])
    func `who is not authorized is told so before the body is read`(headers: String) async throws {
        try await withServer(configure: { $0.bodySeconds = 3_600 }) { client, cluster in
            let answer = try await client.send(Array((Self.halfBody + headers + "\r\n").utf8))
            #expect(answer.status == 401)
            #expect(cluster.calls.isEmpty, "nothing was checked with a body that has not come")
        }
    }

    @Test func `the port of probes answers probes and nothing else`() async throws {
        try await withProbes { client in
            for path in ["/healthz", "/readyz", "/metrics"] {
                let answer = try await client.call("GET", path, bearer: nil)
                #expect(answer.status == 200)
            }
            #expect(try await client.call("GET", "/v1/rooms").status == 404)
            #expect(try await client.call("GET", "/console", bearer: nil).status == 404)
            #expect(try await client.call("POST", "/v1/broadcast", "{}").status == 404)
        }
    }
}

/// A socket that the peer has to close.
final class HeldSocket: Sendable {
    private let descriptor: Int32

    init(port: Int) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var limit = timeval(tv_sec: 60, tv_usec: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = inet_addr("127.0.0.1")
        let descriptor = descriptor
        let connected = withUnsafePointer(to: &address) {
            $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
            }
        }
        guard connected == 0 else { throw LoopbackClient.Failure(message: "no connection") }
    }

    deinit { close(descriptor) }

    func send(_ text: String) {
        let bytes = Array(text.utf8)
        _ = bytes.withUnsafeBytes { Glibc.send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
    }

    /// Reads until the peer has closed; false when it does not for a minute.
    func isClosed() async -> Bool { await read { _ in false } }

    /// Reads until the text has come.
    func read(until text: String) async -> Bool { await read { $0.hasSuffix(text) } }

    /// What comes, until it ends with this or, when this is empty, until the peer closes.
    func text(until end: String) async -> String {
        let all = Mutex("")
        _ = await read { text in
            all.withLock { $0 = text }
            return !end.isEmpty && text.hasSuffix(end)
        }
        return all.withLock { $0 }
    }

    /// Off the cooperative threads, because it blocks.
    private func read(_ isEnough: @escaping @Sendable (String) -> Bool) async -> Bool {
        await withCheckedContinuation { continuation in
            Thread.detachNewThread { [self] in
                var chunk = [UInt8](repeating: 0, count: 4096)
                var text = ""
                while true {
                    let count = recv(descriptor, &chunk, chunk.count, 0)
                    // The end, or a reset.
                    guard count > 0 else {
                        return continuation.resume(returning: count == 0 || errno == ECONNRESET)
                    }
                    text += String(decoding: chunk[..<count], as: UTF8.self)
                    if isEnough(text) { return continuation.resume(returning: true) }
                }
            }
        }
    }
}
