import EventLoop
import Testing
import Transport
import WaitTestKit

/// A connection's handler that remembers what it was told. On its loop only.
final class Peer: ConnectionHandler {
    let connection: TCPConnection
    private(set) var received: [UInt8] = []
    private(set) var drainCount = 0
    private(set) var closeCount = 0
    private(set) var error: TransportError?
    /// Called with each read, after it was remembered.
    var onRead: ((UnsafeRawBufferPointer) -> Void)?
    private var waiters: [(isMet: (Peer) -> Bool, resume: () -> Void)] = []

    init(_ connection: TCPConnection) {
        self.connection = connection
        connection.handler = self
    }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        received.append(contentsOf: bytes)
        onRead?(bytes)
        resumeWaiters()
    }

    func connectionDidDrain(_ connection: TCPConnection) {
        drainCount += 1
        resumeWaiters()
    }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        closeCount += 1
        self.error = error
        resumeWaiters()
    }

    /// Writes `block` again and again until the system takes no more, and queues the rest of the last one.
    /// Returns how many blocks that makes.
    func writeUntilFull(_ block: SharedBytes) -> Int {
        var blocks = 1
        var written = connection.tryWrite(block)
        while written == block.count {
            blocks += 1
            written = connection.tryWrite(block)
        }
        connection.write(block, from: written)
        return blocks
    }

    func wait(until isMet: @escaping (Peer) -> Bool, resume: @escaping () -> Void) {
        waiters.append((isMet, resume))
        resumeWaiters()
    }

    private func resumeWaiters() {
        let met = waiters.filter { $0.isMet(self) }
        waiters.removeAll { $0.isMet(self) }
        for waiter in met { waiter.resume() }
    }
}

/// A peer as a test sees it, from outside of the loop.
struct Endpoint: Sendable {
    let box: LoopBound<Peer>

    /// On the loop only.
    init(onLoop connection: TCPConnection) {
        box = LoopBound(onLoop: Peer(connection), loop: connection.loop)
    }

    /// Runs `body` on the loop.
    func run<Value: Sendable>(_ body: @escaping @Sendable (Peer) -> Value) async -> Value {
        await box.loop.run { body(box.value) }
    }

    /// Waits for an event after which `isMet` holds, or returns at once if it does. What never comes is an issue.
    func wait(until isMet: @escaping @Sendable (Peer) -> Bool) async {
        do {
            try await withDeadline("an event of a connection") {
                await withCheckedContinuation { continuation in
                    box.loop.execute { box.value.wait(until: isMet) { continuation.resume() } }
                }
            }
        } catch { Issue.record(error) }
    }

    /// Waits until `count` bytes have come or the connection has closed; all that have come.
    func received(_ count: Int) async -> [UInt8] {
        await wait { $0.received.count >= count || $0.closeCount > 0 }
        return await run { $0.received }
    }

    /// Waits for the end of the connection.
    func closed() async -> TransportError? {
        await wait { $0.closeCount > 0 }
        return await run { $0.error }
    }
}

/// Opens a connection; nothing reads from it yet.
func connect(
    _ loop: EventLoop, host: String = "127.0.0.1", port: Int, localAddress: String? = nil,
    receiveLimits: ReceiveLimits? = nil, timeoutMilliseconds: UInt64 = 600_000
) async throws -> Endpoint {
    let result = try await withDeadline("a connection") {
        await withCheckedContinuation {
            (continuation: CheckedContinuation<Result<Endpoint, TransportError>, Never>) in
            loop.execute {
                TCPConnection.connect(
                    loop: loop, host: host, port: port, localAddress: localAddress,
                    receiveLimits: receiveLimits, timeoutMilliseconds: timeoutMilliseconds
                ) { result in
                    continuation.resume(returning: result.map { Endpoint(onLoop: $0) })
                }
            }
        }
    }
    return try result.get()
}

/// A listener, and the connections that it accepted in their order. Nothing reads from them yet.
struct Server: Sendable {
    let port: Int
    let accepted: AsyncStream<Endpoint>
    let listener: LoopBound<TCPListener>
    private let continuation: AsyncStream<Endpoint>.Continuation

    init(
        _ loop: EventLoop, host: String = "127.0.0.1", port: Int = 0, reusePort: Bool = false,
        prepare: @escaping @Sendable (Peer) -> Void = { _ in }
    ) async throws(TransportError) {
        // More than any test opens.
        let (accepted, continuation) = AsyncStream.makeStream(
            of: Endpoint.self, bufferingPolicy: .bufferingOldest(1_024))
        self.accepted = accepted
        self.continuation = continuation
        (self.port, self.listener) = try await loop.run { () throws(TransportError) in
            let listener = try TCPListener(loop: loop, host: host, port: port, reusePort: reusePort) { connection in
                let endpoint = Endpoint(onLoop: connection)
                prepare(endpoint.box.value)
                continuation.yield(endpoint)
            }
            return (listener.port, LoopBound(onLoop: listener, loop: loop))
        }
    }

    func close() async {
        await listener.loop.run { listener.value.close() }
    }

    /// Ends ``accepted``.
    func finish() async {
        await listener.loop.run { continuation.finish() }
    }

    func nextAccepted() async throws -> Endpoint? {
        try await withDeadline("a connection to accept") { await accepted.first { _ in true } }
    }
}

/// Two ends of one connection; nothing reads yet.
func connectedPair(_ loop: EventLoop) async throws -> (client: Endpoint, server: Endpoint) {
    struct NotAccepted: Error {}
    let server = try await Server(loop)
    let client = try await connect(loop, port: server.port)
    guard let accepted = try await server.nextAccepted() else { throw NotAccepted() }
    await server.close()
    return (client, accepted)
}
