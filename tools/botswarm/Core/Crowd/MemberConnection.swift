import EventLoop
import HTTPWebSocket
import Transport

/// The user of a ``MemberConnection``; called on its loop.
protocol MemberConnectionUser: AnyObject {
    /// The WebSocket is open: it says who it is.
    func opened()
    func read(_ text: UnsafeRawBufferPointer)
    /// The WebSocket, or the way to it, has ended; another one is made in a moment, unless it was stopped.
    func closed()
}

/// A connection to one gateway after the other, which is made anew when it ends, after a random time: for members who only
/// look at some of what they are told.
final class MemberConnection: ConnectionHandler {
    weak var user: (any MemberConnectionUser)?
    private let loop: EventLoop
    private let gateways: [WebSocketAddress]
    /// Between two tries, in milliseconds.
    private let waits: ClosedRange<UInt64>
    private var random = SystemRandomNumberGenerator()
    private var tcp: TCPConnection?
    private var handshake: WebSocketClientHandshake?
    private var decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Bot.messageBytesMax)
    private var tries: Int
    private var out: [UInt8] = []
    private(set) var isStopped = false

    private static let outBytesMax = 64 * 1024

    /// - Parameter first: the number of the gateway that it begins with.
    init(loop: EventLoop, gateways: [WebSocketAddress], first: Int, waits: ClosedRange<UInt64>) {
        self.loop = loop
        self.gateways = gateways
        self.waits = waits
        tries = first
    }

    func connect() {
        guard !isStopped else { return }
        let address = gateways[tries % gateways.count]
        tries += 1
        TCPConnection.connect(loop: loop, host: address.host, port: address.port) { [weak self] result in
            guard let self else { return }
            guard case .success(let connection) = result, !isStopped else { return connectLater() }
            opened(connection, address)
        }
    }

    private func connectLater() {
        guard !isStopped else { return }
        let wait = UInt64.random(in: waits, using: &random)
        loop.schedule(afterMilliseconds: wait) { [weak self] in self?.connect() }
    }

    private func opened(_ connection: TCPConnection, _ address: WebSocketAddress) {
        tcp = connection
        connection.handler = self
        decoder = WebSocketFrameDecoder(role: .client, messageBytesMax: Bot.messageBytesMax)
        let handshake = WebSocketClientHandshake(nonce: randomBytes(16), subprotocols: [Bot.subprotocol])
        self.handshake = handshake
        write(handshake.request(host: address.authority, target: address.target))
        connection.startReading()
    }

    /// Calls the body later, if the connection is the same then.
    func later(milliseconds: UInt64, _ body: @escaping () -> Void) {
        guard let connection = tcp else { return }
        loop.schedule(afterMilliseconds: milliseconds) { [weak self] in
            guard let self, connection === tcp else { return }
            body()
        }
    }

    /// Whether everything has been handed to the socket.
    var isWritten: Bool { out.isEmpty }

    func send(_ text: String) {
        var frame: [UInt8] = []
        Array(text.utf8).withUnsafeBytes { WebSocketFrameEncoder.append(.text, $0, mask: randomBytes(4), to: &frame) }
        write(frame)
    }

    func stop() {
        isStopped = true
        tcp?.shutdownThenClose(withinMilliseconds: 500)
    }

    private func write(_ bytes: [UInt8]) {
        // Nothing that a node does not take is news a second later.
        guard out.count < Self.outBytesMax else { return }
        out += bytes
        flush()
    }

    private func flush() {
        guard let tcp, !tcp.isWriting, !out.isEmpty else { return }
        let written = out.withUnsafeBytes { tcp.tryWrite($0) }
        if written < out.count { tcp.write(SharedBytes(copying: out[written...])) }
        out.removeAll(keepingCapacity: true)
    }

    private func read(_ bytes: UnsafeRawBufferPointer) {
        let failure = decoder.decode(bytes) { event in
            switch event {
            case .ping(let payload):
                var pong: [UInt8] = []
                WebSocketFrameEncoder.append(.pong, payload, mask: randomBytes(4), to: &pong)
                write(pong)
            case .close: tcp?.close()
            case .text(let text): user?.read(text)
            case .binary, .compressed, .pong: break
            }
        }
        if failure != nil { tcp?.close() }
    }

    private func randomBytes(_ count: Int) -> [UInt8] {
        (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
    }

    // MARK: - The socket

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard connection === tcp else { return }
        guard var handshake else { return read(bytes) }
        switch handshake.parse(bytes) {
        case .needsMore: self.handshake = handshake
        case .failure: connection.close()
        case .open(_, let rest):
            self.handshake = nil
            user?.opened()
            if rest > 0 { read(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...])) }
        }
    }

    func connectionDidDrain(_ connection: TCPConnection) { flush() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        guard connection === tcp else { return }
        (tcp, handshake, out) = (nil, nil, [])
        user?.closed()
        connectLater()
    }
}
