import EventLoop
import Testing

@testable import Transport

/// A name with more than one address.
@Suite struct AddressesTests {
    /// Connects to the first of the addresses that takes it; the peer's address, or why there is none.
    private func connect(
        _ loop: EventLoop, _ addresses: [(host: String, port: Int)]
    ) async throws -> Result<String, TransportError> {
        let parsed = try addresses.map { try SocketAddress(host: $0.host, port: $0.port) }
        return await withCheckedContinuation { continuation in
            loop.execute {
                let attempt = ConnectionAttempt(loop: loop, name: "connect", timeoutMilliseconds: 10_000) { result in
                    continuation.resume(
                        returning: result.map { connection in
                            defer { connection.close() }
                            return connection.remoteAddress
                        })
                }
                attempt.connect(toFirstOf: parsed)
            }
        }
    }

    @Test func `where one address refuses, the next is tried`() async throws {
        try await withLoop { loop in
            let server = try await Server(loop)
            let addresses = [("127.0.0.3", 1), ("127.0.0.2", 1), ("127.0.0.1", server.port), ("127.0.0.4", 1)]
            #expect(try await connect(loop, addresses).get() == "127.0.0.1")
        }
    }

    @Test func `where all refuse, the last one's refusal is told`() async throws {
        try await withLoop { loop in
            let result = try await connect(loop, [("127.0.0.3", 1), ("127.0.0.2", 1)])
            #expect(throws: TransportError.self) { try result.get() }
            guard case .failure(let error) = result else { return }
            #expect(error.code == .connectionRefused)
        }
    }
}
