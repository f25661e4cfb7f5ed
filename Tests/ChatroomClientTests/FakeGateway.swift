import ChatModel
import EventLoop
import HTTPWebSocket
import Synchronization
import Transport
import Wire

@testable import ClientCore

/// `FakeServer` behind a real socket: for what the SDK does with sockets, and for what no real node says.
final class FakeGateway: Sendable {
    private let sockets: LoopBound<FakeSockets>
    private let ledger = FakeLedger()
    private let port: Int

    /// Runs until the process ends.
    private static let loop = Result {
        let loop = try EventLoop(name: "fake gateways")
        loop.start()
        return loop
    }

    var url: String { "ws://127.0.0.1:\(port)" }

    /// How much clients have asked for.
    var requestCount: Int { ledger.requests.count }

    /// The tokens with which clients have connected.
    var tokens: [String?] {
        ledger.requests.compactMap {
            if case .connect(let connect) = $0.operation { .some(connect.token) } else { nil }
        }
    }

    init() async throws {
        let loop = try Self.loop.get()
        let sockets = LoopBound(FakeSockets(ledger), loop: loop)
        port = try await loop.run { () throws(TransportError) in try sockets.value.listen(on: loop) }
        self.sockets = sockets
    }

    deinit { sockets.loop.execute { [sockets] in sockets.value.close() } }

    /// Says something to everybody.
    func say(_ json: String...) {
        write(WebSocketFrameEncoder.frame(.text, Array(json.joined(separator: "\n").utf8)))
    }

    /// Closes all connections, having said something in the same breath.
    func close(_ code: UInt16, saying json: String? = nil) {
        let words = json.map { WebSocketFrameEncoder.frame(.text, Array($0.utf8)) } ?? []
        write(words + WebSocketFrameEncoder.close(code: code, reason: "told to"))
    }

    private func write(_ bytes: [UInt8]) {
        sockets.loop.execute { [sockets] in sockets.value.write(bytes) }
    }
}

/// What clients have asked a gateway for, and what they are answered.
private final class FakeLedger: Sendable {
    private struct State {
        var server = FakeServer()
        var requests: [ClientRequest] = []
    }

    private let state = Mutex(State())

    var requests: [ClientRequest] { state.withLock { $0.requests } }

    /// Answers requests.
    func perform(_ requests: [ClientRequest]) -> [UInt8] {
        let items = state.withLock { state in
            for request in requests {
                state.requests.append(request)
                state.server.perform(request, refuses: false)
            }
            return state.server.takeOutbox()
        }
        var json: [UInt8] = []
        for item in items {
            item.appendJSON(to: &json)
            json.append(UInt8(ascii: "\n"))
        }
        return WebSocketFrameEncoder.frame(.text, json)
    }
}

/// A gateway's sockets, on their loop.
private final class FakeSockets {
    private let ledger: FakeLedger
    private var listener: TCPListener?
    private var connections: [TCPConnection] = []

    init(_ ledger: FakeLedger) { self.ledger = ledger }

    /// Returns the port.
    func listen(on loop: EventLoop) throws(TransportError) -> Int {
        let listener = try TCPListener(loop: loop, host: "127.0.0.1", port: 0, reusePort: false) { [unowned self] tcp in
            connections.append(tcp)
            tcp.handler = FakeConnection(ledger)
            tcp.startReading()
        }
        self.listener = listener
        return listener.port
    }

    func write(_ bytes: [UInt8]) {
        for tcp in connections { FakeConnection.write(bytes, to: tcp) }
    }

    func close() {
        listener?.close()
        for tcp in connections { tcp.close() }
    }
}

/// One client's connection.
private final class FakeConnection: ConnectionHandler {
    private let ledger: FakeLedger
    private var handshake: HTTPUpgradeParser? = HTTPUpgradeParser()
    private var decoder = WebSocketFrameDecoder(role: .server)

    init(_ ledger: FakeLedger) { self.ledger = ledger }

    /// What is said here is little: the system takes all of it.
    static func write(_ bytes: [UInt8], to tcp: TCPConnection) { _ = bytes.withUnsafeBytes { tcp.tryWrite($0) } }

    func connection(_ tcp: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard handshake == nil else { return shake(tcp, bytes) }
        var requests: [ClientRequest] = []
        var closes = false
        _ = decoder.decode(bytes) { event in
            switch event {
            case .text(let text):
                ClientFrame.requests(inJSON: text) {
                    if case .success(let request) = $0 { requests.append(request) }
                }
            case .close: closes = true
            case .binary, .ping, .pong, .compressed: break
            }
        }
        if !requests.isEmpty { Self.write(ledger.perform(requests), to: tcp) }
        if closes { tcp.close() }
    }

    private func shake(_ tcp: TCPConnection, _ bytes: UnsafeRawBufferPointer) {
        guard case .request(let request, _)? = handshake?.parse(bytes) else { return }
        handshake = nil
        guard case .success(let answer) = WebSocketHandshake.accept(request, subprotocols: ["chatroom.v1.json"])
        else { return tcp.close() }
        Self.write(answer, to: tcp)
    }

    func connectionDidDrain(_ tcp: TCPConnection) {}

    func connectionDidClose(_ tcp: TCPConnection, error: TransportError?) {}
}
