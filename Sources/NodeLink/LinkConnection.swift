import ChatModel
import EventLoop
import NodeLinkCore
import TLS
import Transport

/// The certificate that a node has shown.
public struct LinkCertificate: Sendable, Hashable {
    /// SHA-256.
    public var fingerprint: [UInt8]
    /// The node that it names.
    public var names: [String]
}

/// The object that a connection reports to. On the connection's loop.
protocol LinkConnectionOwner: AnyObject {
    func link(_ link: LinkConnection, didReceive frame: LinkFrame)
    /// The input is no frame. Nothing more is reported but the end.
    func link(_ link: LinkConnection, didFail error: LinkError)
    /// The system takes more.
    func linkDidDrain(_ link: LinkConnection)
    /// The last call.
    func linkDidClose(_ link: LinkConnection, _ error: LinkError)
}

/// One TCP connection to another node: cuts what comes into frames, and writes what the outbox has, about
/// ``writeBytes`` at a time, so that what is urgent overtakes what is big.
final class LinkConnection: ConnectionHandler {
    /// About so much is taken out of the outbox at once.
    static let writeBytes = 256 << 10
    /// So many times in one turn, so that one fast receiver does not hold up the loop.
    static let writesPerTurn = 4

    let id: LinkPeers.ConnectionID
    let isSecured: Bool
    /// Whether the end was told to `LinkPeers`.
    var isGone = false
    var isDirty = false
    /// The state of the exchange between both sides.
    var conversation: LinkConversation

    private let connection: TCPConnection
    private var owner: (any LinkConnectionOwner)?
    private var finishTimer: LoopTimer?

    /// Takes the connection over, begins TLS if it is to have it, and puts the hello into the outbox.
    init(
        _ connection: TCPConnection, id: LinkPeers.ConnectionID, isCaller: Bool, tls: LinkTLS?,
        output: TLSOutput, greeting: LinkGreeting, patience: LinkConversation.Patience,
        owner: any LinkConnectionOwner
    ) throws(LinkError) {
        self.connection = connection
        self.id = id
        conversation = LinkConversation(greeting, patience: patience, at: connection.loop.nowMilliseconds)
        self.owner = owner
        isSecured = tls != nil
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

    var isEnded: Bool { conversation.isEnded }
    /// The node that this one has called; nil when it was called.
    var called: NodeID? { conversation.called }

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

    /// The certificate that the other has shown; nil without TLS.
    var certificate: LinkCertificate? {
        connection.peerFingerprint.map { LinkCertificate(fingerprint: $0, names: connection.peerNames) }
    }

    // MARK: - What is heard

    /// The meaning of a frame.
    func heard(_ frame: LinkFrame) throws(LinkError) -> LinkConversation.Heard {
        try conversation.heard(frame) { node throws(LinkError) in (try certified(node), try binding()) }
    }

    private func binding() throws(LinkError) -> [UInt8] {
        guard isSecured else { return [] }
        guard let binding = connection.channelBinding else {
            throw LinkError(.proof, "the TLS of this connection has nothing to bind a proof to")
        }
        return binding
    }

    /// Random bytes of the system's generator, which nobody can foresee.
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
            conversation.take(about: Self.writeBytes, into: &buffer, at: connection.loop.nowMilliseconds)
            guard !buffer.isEmpty else { return false }
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
        conversation.end()
        writeAndEnd()
    }

    private func writeAndEnd() {
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
        if connection.isWriting, !conversation.outbox.isEmpty { return }
        connection.shutdownThenClose()
    }

    private static let finishMilliseconds: UInt64 = 2_000

    /// Says why, if that can be said, and ends.
    func refuse(_ error: LinkError) {
        guard !isEnded else { return }
        guard !connection.isHandshaking else { return close() }
        conversation.end(because: error)
        writeAndEnd()
    }

    /// Ends at once.
    func close() {
        conversation.end()
        connection.close()
    }

    // MARK: - From the connection

    func connection(_ connection: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
        conversation.append(bytes, at: connection.loop.nowMilliseconds)
        do throws(LinkError) {
            while let frame = try conversation.nextFrame() { owner?.link(self, didReceive: frame) }
        } catch {
            owner?.link(self, didFail: error)
        }
    }

    func connectionDidDrain(_ connection: TCPConnection) {
        if isEnded { writeRest() } else { owner?.linkDidDrain(self) }
    }

    func connectionDidClose(_ connection: TCPConnection, error: TransportError?) {
        let isGreeting = conversation.stage == .greeting
        conversation.end()
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
