import ChatModel
import EventLoop
import LinkCore
import TLS
import Transport

/// What a node has proved itself with.
public struct LinkCertificate: Sendable, Hashable {
    /// SHA-256.
    public var fingerprint: [UInt8]
    /// Whom it names.
    public var names: [String]
}

/// Whom a connection reports to. On the connection's loop.
protocol LinkConnectionOwner: AnyObject {
    func link(_ link: LinkConnection, didReceive frame: LinkFrame)
    /// What came is no frame. Nothing more is reported but the end.
    func link(_ link: LinkConnection, didFail error: LinkError)
    /// The system takes more.
    func linkDidDrain(_ link: LinkConnection)
    /// The last call.
    func linkDidClose(_ link: LinkConnection, _ error: LinkError)
}

/// One TCP connection to another node: cuts what comes into frames, and writes what the outbox has, about
/// ``writeBytes`` at a time, so that what is urgent overtakes what is big.
final class LinkConnection: ConnectionHandler {
    enum Stage {
        /// Waits for the other's hello and its proof.
        case greeting
        case up(NodeID)
        /// Nothing is read or written any more.
        case ended
    }

    /// About so much is taken out of the outbox at once.
    static let writeBytes = 256 << 10
    /// So many times in one turn, so that one fast receiver does not hold up the loop.
    static let writesPerTurn = 4

    let id: LinkPeers.ConnectionID
    /// Whom this node has called; nil when it was called.
    var called: NodeID? { greeting.expected }
    let isSecured: Bool
    /// Whom the other side said to be.
    var claimed: NodeID?
    var stage = Stage.greeting
    /// Whether it has been up.
    var wasUp = false
    /// Whether the end was told to `LinkPeers`.
    var isGone = false
    var isDirty = false
    /// When the hello and the proof must have come, on the loop's clock.
    var greetingDeadline: UInt64
    var heardAt: UInt64
    var sentAt: UInt64
    var outbox = LinkOutbox()
    var credit = LinkCredit()
    /// Lanes that have refused a frame since they had room.
    var refusedLanes: Set<LinkLane> = []

    private let connection: TCPConnection
    private var greeting: LinkGreeting
    private var owner: (any LinkConnectionOwner)?
    private var reader = LinkFrameReader()
    private var finishTimer: LoopTimer?

    /// Takes the connection over, begins TLS if it is to have it, and puts the hello into the outbox.
    init(
        _ connection: TCPConnection, id: LinkPeers.ConnectionID, isCaller: Bool, tls: LinkTLS?,
        output: TLSOutput, greeting: LinkGreeting, helloMilliseconds: UInt64, owner: any LinkConnectionOwner
    ) throws(LinkError) {
        self.connection = connection
        self.id = id
        self.greeting = greeting
        self.owner = owner
        isSecured = tls != nil
        let now = connection.loop.nowMilliseconds
        (heardAt, sentAt, greetingDeadline) = (now, now, now + helloMilliseconds)
        // A node that everybody could reach would believe everybody.
        guard tls != nil || IPAddress(connection.remoteAddress)?.isLoopback == true else {
            throw LinkError(.identity, "a link that leaves the machine needs link.tls")
        }
        if let tls {
            do throws(TLSError) {
                try connection.secure(with: isCaller ? tls.client : tls.server, output: output)
            } catch {
                throw LinkError(.identity, error.message)
            }
        }
        _ = outbox.offer(greeting.frame)
        connection.handler = self
    }

    /// Begins to read, after what a former owner has read.
    func start(_ received: [UInt8] = []) {
        if isSecured, let first = received.first, first != LinkTLS.firstByte {
            owner?.link(self, didFail: LinkError(.identity, "it does not speak TLS"))
            return
        }
        // Clients, however many, don't hold up consensus.
        connection.hasPriority = true
        connection.startReading()
        connection.redeliver(received)
    }

    var isEnded: Bool { if case .ended = stage { true } else { false } }

    /// The node that the other's certificate names: `node` if that is one of its names. nil without TLS.
    /// - Throws: `identity` for a certificate that names no node.
    func certified(_ node: NodeID) throws(LinkError) -> NodeID? {
        guard isSecured else { return nil }
        let names = connection.peerNames
        if names.contains(node.text) { return node }
        guard let other = names.lazy.compactMap({ NodeID($0) }).first else {
            throw LinkError(.identity, "the certificate of \(node) names no node")
        }
        return other
    }

    /// What the other has shown; nil without TLS.
    var certificate: LinkCertificate? {
        connection.peerFingerprint.map { LinkCertificate(fingerprint: $0, names: connection.peerNames) }
    }

    // MARK: - Greeting

    /// What a frame of the greeting comes to.
    enum Greeted {
        case wait
        case send(LinkFrame)
        /// The other has proved who it is; the frame is still owed to it.
        case done(LinkHello, proof: LinkFrame?)
        /// The other does not want this connection.
        case refused(LinkError)
    }

