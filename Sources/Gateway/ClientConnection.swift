import ChatModel
import EventLoop
import HTTPWebSocket
import SessionCore
import Transport

/// One client's socket on one lane: bytes in, frames out. Lives on its lane's loop and nowhere else.
///
/// Bytes that came are handed to the lane as requests; what is to go out to it alone is appended by `enqueue` and
/// written once at the end of the turn. An `Audience` writes the frames that rooms show to everybody, and comes here
/// only when something waits already or the socket is full. Bytes that the socket does not take wait in `queue`, which
/// is bounded (see `SendQueue`).
final class ClientConnection: ConnectionHandler {
    let number: UInt64
    let tcp: TCPConnection
    unowned let lane: GatewayLane
    var phase = Phase.handshake(HTTPUpgradeParser())
    /// The encoding of its subprotocol; fixed by the handshake.
    private(set) var encoding = ClientEncoding.json
    /// The frames that its client can read; fixed when `connect` has been answered.
    private(set) var compression = Compression.none
    /// The client keeps the window of what it inflates; fixed by the handshake.
    private var keepsContext = false
    /// The room whose compressed stream it reads, or shall read: the first that it has entered, of those that it views.
    var followed: FollowedStream?
    /// The fate of its `connect`.
    var login = Login()
    /// nil before `connect` has been answered.
    var session: LaneSession?
    /// Rooms that this connection views, with its index in each hub.
    var views: [RoomID: Int] = [:]
    /// When it must have connected, in loop time; nil once it has.
    var connectDeadlineMilliseconds: UInt64?
    /// When it was accepted, in loop time.
    let begunAtMilliseconds: UInt64
    var heartbeat: Heartbeat

    /// The places that it holds of the limits, to be given back at its end.
    struct Places {
        var isOfNode = false
        var holder: IPRange?
        var user: UserID?
    }

    enum NoPlace {
        /// The places of the node are taken.
        case full
        /// The places of its address are taken.
        case addressFull
        /// Too many come at once.
        case tooFast
    }

    /// Where its client is: the peer's address, or what a trusted proxy says of it.
    var address: IPAddress
    var places = Places()
    /// Why it is only told to come again; nil for one that is served.
    var noPlace: NoPlace?

    /// The bytes that the lane has counted for it.
    var countedBytes = 0
    /// With which it has been closed from here; nil without a close frame.
    private(set) var closeCode: CloseCode?

    /// It waits for the next turn with the rest.
    var isThrottled = false

    // MARK: - State of its input, for the files of this type alone

    /// The bytes of the HTTP request.
    var handshakeBytes = 0
    var decoder = WebSocketFrameDecoder(role: .server)
    var intake = Intake.reading
    /// The rest of a frame some of whose requests have been taken: bounded by the frame.
    var unfinished: UnfinishedFrame?
    /// A message has been inflated before `connect` was answered.
    var hasInflated = false
    /// Pays for the bytes by which its compressed messages grow; nil before the first of them.
    var inflation: TokenBucket?
    /// It is not read until it has paid.
    var isOverdrawn = false
    var malformedInARow = 0
    /// Bytes that came and are not parsed, because the share of the turn was used up.
    var unparsed: [UInt8] = []
    var shareTurn: UInt64 = 0
    var framesLeft = 0
    var bytesLeft = 0

    // MARK: - State of its output, for the files of this type alone

    var queue = SendQueue<LaneFrame>()
    var flushing = Flush.none {
        didSet { tcp.isHeld = flushing.isDue }
    }
    /// The frame that the socket is just taking, and how much of it is for this connection alone.
    var inFlight: (frame: LaneFrame?, ownBytes: Int) = (nil, 0)
    /// It is among those that the lane looks at because bytes wait.
    var isWaiting = false

    init(number: UInt64, tcp: TCPConnection, lane: GatewayLane, address: IPAddress) {
        self.number = number
        self.address = address
        self.tcp = tcp
        self.lane = lane
        let now = lane.loop.nowMilliseconds
        begunAtMilliseconds = now
        let configuration = lane.configuration
        heartbeat = Heartbeat(
            intervalMilliseconds: UInt64(configuration.heartbeatSeconds) * 1000, nowMilliseconds: now, lane.listening)
        connectDeadlineMilliseconds = now + UInt64(configuration.connectSeconds) * 1000
    }

    // MARK: - Its protocol

    func acceptHandshake(
        _ response: [UInt8], encoding: ClientEncoding, agreement: PermessageDeflate.Agreement?
    ) {
        self.encoding = encoding
        compression = agreement == nil ? .none : .alone
        keepsContext = agreement?.keepsContext ?? false
        decoder.mayBeCompressed = agreement != nil
        connectDeadlineMilliseconds = lane.loop.nowMilliseconds + UInt64(lane.configuration.connectSeconds) * 1000
        enqueue(response)
        handshakeBytes = 0
        phase = .open
    }

    /// The client takes lines of a room once more, so it can join the room's compressed stream anywhere (PROTOCOL.md,
    /// "Compression"). Frames of protobuf are in no such stream.
    func allowPrimers() {
        if keepsContext, encoding == .json { compression = .shared }
    }

    // MARK: - Its end

    /// Sends a close frame behind what waits and ends the connection.
    func close(_ code: CloseCode, _ reason: String) {
        guard !phase.isEnding else { return }
        closeCode = code
        switch phase {
        case .handshake, .answering, .transferring:
            phase = .closing
            return tcp.close()
        default: break
        }
        lane.settle(self)
        enqueue(WebSocketFrameEncoder.close(code: code.rawValue, reason: reason))
        endAfterWriting()
    }

    func answerClose() {
        closeCode = .normal
        lane.settle(self)
        enqueue(WebSocketFrameEncoder.close(code: CloseCode.normal.rawValue, reason: ""))
        endAfterWriting()
    }

    /// Writes an HTTP answer and ends the connection.
    func refuseHandshake(_ response: [UInt8]) {
        enqueue(response)
        endAfterWriting()
    }

    private func endAfterWriting() {
        phase = .closing
        (unparsed, unfinished) = ([], nil)
        lane.detach(self)
        pauseReading()
        flush()
        if tcp.isWriting || !queue.isEmpty {
            phase = .draining(untilMilliseconds: lane.loop.nowMilliseconds + Self.closeMilliseconds)
            lane.plan(self)
        } else {
            tcp.shutdownThenClose()
        }
    }

    func cut() { tcp.close() }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        phase = .gone
        release()
        dropOutput()
        inFlight = (nil, 0)
        count()
        lane.didClose(self)
    }

    private static let closeMilliseconds: UInt64 = 5_000
}
