/// The algorithms of JSON Web Signatures that there are here; no other is known, `none` least of all.
public enum JWSAlgorithm: String, Sendable, Hashable, Decodable, CaseIterable {
    /// HMAC with SHA-256: a secret that both sides have.
    case HS256
    /// ECDSA with P-256 and SHA-256.
    case ES256
    /// RSASSA-PKCS1-v1_5 with SHA-256.
    case RS256
    /// Ed25519 (RFC 8037); Ed448 is not known.
    case EdDSA

    /// Whether keys are shared secrets, with which both sides can sign.
    public var isSymmetric: Bool { self == .HS256 }
}

/// A key that checks signatures, and, if it is a shared secret, makes them. Its algorithm belongs to it: whatever a
/// token says of itself does not count. From any thread.
public struct JWSKey: Sendable {
    /// Bytes of a shared secret (RFC 7518 §3.2).
    public static let secretBytesMin = 32

    private enum Material: Sendable {
        case secret(HMACKey)
        case publicKey(PublicKey)
    }

    public let algorithm: JWSAlgorithm
    private let material: Material

    /// For HS256.
    public init(secret: [UInt8]) throws(CryptographyError) {
        guard secret.count >= Self.secretBytesMin else {
            throw CryptographyError(.key, "a secret has at least \(Self.secretBytesMin) bytes")
        }
        algorithm = .HS256
        material = .secret(HMACKey(secret))
    }

    /// A public key of the algorithm in PEM: one `PUBLIC KEY`, as `openssl pkey -pubout` writes it.
    public init(pem: String, algorithm: JWSAlgorithm) throws(CryptographyError) {
        self.algorithm = algorithm
        material = .publicKey(try PublicKey(pem: pem, algorithm: algorithm))
    }

    /// A public key, with the algorithm that its type is for.
    public init(_ key: JSONWebKey) throws(CryptographyError) {
        let publicKey = try PublicKey(key)
        algorithm = publicKey.algorithm
        material = .publicKey(publicKey)
    }

    /// Whether it is the signature of the bytes.
    func isSignature(_ signature: [UInt8], of signed: [UInt8]) -> Bool {
        switch material {
        case .secret(let key): key.isCode(signature, of: signed)
        case .publicKey(let key): key.isSignature(signature, of: signed)
        }
    }

    /// nil for public keys, which sign nothing.
    func signature(of signed: [UInt8]) -> [UInt8]? {
        guard case .secret(let key) = material else { return nil }
        return key.code(of: signed)
    }
}
