/// One key of a JWKS document as it stands there (RFC 7517, RFC 7518 §6, RFC 8037 §2). Nothing of it is checked
/// before a ``JWSKey`` is made of it.
public struct JSONWebKey: Sendable, Decodable {
    public var kid: String?
    public var kty: String
    public var alg: String?
    public var use: String?
    public var keyOps: [String]?
    var crv: String?
    var x: String?
    var y: String?
    var n: String?
    var e: String?
    /// Whether it has a member that only a secret or a private key has. Such a key is published by mistake: whoever has
    /// read it can sign with it.
    var isSecret: Bool

    private enum CodingKeys: String, CodingKey, CaseIterable {
        case kid, kty, alg, use, crv, x, y, n, e
        case keyOps = "key_ops"
        case d, p, q, dp, dq, qi, oth, k
    }

    public init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        kid = try members.decodeIfPresent(String.self, forKey: .kid)
        kty = try members.decode(String.self, forKey: .kty)
        alg = try members.decodeIfPresent(String.self, forKey: .alg)
        use = try members.decodeIfPresent(String.self, forKey: .use)
        keyOps = try members.decodeIfPresent([String].self, forKey: .keyOps)
        crv = try members.decodeIfPresent(String.self, forKey: .crv)
        x = try members.decodeIfPresent(String.self, forKey: .x)
        y = try members.decodeIfPresent(String.self, forKey: .y)
        n = try members.decodeIfPresent(String.self, forKey: .n)
        e = try members.decodeIfPresent(String.self, forKey: .e)
        isSecret = [.d, .p, .q, .dp, .dq, .qi, .oth, .k].contains { members.contains($0) }
    }

    /// The algorithm that its type is for.
    /// - Throws: `key` for a key of a type that is not known, for one that is no public key, and for one that by its
    ///   own words is for another algorithm or not for checking signatures.
    func algorithm() throws(CryptographyError) -> JWSAlgorithm {
        guard !isSecret else { throw CryptographyError(.key, "it is not a public key") }
        let algorithm: JWSAlgorithm? =
            switch (kty, crv) {
            case ("EC", "P-256"): .ES256
            case ("RSA", nil): .RS256
            case ("OKP", "Ed25519"): .EdDSA
            default: nil
            }
        guard let algorithm else { throw CryptographyError(.key, "its type is not known") }
        guard alg == nil || alg == algorithm.rawValue else {
            throw CryptographyError(.key, "it is for another algorithm than \(algorithm)")
        }
        guard use == nil || use == "sig", keyOps?.contains("verify") ?? true else {
            throw CryptographyError(.key, "it is not for checking signatures")
        }
        return algorithm
    }
}
