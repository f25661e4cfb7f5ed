import EventLoop
import Foundation
import Transport

/// One call of the server API, over the simulated network: HTTP/1.1 with a connection of its own.
struct SimulatedCall {
    let host: String
    let port: Int
    let adminKey: String

    struct Answer: Sendable {
        var status: Int
        var body: [UInt8]
    }

    /// nil where there was no answer within the time.
    /// - Parameter id: its `Idempotency-Key`.
    func send(
        _ method: String, _ path: String, _ body: String = "", id: String? = nil, on loop: EventLoop,
        within milliseconds: UInt64 = 5_000
    ) async -> Answer? {
        var head = "\(method) \(path) HTTP/1.1\r\nHost: \(host):\(port)\r\nAuthorization: Bearer \(adminKey)\r\n"
        if let id { head += "Idempotency-Key: \(id)\r\n" }
        head += "Connection: close\r\nContent-Type: application/json\r\nContent-Length: \(body.utf8.count)\r\n\r\n"
        let bytes = Array((head + body).utf8)
        let (host, port) = (host, port)
        return await withCheckedContinuation { continuation in
            loop.execute {
                let exchange = Exchange(loop, bytes) { continuation.resume(returning: $0) }
                exchange.begin(host, port, within: milliseconds)
            }
        }
    }

    /// On the loop, from the connection to its end.
    private final class Exchange: ConnectionHandler {
        private let loop: EventLoop
        private let request: [UInt8]
        private var received: [UInt8] = []
        private var done: ((Answer?) -> Void)?
        private var timer: LoopTimer?

        init(_ loop: EventLoop, _ request: [UInt8], _ done: @escaping (Answer?) -> Void) {
            self.loop = loop
            self.request = request
            self.done = done
        }

        func begin(_ host: String, _ port: Int, within milliseconds: UInt64) {
            TCPConnection.connect(loop: loop, host: host, port: port, timeoutMilliseconds: milliseconds) { result in
                guard case .success(let connection) = result else { return self.end(nil) }
                connection.handler = self
                connection.startReading()
                connection.write(SharedBytes(copying: self.request))
                self.timer = self.loop.schedule(afterMilliseconds: milliseconds) {
                    self.end(nil)
                    connection.close()
                }
            }
        }

        private func end(_ answer: Answer?) {
            timer?.cancel()
            timer = nil
            done?(answer)
            done = nil
        }

        func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
            received.append(contentsOf: bytes)
        }

        func connectionDidDrain(_ connection: TCPConnection) {}

        func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
            let text = String(decoding: received, as: UTF8.self)
            let words = text.prefix(while: { $0 != "\r\n" }).split(separator: " ")
            guard words.count > 1, let status = Int(words[1]) else { return end(nil) }
            let body = text.range(of: "\r\n\r\n").map { Array(text[$0.upperBound...].utf8) } ?? []
            end(Answer(status: status, body: body))
        }
    }
}
