import ChatModel
import EventLoop
import RoomProtocol
import Telemetry
import Transport

/// The socket of one transfer of content, in the place of the client connection that read its head; on the lane's loop.
/// It holds one piece in each direction and no more: what does not go on holds its peer back.
class MediaConnection: ConnectionHandler {
    let connection: ClientConnection
    let answer: MediaAnswer
    private(set) var isEnded = false
    /// It counts among the node's transfers.
    private var holdsPlace = true
    private var heardAt: UInt64
    private let beganAt: UInt64
    private var timer: LoopTimer?
    /// The bytes being written are the last ones.
    private var endsAfterWriting = false
    /// Bytes that come while the socket is still taking those before: an answer behind `100 Continue`.
    private var waiting: [UInt8] = []

    /// A peer that takes or sends nothing for so long is cut off.
    private static let idleMilliseconds: UInt64 = 30_000
    /// One that goes on for so long is cut off, however it goes on: the URL of a place holds no longer.
    private static let longestMilliseconds: UInt64 = 3_600_000

    /// Bytes of the peer are what the transfer is about.
    var isReading: Bool { true }
    /// Whether the peer is slower than it may be. Asked every ``lookMilliseconds``.
    func isTooSlow() -> Bool { false }
    static let lookMilliseconds: UInt64 = 5_000

    var tcp: TCPConnection { connection.tcp }
    var loop: EventLoop { connection.lane.loop }

    init(_ connection: ClientConnection, _ answer: MediaAnswer) {
        self.connection = connection
        self.answer = answer
        heardAt = connection.lane.loop.nowMilliseconds
        beganAt = heardAt
        connection.lane.shared.transfers.add()
        let interval = Self.lookMilliseconds
        timer = loop.schedule(afterMilliseconds: interval, repeatingMilliseconds: interval) { [weak self] in
            self?.look()
        }
    }

    /// The peer goes on.
    func noteProgress() { heardAt = loop.nowMilliseconds }

    private func look() {
        let now = loop.nowMilliseconds
        let isOver = now >= heardAt + Self.idleMilliseconds || now >= beganAt + Self.longestMilliseconds
        if isTooSlow() || isOver { tcp.close() }
    }

    /// Writes bytes; `didWrite` is called when the socket has taken them.
    func write(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        guard !tcp.isWriting else { return waiting += bytes }
        let written = bytes.withUnsafeBytes { tcp.tryWrite($0) }
        connection.lane.sentBytes += bytes.count
        if written < bytes.count { tcp.write(SharedBytes(copying: bytes[written...])) }
        // The part that TLS has sealed may still be on its way.
        if !tcp.isWriting { wrote() }
    }

    /// Writes the last bytes and ends the connection.
    func end(_ bytes: [UInt8]) {
        endsAfterWriting = true
        write(bytes)
    }

    private func wrote() {
        noteProgress()
        if endsAfterWriting {
            finish()
        } else {
            didWrite()
        }
    }

    func finish() {
        guard !isEnded else { return }
        isEnded = true
        timer?.cancel()
        // A client that does not close holds no place meanwhile.
        giveBackPlace()
        tcp.shutdownThenClose(withinMilliseconds: 5_000)
    }

    private func giveBackPlace() {
        guard holdsPlace else { return }
        holdsPlace = false
        connection.lane.shared.transfers.add(-1)
    }

    func didWrite() {}
    func didRead(_ bytes: UnsafeRawBufferPointer) {}
    func didClose() {}

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        if isReading { noteProgress() }
        if !isEnded { didRead(bytes) }
    }

    func connectionDidDrain(_ connection: TCPConnection) {
        guard !isEnded else { return }
        guard waiting.isEmpty else {
            let bytes = waiting
            waiting = []
            return write(bytes)
        }
        wrote()
    }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        isEnded = true
        timer?.cancel()
        didClose()
        giveBackPlace()
        // The places that it has are its client's.
        self.connection.connectionDidClose(connection, error: error)
    }
}

/// Content that comes: a PUT.
final class MediaReceiving: MediaConnection {
    private let request: MediaRequest
    private let service: any MediaService
    private var upload: (any MediaUpload)?
    private var pending: [UInt8] = []
    private var received: Int64 = 0
    private var isBusy = true
    private var isPaused = false
    private var pace = ReceivingPace()