    /// The other's hello or proof has come.
    func greet(_ frame: LinkFrame) throws(LinkError) -> Greeted {
        guard frame.lane == .control else { throw .helloExpected }
        let step: LinkGreeting.Step
        switch try LinkControl(frame.payload) {
        case .hello(let other):
            claimed = other.node
            step = try greeting.heard(
                other, payload: frame.payload, certified: try certified(other.node), binding: try binding())
        case .proof(let proof): step = try greeting.heard(proof: proof)
        case .refusal(let refusal): return .refused(refusal.error)
        case .credit, .ping: throw .helloExpected
        }
        return switch step {
        case .wait: .wait
        case .send(let answer): .send(answer)
        case .done(let other, let proof): .done(other, proof: proof)
        }
    }

    /// Puts a frame of the greeting into the outbox, which has room for it.
    func offer(_ frame: LinkFrame, _ mark: (LinkConnection) -> Void) {
        _ = outbox.offer(frame)
        mark(self)
    }

    private func binding() throws(LinkError) -> [UInt8] {
        guard isSecured else { return [] }
        guard let binding = connection.channelBinding else {
            throw LinkError(.proof, "the TLS of this connection has nothing to bind a proof to")
        }
        return binding
    }

    /// Of the system's generator, which nobody can foresee.
    static func nonce() -> [UInt8] { (0..<LinkHello.nonceBytes).map { _ in .random(in: 0 ... .max) } }

    // MARK: - Writing

    /// Whether bytes are on their way that the system has not taken.
    var isWriting: Bool { connection.isWriting }

    /// Writes what may be written now. `buffer` is room to work in.
    /// - Returns: whether there may be more to write in the next turn.
    func flush(_ buffer: inout [UInt8]) -> Bool {
        !isEnded && write(&buffer)
    }

    private func write(_ buffer: inout [UInt8]) -> Bool {
        for _ in 0..<Self.writesPerTurn {
            guard !connection.isWriting else { return false }
            buffer.removeAll(keepingCapacity: buffer.capacity <= 4 * Self.writeBytes)
            outbox.take(about: Self.writeBytes, into: &buffer)
            guard !buffer.isEmpty else { return false }
            sentAt = connection.loop.nowMilliseconds
            let rest: SharedBytes? = buffer.withUnsafeBytes { bytes in
                let written = connection.tryWrite(bytes)
                guard written < bytes.count else { return nil }
                return SharedBytes(copying: UnsafeRawBufferPointer(rebasing: bytes[written...]))
            }
            if let rest {
                connection.write(rest)
                return false
            }
        }
        return true
    }

    // MARK: - The end

    /// Ends when what was offered has arrived, or after ``finishMilliseconds``.
    func finish() {
        guard !isEnded else { return }
        stage = .ended
        finishTimer = connection.loop.schedule(afterMilliseconds: Self.finishMilliseconds) { [unowned self] in
            finishTimer = nil
            connection.close()
        }
        writeRest()
    }

    private func writeRest() {
        var buffer: [UInt8] = []
        _ = write(&buffer)
        // With TLS a hello may still wait for the end of the handshake, and a refusal behind it.
        if connection.isWriting, !outbox.isEmpty { return }
        connection.shutdownThenClose()
    }

    private static let finishMilliseconds: UInt64 = 2_000

    /// Says why, if that can be said, and ends.
    func refuse(_ error: LinkError) {
        guard !isEnded else { return }
        guard !connection.isHandshaking else { return close() }
        if case .up = stage {
            // What waits is of no use any more.
            outbox = LinkOutbox()
        }
        _ = outbox.offer(LinkControl.refusal(LinkRefusal(error)).frame)
        finish()
    }

    /// Ends at once.
    func close() {
        stage = .ended
        connection.close()
    }

    // MARK: - From the connection

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        guard !isEnded else { return }
        heardAt = connection.loop.nowMilliseconds
        reader.append(bytes)
        do throws(LinkError) {
            while !isEnded, let frame = try reader.next() { owner?.link(self, didReceive: frame) }
            if case .greeting = stage, reader.waitingBytes > LinkFrame.headerBytes + LinkLane.control.frameBytesMax {
                throw .helloExpected
            }
        } catch {
            owner?.link(self, didFail: error)
        }
    }

    func connectionDidDrain(_ connection: TCPConnection) {
        if isEnded { writeRest() } else { owner?.linkDidDrain(self) }
    }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        let isGreeting = if case .greeting = stage { true } else { false }
        stage = .ended
        finishTimer?.cancel()
        finishTimer = nil
        owner?.linkDidClose(self, Self.reason(error, isGreeting: isGreeting))
        owner = nil
    }
}

extension LinkConnection {
    /// With TLS 1.3 a caller hears only behind its own handshake that its certificate is refused: until the hello has
    /// come, what is wrong with TLS is who the other is.
    private static func reason(_ error: TransportError?, isGreeting: Bool) -> LinkError {
        guard let error else { return LinkError(.closed, "the connection was closed") }
        guard isGreeting, error.code == .notTrusted else { return LinkError(.closed, error.message) }
        return LinkError(
            .identity, "TLS failed: one of the two does not trust the other's certificate, or does not speak TLS")
    }
}

extension LinkError {
    /// Something else came before the hello.
    static var helloExpected: LinkError { LinkError(.malformed, "it sends something else before its hello") }
}
