import EventLoop
import Foundation
import Synchronization
import Transport

/// A client that asks for the next things before it is answered: one session, with JSON, over one connection. It repeats
/// nothing and does not come back.
final class HastyClient: Sendable {
    private struct State: Sendable {
        var connection: LoopBound<TCPConnection>?
        var answers: [Int: String] = [:]
        var isClosed = false
    }

    private let state = Mutex(State())
    private let loop: EventLoop

    init(on loop: EventLoop) { self.loop = loop }

    var isClosed: Bool { state.withLock { $0.isClosed } }

    /// Connects and asks for the first things.
    func connect(_ host: String, _ port: Int, _ requests: [String]) {
        loop.execute {
            TCPConnection.connect(loop: self.loop, host: host, port: port, timeoutMilliseconds: 5_000) { result in
                guard case .success(let connection) = result else {
                    return self.state.withLock { $0.isClosed = true }
                }
                let exchange = Exchange(self)
                connection.handler = exchange
                connection.startReading()
                connection.write(SharedBytes(copying: Viewers.handshake + requests.flatMap(Viewers.frame)))
                self.state.withLock { $0.connection = LoopBound(onLoop: connection, loop: self.loop) }
            }
        }
    }

    /// Asks for several things at once.
    func ask(_ requests: [String]) {
        guard let connection = state.withLock({ $0.connection }) else { return }
        loop.execute { connection.value.write(SharedBytes(copying: requests.flatMap(Viewers.frame))) }
    }

    func close() {
        guard let connection = state.withLock({ $0.connection }) else { return }
        loop.execute { connection.value.close() }
    }

    /// The answers to these requests, in their order; nil where the connection ends before, or nothing comes.
    func answers(to ids: [Int]) async throws -> [String]? {
        let end = SimulatedTime.now + Self.answersTake
        while SimulatedTime.now < end {
            let answers = state.withLock { state in ids.compactMap { state.answers[$0] } }
            if answers.count == ids.count { return answers }
            if isClosed { return nil }
            try await Task.sleep(for: .milliseconds(10))
        }
        return nil
    }

    private func take(_ text: String) {
        guard text.hasPrefix(#"{"id":"#), let id = Int(text.dropFirst(6).prefix { $0.isNumber }) else { return }
        state.withLock { $0.answers[id] = text }
    }

    private static let answersTake = Duration.seconds(20)

    /// On the loop.
    private final class Exchange: ConnectionHandler {
        private let client: HastyClient
        private var bytes: [UInt8] = []
        private var hasBegun = false

        init(_ client: HastyClient) { self.client = client }

        func connection(_ connection: TCPConnection, didRead read: UnsafeRawBufferPointer) {
            bytes.append(contentsOf: read)
            if !hasBegun {
                let end = Array("\r\n\r\n".utf8)
                guard let place = bytes.indices.first(where: { bytes[$0...].starts(with: end) }) else { return }
                bytes.removeFirst(place + end.count)
                hasBegun = true
            }
            while let text = nextText() { client.take(text) }
        }

        /// The content of the next frame; empty for pings and the like.
        private func nextText() -> String? {
            guard bytes.count >= 2 else { return nil }
            var (head, count) = (2, Int(bytes[1] & 127))
            if count >= 126 {
                let wide = count == 126 ? 2 : 8
                guard bytes.count >= 2 + wide else { return nil }
                count = bytes[2..<(2 + wide)].reduce(0) { $0 << 8 | Int($1) }
                head += wide
            }
            guard bytes.count >= head + count else { return nil }
            defer { bytes.removeFirst(head + count) }
            return bytes[0] & 15 == 1 ? String(decoding: bytes[head..<(head + count)], as: UTF8.self) : ""
        }

        func connectionDidDrain(_ connection: TCPConnection) {}

        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
            client.state.withLock {
                $0.isClosed = true
                $0.connection = nil
            }
        }
    }
}
