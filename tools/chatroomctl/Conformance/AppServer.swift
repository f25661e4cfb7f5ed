import ControlClient
import EventLoop
import FoundationEssentials
import Transport

/// The app's end of webhooks and of the pre-send hook: an HTTP server on loopback that keeps what it is sent.
actor AppServer {
    nonisolated let loop: EventLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// One request.
    struct Call: Sendable {
        /// By name in lower case.
        var headers: [String: String]
        var body: [UInt8]
        /// The status that it was answered; nil: nothing.
        var status: Int?
        var json: JSONTree { (try? JSONTree(parsing: Data(body))) ?? .null }
    }

    struct Answer: Sendable {
        var status: Int
        var body = ""
    }

    private(set) var calls: [Call] = []
    private let answer: @Sendable (_ call: Call, _ earlier: Int) -> Answer?
    private var listener: TCPListener?
    private var connections: [ObjectIdentifier: TCPConnection] = [:]

    /// - Parameter answer: what a call is answered, given how many came before; nil: nothing, ever.
    init(loop: EventLoop, answer: @escaping @Sendable (_ call: Call, _ earlier: Int) -> Answer?) {
        self.loop = loop
        self.answer = answer
    }

    /// Listens on a free port. Its URL.
    func start() throws -> String {
        do {
            let listener = try TCPListener(loop: loop, host: "127.0.0.1", port: 0, reusePort: false) { connection in
                connection.handler = AppServerHandler(server: self)
                connection.startReading()
                let accepted = LoopBound(onLoop: connection, loop: self.loop)
                self.assumeIsolated { $0.connections[ObjectIdentifier(accepted.value)] = accepted.value }
            }
            self.listener = listener
            return "http://127.0.0.1:\(listener.port)/app"
        } catch {
            throw NotChecked("this machine lets nobody listen on 127.0.0.1: \(error)")
        }
    }

    func stop() {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.close() }
        connections = [:]
    }

    /// Waits until `found` finds something in the calls.
    /// - Parameter probe: done again and again meanwhile.
    func wait<Value: Sendable>(
        _ what: String, limit: Duration = ConformanceClient.waitLimit, _ found: @Sendable ([Call]) throws -> Value?,
        probing probe: @Sendable () async throws -> Void = {}
    ) async throws -> Value {
        let deadline = ContinuousClock.now + limit
        while ContinuousClock.now < deadline {
            if let value = try found(calls) { return value }
            try await probe()
            try await Task.sleep(for: .milliseconds(20))
        }
        throw Deviation("\(what) did not come within \(limit); \(calls.count) calls came")
    }

    fileprivate func didRead(_ call: Call, on connection: TCPConnection) {
        var call = call
        let reply = answer(call, calls.count)
        call.status = reply?.status
        calls.append(call)
        guard let reply else { return }
        let head = "HTTP/1.1 \(reply.status) X\r\nContent-Length: \(reply.body.utf8.count)\r\n"
        connection.write(SharedBytes(copying: Array((head + "Connection: close\r\n\r\n" + reply.body).utf8)))
        connection.shutdownThenClose()
    }

    fileprivate func didClose(_ connection: TCPConnection) { connections[ObjectIdentifier(connection)] = nil }
}

/// Reads one request with a Content-Length.
private final class AppServerHandler: ConnectionHandler {
    private let server: AppServer
    private var bytes: [UInt8] = []
    private static let bytesMax = 8 << 20

    init(server: AppServer) { self.server = server }

    func connection(_ connection: TCPConnection, didRead read: UnsafeRawBufferPointer) {
        bytes += read
        guard bytes.count <= Self.bytesMax else { return connection.close() }
        guard let message = HTTPText(parsing: bytes) else { return }
        bytes = []
        let opened = LoopBound(onLoop: connection, loop: connection.loop)
        let call = AppServer.Call(headers: message.headers, body: message.body)
        server.assumeIsolated { $0.didRead(call, on: opened.value) }
    }

    func connectionDidDrain(_ connection: TCPConnection) {}

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        let closed = LoopBound(onLoop: connection, loop: connection.loop)
        server.assumeIsolated { $0.didClose(closed.value) }
    }
}

/// One whole HTTP/1.1 message whose body has a Content-Length or is empty.
struct HTTPText: Sendable {
    var firstLine: String
    /// By name in lower case.
    var headers: [String: String] = [:]
    var body: [UInt8]

    /// nil as long as something is missing.
    init?(parsing bytes: [UInt8]) {
        let blank = Array("\r\n\r\n".utf8)
        guard let end = bytes.indices.first(where: { bytes[$0...].starts(with: blank) }) else { return nil }
        let lines = String(decoding: bytes[..<end], as: UTF8.self).split(separator: "\r\n").map(String.init)
        firstLine = lines.first ?? ""
        for line in lines.dropFirst() {
            let halves = line.split(separator: ":", maxSplits: 1)
            guard halves.count == 2 else { continue }
            headers[halves[0].lowercased()] = String(halves[1].drop { $0 == " " })
        }
        let rest = bytes[(end + blank.count)...]
        let count = headers["content-length"].flatMap { Int($0) } ?? 0
        guard rest.count >= count else { return nil }
        body = Array(rest.prefix(count))
    }
}