    init(
        _ request: MediaRequest, _ service: any MediaService, connection: ClientConnection, answer: MediaAnswer
    ) {
        self.request = request
        self.service = service
        super.init(connection, answer)
    }

    /// Asks whether the bytes may come; meanwhile one piece of them is taken.
    func start(with bytes: UnsafeRawBufferPointer) {
        didRead(bytes)
        let me = LoopBound(onLoop: self, loop: loop)
        let (request, service) = (request, service)
        Task {
            let result: Result<any MediaUpload, MediaRefusal>
            do throws(MediaRefusal) {
                result = .success(
                    try await service.begin(
                        request.id, in: request.room, token: request.token, length: request.length))
            } catch {
                result = .failure(error)
            }
            me.loop.execute { me.value.began(result) }
        }
    }

    private func began(_ result: Result<any MediaUpload, MediaRefusal>) {
        switch result {
        case .success(let upload):
            guard !isEnded else { return upload.abandon() }
            self.upload = upload
            isBusy = false
            if request.expectsContinue, received == 0 { write(Array("HTTP/1.1 100 Continue\r\n\r\n".utf8)) }
            advance()
        case .failure(let refusal): end(answer.refusal(refusal))
        }
    }

    override func didRead(_ bytes: UnsafeRawBufferPointer) {
        // Bytes behind the content are of nobody's interest: the connection ends after the answer.
        let taken = min(Int64(bytes.count), request.length - received)
        guard taken > 0 else { return }
        pending += UnsafeRawBufferPointer(rebasing: bytes[..<Int(taken)])
        received += taken
        pace.received(Int(taken))
        if pending.count >= MediaPiece.bytesMax, !isPaused {
            isPaused = true
            tcp.stopReading()
        }
        advance()
    }

    private func advance() {
        guard !isBusy, !isEnded, let upload else { return }
        let isLast = received == request.length
        guard pending.count >= MediaPiece.bytesMax || isLast else { return }
        isBusy = true
        let piece = Array(pending.prefix(MediaPiece.bytesMax))
        pending.removeFirst(piece.count)
        let isDone = isLast && piece.isEmpty
        let me = LoopBound(onLoop: self, loop: loop)
        Task {
            var refusal: MediaRefusal?
            do throws(MediaRefusal) {
                if isDone { try await upload.finish() } else { try await upload.write(piece) }
            } catch {
                refusal = error
            }
            let found = refusal
            me.loop.execute { me.value.wrote(found, isDone: isDone) }
        }
    }

    private func wrote(_ refusal: MediaRefusal?, isDone: Bool) {
        isBusy = false
        noteProgress()
        guard !isEnded else { return abandon() }
        if let refusal {
            abandon()
            return end(answer.refusal(refusal))
        }
        guard !isDone else {
            upload = nil
            return end(answer.stored())
        }
        if isPaused, pending.count < MediaPiece.bytesMax {
            isPaused = false
            tcp.startReading()
        }
        advance()
    }

    private func abandon() {
        upload?.abandon()
        upload = nil
        pending = []
    }

    override func didClose() { if !isBusy { abandon() } }

    /// While the node is at work with what has come, the peer waits for it.
    override func isTooSlow() -> Bool { pace.isTooSlow(after: isBusy || isPaused ? 0 : Self.lookMilliseconds) }
}

/// Content that goes: a GET or HEAD.
final class MediaSending: MediaConnection {
    private let content: any MediaContent
    private var left: Range<Int64>

    override var isReading: Bool { false }

    init(_ content: any MediaContent, _ part: Range<Int64>, connection: ClientConnection, answer: MediaAnswer) {
        self.content = content
        left = part
        super.init(connection, answer)
    }

    override func didWrite() {
        guard !left.isEmpty else { return finish() }
        let me = LoopBound(onLoop: self, loop: loop)
        let (content, offset, count) = (content, left.lowerBound, min(left.count, MediaPiece.bytesMax))
        Task {
            // A peer that waits for bytes that do not come is cut off: it sees by the length that they are missing.
            let bytes = (try? await content.read(at: offset, count: count)) ?? []
            me.loop.execute { me.value.didReadContent(bytes) }
        }
    }

    private func didReadContent(_ bytes: [UInt8]) {
        guard !isEnded else { return }
        guard !bytes.isEmpty, bytes.count <= left.count else { return tcp.close() }
        left = left.lowerBound + Int64(bytes.count)..<left.upperBound
        write(bytes)
    }
}
