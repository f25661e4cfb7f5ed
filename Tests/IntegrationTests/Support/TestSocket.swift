import EventLoop
import TLS
import Transport

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
    private var waiters: [CheckedContinuation<Void, Never>] = []
    private var alarm: LoopTimer?
    private var onBytes: (@Sendable ([UInt8]) -> Void)?

    init() {}

    /// Connects to the port on 127.0.0.1 and starts to read.
    func open(
        port: Int, tls: TLSContext? = TestSocket.standardTLS, onBytes: (@Sendable ([UInt8]) -> Void)? = nil
    ) async throws {
        self.onBytes = onBytes
        let failure: TransportError? = await withCheckedContinuation { continuation in
            TCPConnection.connect(loop: loop, host: "127.0.0.1", port: port) { result in
                switch result {
                case .success(let tcp):
                    let opened = LoopBound(onLoop: tcp, loop: tcp.loop)
                    self.assumeIsolated { $0.adopt(opened.value, tls) }
                    continuation.resume(returning: nil)
                case .failure(let error): continuation.resume(returning: error)
                }
            }
        }
        if let failure { throw failure }
    }

    private func adopt(_ tcp: TCPConnection, _ tls: TLSContext?) {
        self.tcp = tcp
        tcp.handler = SocketHandler(socket: self)
        if let tls {
            do throws(TLSError) { try tcp.secure(with: tls, output: tlsOutput) } catch { return tcp.close() }
        }
        tcp.startReading()
        // Wakes who waits, so that a wait can find out that it has lasted too long.
        alarm = loop.schedule(afterMilliseconds: 1000, repeatingMilliseconds: 1000) {
            self.assumeIsolated { $0.changed() }
        }
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

    /// Waits for the next event. Throws when `deadline` has passed.
    func change(before deadline: ContinuousClock.Instant, waitingFor what: String) async throws {
        if ContinuousClock.now >= deadline { throw TestFailure("waited too long for \(what)") }
        await withCheckedContinuation { waiters.append($0) }
    }

    /// Wakes whoever waits for an event.
    func changed() {
        let due = waiters
        waiters = []
        for waiter in due { waiter.resume() }
    }

    /// Waits until the peer has closed; all that it has sent.
    func receivedUntilClosed() async throws -> [UInt8] {
        let deadline = ContinuousClock.now + waitLimit
        while !isClosed { try await change(before: deadline, waitingFor: "the peer's close") }
        return received
    }

    /// Waits until `parse` finds something in what has come.
    func received<Value: Sendable>(_ what: String, _ parse: @Sendable ([UInt8]) throws -> Value?) async throws -> Value
    {
        let deadline = ContinuousClock.now + waitLimit
        while true {
            if let value = try parse(received) { return value }
            if isClosed { throw TestFailure("closed before \(what)") }
            try await change(before: deadline, waitingFor: what)
        }
    }

    fileprivate func didRead(_ bytes: [UInt8]) {
        if let onBytes { onBytes(bytes) } else { received += bytes }
        changed()
    }

    fileprivate func didDrain() { writeOn() }

    fileprivate func didClose() {
        isClosed = true
        tcp = nil
        alarm?.cancel()
        alarm?.close()
        alarm = nil
        unsent = []
        changed()
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
