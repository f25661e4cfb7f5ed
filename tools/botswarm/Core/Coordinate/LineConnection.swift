import EventLoop
import FoundationEssentials
import Transport

/// One connection between coordinator and worker: JSON objects, one a line. Lives on its loop.
final class LineConnection: ConnectionHandler {
    /// The bound of a line, and of the bytes that wait to be written. A report of a long run has some megabytes.
    static let bytesMax = 64 << 20

    private let tcp: TCPConnection
    private let receive: (SwarmMessage) -> Void
    private let end: (String) -> Void
    private var input: [UInt8] = []
    private var output: [UInt8] = []
    private var hasEnded = false

    /// - Parameters:
    ///   - receive: is given each message.
    ///   - end: is called once, when nothing will come any more.
    init(_ tcp: TCPConnection, receive: @escaping (SwarmMessage) -> Void, end: @escaping (String) -> Void) {
        self.tcp = tcp
        self.receive = receive
        self.end = end
        tcp.handler = self
        tcp.startReading()
    }

    var peer: String { tcp.remoteAddress }

    func send(_ message: SwarmMessage) {
        guard !hasEnded, let line = try? JSONEncoder().encode(message) else { return }
        guard output.count + line.count < Self.bytesMax else { return close("it does not read what it is told") }
        output += line
        output.append(UInt8(ascii: "\n"))
        flush()
    }

    func close(_ reason: String) {
        tcp.close()
        finish(reason)
    }

    /// Closes when all is written.
    func closeGently() {
        hasEnded = true
        tcp.shutdownThenClose(withinMilliseconds: 2_000)
    }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard !hasEnded else { return }
        let old = input.count
        input += bytes
        var from = 0
        var search = old
        while !hasEnded, let newline = input[search...].firstIndex(of: UInt8(ascii: "\n")) {
            guard let message = try? JSONDecoder().decode(SwarmMessage.self, from: Data(input[from..<newline])) else {
                return close("it said something that is not a message of this version")
            }
            receive(message)
            from = newline + 1
            search = from
        }
        input.removeFirst(from)
        if input.count > Self.bytesMax { close("it sent a line that is too long") }
    }

    func connectionDidDrain(_ connection: TCPConnection) { flush() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        finish(error?.message ?? "the connection was closed")
    }

    private func flush() {
        guard !tcp.isWriting, !output.isEmpty else { return }
        let written = output.withUnsafeBytes { tcp.tryWrite($0) }
        if written < output.count { tcp.write(SharedBytes(copying: output[written...])) }
        output.removeAll()
    }

    private func finish(_ reason: String) {
        guard !hasEnded else { return }
        hasEnded = true
        end(reason)
    }
}
