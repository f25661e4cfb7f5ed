import ChatModel
import EventLoop
import Foundation
import Transport
import WaitTestKit

/// The app's end of a callback: an HTTP server that remembers what it was sent and answers as a test tells it to.
actor FakeReceiver {
    /// One call.
    struct Call: Sendable {
        var head: String
        var body: [UInt8]
        var text: String { String(decoding: body, as: UTF8.self) }

        /// The value of a header line.
        func header(_ name: String) -> String? {
            for line in head.components(separatedBy: "\r\n").dropFirst() {
                let halves = line.split(separator: ":", maxSplits: 1)
                if halves.count == 2, halves[0].lowercased() == name.lowercased() {
                    return halves[1].trimmingCharacters(in: .whitespaces)
                }
            }
            return nil
        }
    }

    /// What a call is answered.
    enum Answer: Sendable {
        case status(Int, String = "")
        /// The same, but not before `release`.
        case held(Int, String = "")
        /// Bytes as they are, and then the end of the connection.
        case raw(String)
        /// Nothing, ever.
        case silence
    }

    nonisolated let loop = TestLoop.shared
    nonisolated var unownedExecutor: UnownedSerialExecutor { loop.asUnownedSerialExecutor() }

    private(set) var calls: [Call] = []
    private(set) var port = 0
    private var listener: TCPListener?
    private var connections: [ObjectIdentifier: TCPConnection] = [:]
    private var answer: @Sendable (Call) -> Answer = { _ in .status(200) }
    private var held: [(connection: TCPConnection, status: Int, body: String)] = []
    private let changes = Changes()

    init() {}

    /// Listens; a port of 0 is any.
    func start(port wanted: Int = 0) throws {
        let listener = try TCPListener(loop: loop, host: "127.0.0.1", port: wanted, reusePort: false) { connection in
            connection.handler = ReceiverHandler(receiver: self)
            connection.startReading()
            let opened = LoopBound(onLoop: connection, loop: self.loop)
            self.assumeIsolated { $0.connections[ObjectIdentifier(opened.value)] = opened.value }
        }
        self.listener = listener
        port = listener.port
    }

    /// Goes away: later calls find nobody.
    func stop() {
        listener?.close()
        listener = nil
        for connection in connections.values { connection.close() }
        connections = [:]
    }

    var url: String { "http://127.0.0.1:\(port)/hook" }

    /// Answers every later call so; how many calls have come before.
    @discardableResult
    func answer(with body: @escaping @Sendable (Call) -> Answer) -> Int {
        answer = body
        return calls.count
    }

    /// Gives the answers that are held.
    func release() {
        for (connection, status, body) in held { write(status, body, on: connection) }
        held = []
    }

    /// Waits until `found` finds something in the calls.
    func wait<Value: Sendable>(_ what: String, _ found: @Sendable ([Call]) throws -> Value?) async throws -> Value {
        try await changes.wait(for: what) { try found(calls) }
    }

    fileprivate func took(_ call: Call, on connection: TCPConnection) {
        calls.append(call)
        switch answer(call) {
        case .status(let status, let body): write(status, body, on: connection)
        case .held(let status, let body): held.append((connection, status, body))
        case .raw(let text):
            write(text, on: connection)
            connection.shutdownThenClose()
        case .silence: break
        }
        changes.note()
    }

    private func write(_ status: Int, _ body: String, on connection: TCPConnection) {
        write(
            "HTTP/1.1 \(status) X\r\nContent-Length: \(body.utf8.count)\r\nLocation: http://127.0.0.1:\(port)/other\r\n\r\n"
                + body, on: connection)
    }

    private func write(_ text: String, on connection: TCPConnection) {
        // At once, as small as it is: the client may send its next call before a write that was queued is reported.
        let bytes = SharedBytes(copying: Array(text.utf8))
        let count = connection.tryWrite(bytes)
        if count < bytes.count { connection.write(bytes, from: count) }
    }

    fileprivate func closed(_ connection: TCPConnection) { connections[ObjectIdentifier(connection)] = nil }
}

/// Reads requests with a Content-Length.
private final class ReceiverHandler: ConnectionHandler {
    private let receiver: FakeReceiver
    private var bytes: [UInt8] = []

    init(receiver: FakeReceiver) { self.receiver = receiver }

    func connection(_ connection: TCPConnection, didRead new: UnsafeRawBufferPointer) {
        bytes += Array(new)
        while let end = Data(bytes).range(of: Data("\r\n\r\n".utf8)) {
            var call = FakeReceiver.Call(head: String(decoding: bytes[..<end.lowerBound], as: UTF8.self), body: [])
            let length = call.header("Content-Length").flatMap { Int($0) } ?? 0
            guard bytes.count >= end.upperBound + length else { return }
            call.body = Array(bytes[end.upperBound..<end.upperBound + length])
            bytes.removeFirst(end.upperBound + length)
            let boxed = LoopBound(onLoop: connection, loop: receiver.loop)
            receiver.assumeIsolated { [call] in $0.took(call, on: boxed.value) }
        }
    }

    func connectionDidDrain(_ connection: TCPConnection) {}

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        let boxed = LoopBound(onLoop: connection, loop: receiver.loop)
        receiver.assumeIsolated { $0.closed(boxed.value) }
    }
}
