import EventLoop
import TLS
import Transport
import WaitTestKit

/// A TCP connection that sends the bytes that a test wants to, good or bad, and remembers what comes.
actor TestSocket {
    /// What sockets speak unless a test says otherwise.
    @TaskLocal static var standardTLS: TLSContext?

    nonisolated let loop = TestLoop.shared
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// All that has come, unless `onBytes` takes it.
    private(set) var received: [UInt8] = []
    private(set) var isClosed = false
    private var tcp: TCPConnection?
    private let tlsOutput = TLSOutput()
    private var unsent: [SharedBytes] = []
    /// What comes, and the end.
    nonisolated let changes = Changes()
    private var opening: Result<Void, TransportError>?
    private var onBytes: (@Sendable ([UInt8]) -> Void)?

    init() {}

    /// Connects to the port on 127.0.0.1 and starts to read.
    func open(
        port: Int, tls: TLSContext? = TestSocket.standardTLS, onBytes: (@Sendable ([UInt8]) -> Void)? = nil
    ) async throws {
        self.onBytes = onBytes
        // The connector has a limit of its own.
        TCPConnection.connect(loop: loop, host: "127.0.0.1", port: port) { opened in
            switch opened {
            case .success(let tcp):
                let box = LoopBound(onLoop: tcp, loop: tcp.loop)
                self.assumeIsolated { $0.adopt(box.value, tls) }
            case .failure(let error): self.assumeIsolated { $0.finishOpening(.failure(error)) }
            }
        }
        try await changes.wait(for: "a connection to port \(port)") { opening }.get()
    }

    private func adopt(_ tcp: TCPConnection, _ tls: TLSContext?) {
        self.tcp = tcp
        tcp.handler = SocketHandler(socket: self)
        if let tls {
            do throws(TLSError) { try tcp.secure(with: tls, output: tlsOutput) } catch { tcp.close() }
        }
        tcp.startReading()
        finishOpening(.success(()))
    }

    private func finishOpening(_ result: Result<Void, TransportError>) {
        opening = result
        changes.note()
    }

    /// Sends bytes behind all that were sent before. On a closed connection they are lost.
    func write(_ bytes: [UInt8]) {
        guard !bytes.isEmpty, !isClosed else { return }
        unsent.append(SharedBytes(copying: bytes))
        writeOn()
    }

    private func writeOn() {
        while let tcp, !tcp.isWriting, let next = unsent.first {
            unsent.removeFirst()
            let count = tcp.tryWrite(next, from: 0)
            if count < next.count { tcp.write(next, from: count) }
        }
    }

    func stopReading() { tcp?.stopReading() }

    func startReading() { tcp?.startReading() }

    /// Drops the connection without a word.
    func close() { tcp?.close() }

    /// Waits until the peer has closed; all that it has sent.
    func receivedUntilClosed() async throws -> [UInt8] {
        try await changes.wait(for: "the peer's close") { isClosed ? received : nil }
    }

    /// Waits until `parse` finds something in what has come.
    func received<Value: Sendable>(_ what: String, _ parse: @Sendable ([UInt8]) throws -> Value?) async throws -> Value
    {
        try await changes.wait(for: what) {
            if let value = try parse(received) { return value }
            if isClosed { throw TestFailure("closed before \(what)") }
            return nil
        }
    }

    fileprivate func didRead(_ bytes: [UInt8]) {
        if let onBytes { onBytes(bytes) } else { received += bytes }
        changes.note()
    }

    fileprivate func didDrain() { writeOn() }

    fileprivate func didClose() {
        isClosed = true
        tcp = nil
        unsent = []
        changes.note()
    }
}

/// Brings what happens on the socket to its actor, which is on the same loop.
private final class SocketHandler: ConnectionHandler {
    let socket: TestSocket

    init(socket: TestSocket) { self.socket = socket }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        let copy = Array(bytes)
        socket.assumeIsolated { $0.didRead(copy) }
    }

    func connectionDidDrain(_ connection: TCPConnection) { socket.assumeIsolated { $0.didDrain() } }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        socket.assumeIsolated { $0.didClose() }
    }
}
