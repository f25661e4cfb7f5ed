import EventLoop
import Synchronization
import TLS
import Transport

/// Between a client and a node: passes everything on, until it is told to lose an answer and the connection with it.
final class LossyProxy: Sendable {
    /// What all connections share.
    final class Plan: Sendable {
        private struct State {
            var loses: [UInt8]?
            var lost = 0
            var accepted = 0
        }

        private let state = Mutex(State())

        func noteAccepted() { state.withLock { $0.accepted += 1 } }

        /// Whether these bytes from the node are to be lost, and the connection with them.
        func losesNow(_ bytes: [UInt8]) -> Bool {
            state.withLock { state in
                guard let text = state.loses, bytes.contains(text) else { return false }
                state.loses = nil
                state.lost += 1
                return true
            }
        }

        func lose(_ text: String) { state.withLock { $0.loses = Array(text.utf8) } }
        var counts: (accepted: Int, lost: Int) { state.withLock { ($0.accepted, $0.lost) } }
    }

    let plan = Plan()
    let port: Int
    private let listener: LoopBound<ProxyListener>

    /// - Parameters:
    ///   - target: the node's port.
    ///   - isSecure: takes clients with TLS, as `localhost` and 127.0.0.1.
    ///   - host: where it listens.
    init(target: Int, isSecure: Bool = false, host: String = "127.0.0.1") async throws {
        let loop = TestLoop.shared
        let tls = isSecure ? try TestCertificate.shared.get().server() : nil
        let listener = LoopBound(ProxyListener(target, tls, plan), loop: loop)
        port = try await loop.run { () throws(TransportError) in try listener.value.listen(on: loop, host) }
        self.listener = listener
    }

    deinit { listener.loop.execute { [listener] in listener.value.close() } }
}

/// Takes clients and connects each to the node. On its loop, as all below.
private final class ProxyListener {
    private let target: Int
    private let tls: TLSContext?
    private let plan: LossyProxy.Plan
    private let output = TLSOutput()
    private var listener: TCPListener?

    init(_ target: Int, _ tls: TLSContext?, _ plan: LossyProxy.Plan) {
        self.target = target
        self.tls = tls
        self.plan = plan
    }

    /// Returns the port.
    func listen(on loop: EventLoop, _ host: String) throws(TransportError) -> Int {
        let listener = try TCPListener(loop: loop, host: host, port: 0, reusePort: false) { [unowned self] client in
            accept(client, loop)
        }
        self.listener = listener
        return listener.port
    }

    func close() { listener?.close() }

    private func accept(_ client: TCPConnection, _ loop: EventLoop) {
        plan.noteAccepted()
        TCPConnection.connect(loop: loop, host: "127.0.0.1", port: target) { [tls, output, plan] result in
            guard case .success(let node) = result else { return client.close() }
            do throws(TLSError) {
                if let tls { try client.secure(with: tls, output: output) }
            } catch {
                node.close()
                return client.close()
            }
            client.handler = Pipe(to: node, plan: nil)
            node.handler = Pipe(to: client, plan: plan)
            client.startReading()
            node.startReading()
        }
    }
}

/// One direction. What the other side does not take waits in its connection; nothing more is read meanwhile.
private final class Pipe: ConnectionHandler {
    private let other: TCPConnection
    private let plan: LossyProxy.Plan?
    /// Read in the same breath as what waits already: the rest of a TLS record.
    private var waiting: [UInt8] = []

    init(to other: TCPConnection, plan: LossyProxy.Plan?) {
        self.other = other
        self.plan = plan
    }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        if let plan, plan.losesNow(Array(bytes)) {
            other.close()
            return connection.close()
        }
        waiting += Array(bytes)
        passOn(from: connection)
    }

    private func passOn(from connection: TCPConnection) {
        if !other.isWriting, !waiting.isEmpty {
            let bytes = SharedBytes(copying: waiting)
            waiting = []
            let count = other.tryWrite(bytes)
            if count < bytes.count { other.write(bytes, from: count) }
        }
        if other.isWriting { connection.stopReading() } else { connection.startReading() }
    }

    /// What came the other way has gone: what waits for this connection may follow.
    func connectionDidDrain(_ connection: TCPConnection) {
        guard let feeder = other.handler as? Pipe else { return }
        feeder.passOn(from: other)
    }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) { other.close() }
}
