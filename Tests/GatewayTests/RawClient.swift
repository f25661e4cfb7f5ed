import EventLoop
import Synchronization
import Transport
import WaitTestKit

@testable import Gateway

/// A client's socket: sends bytes as they are, and remembers what has come.
final class RawClient: Sendable {
    private struct Received {
        var bytes: [UInt8] = []
        var hasEnded = false
    }

    private let received: Mutex<Received>
    private let changes: Changes
    private let connection: LoopBound<TCPConnection>

    private final class Handler: ConnectionHandler {
        let note: (_ bytes: UnsafeRawBufferPointer?) -> Void

        init(_ note: @escaping (UnsafeRawBufferPointer?) -> Void) { self.note = note }

        func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) { note(bytes) }
        func connectionDidDrain(_ connection: TCPConnection) {}
        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) { note(nil) }
    }

    init(port: Int, loop: EventLoop) async throws {
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<LoopBound<TCPConnection>, TransportError>, Never>) in
            loop.execute {
                TCPConnection.connect(
                    loop: loop, host: "127.0.0.1", port: port, timeoutMilliseconds: 60_000
                ) { result in continuation.resume(returning: result.map { LoopBound(onLoop: $0, loop: loop) }) }
            }
        }
        connection = try result.get()
        received = Mutex(Received())
        changes = Changes()
        let connection = connection
        await loop.run { [self] in
            connection.value.handler = Handler { [self] bytes in
                received.withLock { received in
                    if let bytes { received.bytes.append(contentsOf: bytes) } else { received.hasEnded = true }
                }
                changes.note()
            }
            connection.value.startReading()
        }
    }

    var bytes: [UInt8] { received.withLock { $0.bytes } }
    var text: String { String(decoding: bytes, as: UTF8.self) }
    var hasEnded: Bool { received.withLock { $0.hasEnded } }

    /// Less than the system buffers.
    func send(_ bytes: [UInt8]) {
        let connection = connection
        connection.loop.execute {
            let taken = bytes.withUnsafeBytes { connection.value.tryWrite($0) }
            precondition(taken == bytes.count || connection.value.handler == nil, "the system takes what a test sends")
        }
    }

    /// Whether what comes is read, or fills the system's buffers.
    func read(_ isRead: Bool) {
        let connection = connection
        connection.loop.execute { isRead ? connection.value.startReading() : connection.value.stopReading() }
    }

    func close() {
        let connection = connection
        connection.loop.execute { connection.value.close() }
    }

    func waitFor(_ what: String, _ isMet: (RawClient) -> Bool) async throws {
        let _: Bool = try await changes.wait(for: what) { isMet(self) ? true : nil }
    }

    /// The request that opens a WebSocket.
    static let upgrade = Array(
        ("GET \(GatewayLane.path) HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
            + "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            + "Sec-WebSocket-Protocol: \(GatewayLane.jsonSubprotocol)\r\n\r\n").utf8)
}
