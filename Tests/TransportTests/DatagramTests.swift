import EventLoop
import Testing
import Transport
import WaitTestKit

@Suite struct DatagramTests {
    private struct Datagram: Sendable, Equatable {
        let bytes: [UInt8]
        let host: String
        let port: Int
    }

    /// A socket and what it receives.
    private func bind(
        _ loop: EventLoop, host: String = "127.0.0.1", port: Int = 0
    ) async throws(TransportError) -> (LoopBound<UDPSocket>, port: Int, AsyncStream<Datagram>) {
        let (stream, continuation) = AsyncStream.makeStream(of: Datagram.self, bufferingPolicy: .bufferingOldest(64))
        return try await loop.run { () throws(TransportError) in
            let socket = try UDPSocket(loop: loop, host: host, port: port) { bytes, host, port in
                continuation.yield(Datagram(bytes: Array(bytes), host: host, port: port))
            }
            return (LoopBound(onLoop: socket, loop: loop), socket.port, stream)
        }
    }

    private func next(_ received: AsyncStream<Datagram>) async throws -> Datagram {
        try #require(try await withDeadline("a datagram") { await received.first { _ in true } })
    }

    private func send(
        _ bytes: [UInt8], from socket: LoopBound<UDPSocket>, host: String = "127.0.0.1", port: Int
    ) async throws(TransportError) -> Bool {
        try await socket.loop.run { () throws(TransportError) in
            var result: Result<Bool, TransportError> = .success(false)
            bytes.withUnsafeBytes { memory in
                result = Result { () throws(TransportError) in
                    try socket.value.send(memory, toHost: host, port: port)
                }
            }
            return try result.get()
        }
    }

    @Test func `a datagram goes there, and one comes back to its sender`() async throws {
        try await withLoop { loop in
            let (here, herePort, toHere) = try await bind(loop)
            let (there, therePort, toThere) = try await bind(loop)
            #expect(try await send(pattern(1_400), from: here, port: therePort))
            let asked = try await next(toThere)
            #expect(asked == Datagram(bytes: pattern(1_400), host: "127.0.0.1", port: herePort))
            #expect(try await send([], from: there, host: asked.host, port: asked.port))
            #expect(try await next(toHere) == Datagram(bytes: [], host: "127.0.0.1", port: therePort))
        }
    }

    @Test func `a datagram larger than UDP carries is refused`() async throws {
        try await withLoop { loop in
            let (socket, port, _) = try await bind(loop)
            await #expect { try await send(pattern(65_536), from: socket, port: port) } throws: {
                ($0 as? TransportError)?.code == .messageTooLong
            }
            await #expect { try await send([1], from: socket, host: "nowhere", port: port) } throws: {
                ($0 as? TransportError)?.code == .invalidAddress
            }
        }
    }

    @Test func `a port in use is refused, and free again after closing`() async throws {
        try await withLoop { loop in
            let (socket, port, _) = try await bind(loop)
            await #expect { try await bind(loop, port: port) } throws: {
                ($0 as? TransportError)?.code == .addressInUse
            }
            await loop.run {
                socket.value.close()
                socket.value.close()
            }
            #expect(try await bind(loop, port: port).port == port)
        }
    }

    @Test func `a socket survives that nobody hears its datagrams`() async throws {
        try await withLoop { loop in
            let (gone, gonePort, _) = try await bind(loop)
            await loop.run { gone.value.close() }
            let (socket, port, received) = try await bind(loop)
            // The system answers the first with an ICMP error that a later call may report.
            _ = try? await send([1], from: socket, port: gonePort)
            _ = try? await send([2], from: socket, port: gonePort)
            try await poll("a datagram that is taken") { try await send([3], from: socket, port: port) }
            #expect(try await next(received).bytes == [3])
        }
    }
}
