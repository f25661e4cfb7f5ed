import EventLoop
import Transport

/// One end of an exchange of states: who began it writes a frame, the other answers with one, and the connection ends.
///
///     frame = "gsp1" | length (4, big endian) | sealed bytes
///
/// The first four bytes tell the exchange from what shares the port: a connection that begins otherwise is handed on
/// with what it has said.
///
/// On the connection's loop only. It holds at most one frame of `bytesMax` and ends by itself after `timeout`.
final class StateExchange: ConnectionHandler {
    private static let preface = Array("gsp1".utf8)
    private static let headerBytes = 8

    private let connection: TCPConnection
    private let bytesMax: Int
    private var received: [UInt8] = []
    private var timer: LoopTimer?
    /// Until the first byte, where the other one is to speak first.
    private var firstByteTimer: LoopTimer?
    private var onSpeak: (() -> Void)?
    private var onFrame: ((StateExchange, [UInt8]) -> Void)?
    private var onOther: ((TCPConnection, [UInt8]) -> Void)?
    private var onEnd: ((StateExchange) -> Void)?

    /// - Parameters:
    ///   - bytesMax: Of what a frame carries; a longer one ends the connection.
    ///   - firstByte: how soon the other one is to begin; nil: as soon as it likes within `timeout`.
    ///   - onFrame: Called with what the first frame carries, which is the only one that is read.
    ///   - onOther: Takes the connection over when it turns out to be none of an exchange, with what was read of it;
    ///     nil: then it is closed.
    ///   - onSpeak: Called with the first bytes.
    ///   - onEnd: Called when the connection has closed or is handed on; the last call.
    init(
        _ connection: TCPConnection, bytesMax: Int, timeout: Duration, firstByte: Duration? = nil,
        onFrame: @escaping (StateExchange, [UInt8]) -> Void,
        onOther: ((TCPConnection, [UInt8]) -> Void)? = nil, onSpeak: (() -> Void)? = nil,
        onEnd: @escaping (StateExchange) -> Void
    ) {
        self.connection = connection
        self.bytesMax = bytesMax
        self.onFrame = onFrame
        self.onOther = onOther
        self.onSpeak = onSpeak
        self.onEnd = onEnd
        connection.handler = self
        timer = connection.loop.schedule(afterMilliseconds: timeout.wholeMilliseconds) { [unowned self] in
            timer = nil
            end()
        }
        if let firstByte {
            let milliseconds = firstByte.wholeMilliseconds
            firstByteTimer = connection.loop.schedule(afterMilliseconds: milliseconds) { [unowned self] in
                firstByteTimer = nil
                end()
            }
        }
        // Clients, however many, make nobody look dead.
        connection.hasPriority = true
        connection.startReading()
    }

    /// Whether the other one has said something that is not read yet.
    var hasUnreadInput: Bool { connection.hasUnreadInput }

    /// Writes the one frame of this end.
    func send(_ sealed: [UInt8]) {
        var frame = Self.preface
        withUnsafeBytes(of: UInt32(clamping: sealed.count).bigEndian) { frame += $0 }
        frame += sealed
        let bytes = SharedBytes(copying: frame)
        let written = connection.tryWrite(bytes)
        if written < bytes.count { connection.write(bytes, from: written) }
    }

    /// Ends when what was sent has arrived.
    func finish() { connection.shutdownThenClose() }

    /// Ends at once.
    func end() { connection.close() }

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard let onFrame else { return end() }
        firstByteTimer?.cancel()
        firstByteTimer = nil
        if received.isEmpty { onSpeak?() }
        received += bytes
        if let onOther, !Self.preface.starts(with: received.prefix(Self.preface.count)) {
            return handOn(to: onOther)
        }
        guard received.count >= Self.headerBytes else { return }
        let length = received[4..<Self.headerBytes].reduce(0) { $0 << 8 | Int($1) }
        guard received.starts(with: Self.preface), (1...bytesMax).contains(length) else { return end() }
        guard received.count >= Self.headerBytes + length else { return }
        guard received.count == Self.headerBytes + length else { return end() }
        self.onFrame = nil
        let sealed = Array(received[Self.headerBytes...])
        received = []
        onFrame(self, sealed)
    }

    /// The new owner reads at its own time.
    private func handOn(to owner: (TCPConnection, [UInt8]) -> Void) {
        connection.stopReading()
        connection.handler = nil
        let received = self.received
        self.received = []
        ended()
        owner(connection, received)
    }

    func connectionDidDrain(_ connection: TCPConnection) {}

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) { ended() }

    private func ended() {
        timer?.cancel()
        timer = nil
        firstByteTimer?.cancel()
        firstByteTimer = nil
        onFrame = nil
        onOther = nil
        onSpeak = nil
        let onEnd = self.onEnd
        self.onEnd = nil
        onEnd?(self)
    }
}
