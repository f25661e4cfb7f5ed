import EventLoop
import Foundation
import TLS
import Transport
import WaitTestKit

/// An HTTP server that remembers what it was asked and answers as a test tells it to.
package actor TestServer {
    package enum Answer: Sendable {
        /// Bytes as they are; the connection stays open.
        case bytes(String)
        /// The same, and then the end of the connection.
        case last(String)
        /// Nothing before `release`.
        case held(String)
    }

    package nonisolated let loop: EventLoop
    package nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    /// Head and body of each request.
    package private(set) var requests: [String] = []
    package private(set) var port = 0
    package private(set) var connectionsMade = 0
    private var listener: TCPListener?
    private var open: [ObjectIdentifier: TCPConnection] = [:]
    private var held: [(TCPConnection, String)] = []
    private let tls: TLSContext?
    private let answer: @Sendable (String) -> Answer
    private let changes = Changes()

    package init(loop: EventLoop, tls: TLSContext?, _ answer: @escaping @Sendable (String) -> Answer) {
        self.loop = loop
        self.tls = tls
        self.answer = answer
    }

    package func start() throws {
        let listener = try TCPListener(loop: loop, host: "127.0.0.1", port: 0, reusePort: false) { connection in
            let accepted = LoopBound(onLoop: connection, loop: self.loop)
            self.assumeIsolated { $0.accept(accepted.value) }
        }
        self.listener = listener
        port = listener.port
    }

    package func stop() {
        listener?.close()
        listener = nil
        for connection in open.values { connection.close() }
    }

    private func accept(_ connection: TCPConnection) {
        connectionsMade += 1
        open[ObjectIdentifier(connection)] = connection
        connection.handler = ServerHandler(server: self)
        if let tls { try? connection.secure(with: tls, output: TLSOutput()) }
        connection.startReading()
        changes.note()
    }

    fileprivate func didAsk(_ request: String, _ connection: TCPConnection) {
        requests.append(request)
        switch answer(request) {
        case .bytes(let text): write(text, to: connection)
        case .last(let text):
            write(text, to: connection)
            connection.shutdownThenClose(withinMilliseconds: 1_000)
        case .held(let text): held.append((connection, text))
        }
        changes.note()
    }

    fileprivate func didClose(_ connection: TCPConnection) {
        open[ObjectIdentifier(connection)] = nil
        changes.note()
    }

    private func write(_ text: String, to connection: TCPConnection) {
        guard !text.isEmpty else { return }
        let bytes = SharedBytes(copying: Array(text.utf8))
        let count = connection.tryWrite(bytes, from: 0)
        if count < bytes.count { connection.write(bytes, from: count) }
    }

    /// Answers what was held.
    package func release() {
        for (connection, text) in held { write(text, to: connection) }
        held = []
    }

    package func waitFor(requests count: Int) async throws {
        _ = try await changes.wait(for: "request \(count)") { requests.count >= count ? true : nil }
    }

    package func waitForNoConnection() async throws {
        _ = try await changes.wait(for: "the end of all connections") { open.isEmpty ? true : nil }
    }

    /// An answer with status 200.
    package static func ok(_ body: String, _ headers: String = "") -> String {
        "HTTP/1.1 200 OK\r\nContent-Length: \(body.utf8.count)\r\n\(headers)\r\n\(body)"
    }
}

private final class ServerHandler: ConnectionHandler {
    let server: TestServer
    private var text = ""

    init(server: TestServer) { self.server = server }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        text += String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n") else { return }
        let head = text[..<end.lowerBound].lowercased()
        let length = head.range(of: "content-length: ").flatMap {
            Int(head[$0.upperBound...].prefix { $0.isNumber })
        }
        guard text[end.upperBound...].utf8.count >= length ?? 0 else { return }
        let request = text
        text = ""
        let bound = LoopBound(onLoop: connection, loop: connection.loop)
        server.assumeIsolated { $0.didAsk(request, bound.value) }
    }

    func connectionDidDrain(_ connection: TCPConnection) {}

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        let bound = LoopBound(onLoop: connection, loop: connection.loop)
        server.assumeIsolated { $0.didClose(bound.value) }
    }
}
