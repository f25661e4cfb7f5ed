import ChatModel

/// The beginning of a connection as one side sees it: hello, proof, and nothing else before both are done. A value.
///
///     caller -> called   hello with a nonce
///     called -> caller   hello with a nonce           (both at once; neither waits for the other)
///     caller -> called   proof
///     called -> caller   proof, when the caller's was right and the caller is wanted
///
/// A proof is a message authentication code, with a key of the cluster, of who gives it (the caller or the called), of
/// both hellos byte for byte, and with TLS of what this TLS connection alone has (RFC 9266). So it is worth nothing on
/// another connection, to another node, for another hello, or when it is sent back. The called one, who may be called by
/// anybody, gives no proof to somebody who has none.
public struct LinkGreeting: Sendable {
    /// The next action.
    public enum Step: Sendable, Hashable {
        /// The other has to say something first.
        case wait
        /// Send this; then as `wait`.
        case send(LinkFrame)
        /// The other is who it says. `proof` is still owed to it, before anything else, if it is wanted.
        case done(LinkHello, proof: LinkFrame?)
    }

    private enum Stage: Sendable {
        case hello
        case proof(LinkHello, own: [UInt8], others: [UInt8])
        case over
    }

    /// The first frame of this side.
    public let frame: LinkFrame
    /// The node that this side has called; nil when it was called, or asks whoever is there.
    public let expected: NodeID?

    private let own: LinkHello
    private let isCaller: Bool
    private let keys: LinkKeys
    private var stage = Stage.hello

    /// - Parameters:
    ///   - own: this side's hello, without a nonce.
    ///   - nonce: `LinkHello.nonceBytes` of them, random and new.
    public init(_ own: LinkHello, nonce: [UInt8], isCaller: Bool, expected: NodeID?, keys: LinkKeys) {
        var own = own
        own.nonce = nonce
        self.own = own
        self.isCaller = isCaller
        self.expected = expected
        self.keys = keys
        frame = LinkControl.hello(own).frame
    }

    /// The other's hello has come.
    ///
    /// - Parameters:
    ///   - payload: its frame's, byte for byte.
    ///   - certified: the node that the other's certificate names; nil without certificates.
    ///   - binding: what this TLS connection alone has, the same at both ends; empty without TLS.
    /// - Throws: `malformed`, and what `LinkHello.agree` throws: who does not fit need prove nothing.
    public mutating func heard(_ other: LinkHello, payload: [UInt8], certified: NodeID?, binding: [UInt8])
        throws(LinkError) -> Step
    {
        guard case .hello = stage else { throw LinkError(.malformed, "\(other.node) says hello twice") }
        let isQuestion = own.isNewcomer || (other.isNewcomer && !isCaller)
        if isQuestion {
            _ = try own.understand(other, certified: certified)
        } else {
            _ = try own.agree(with: other, expected: expected, certified: certified)
        }
        guard other.nonce.count == LinkHello.nonceBytes, other.nonce != own.nonce else {
            throw LinkError(.malformed, "the hello of \(other.node) has no nonce of its own")
        }
        let (caller, called) = isCaller ? (frame.payload, payload) : (payload, frame.payload)
        let (ofCaller, ofCalled) = (
            Self.statement(ofCaller: true, caller, called, binding),
            Self.statement(ofCaller: false, caller, called, binding)
        )
        stage = .proof(other, own: isCaller ? ofCaller : ofCalled, others: isCaller ? ofCalled : ofCaller)
        return isCaller ? .send(LinkControl.proof(keys.prove(ofCaller)).frame) : .wait
    }

    /// The other's proof has come.
    /// - Throws: `proof`, `malformed`.
    public mutating func heard(proof: [UInt8]) throws(LinkError) -> Step {
        guard case .proof(let other, let own, let others) = stage else {
            throw LinkError(.malformed, "a proof comes before the hello, or twice")
        }
        guard keys.accepts(proof, others) else {
            throw LinkError(.proof, "\(other.node) does not prove that it has a cluster key that \(self.own.node) has")
        }
        stage = .over
        return .done(other, proof: isCaller ? nil : LinkControl.proof(keys.prove(own)).frame)
    }

    private static let label = Array("chatroom link proof 4".utf8)

    /// The statement that a proof signs. Each part has its length before it, so that none can be taken for a part of
    /// another.
    private static func statement(ofCaller: Bool, _ caller: [UInt8], _ called: [UInt8], _ binding: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        for part in [label, Array((ofCaller ? "caller" : "called").utf8), caller, called, binding] {
            withUnsafeBytes(of: UInt64(part.count).bigEndian) { bytes += $0 }
            bytes += part
        }
        return bytes
    }
}
