import Cryptography
import FoundationEssentials

/// The use of tokens of a key, and the claims that they must have besides the protocol's claims.
struct TokenTerms: Sendable, Hashable {
    enum Use: String, Sendable, Decodable {
        case client, admin
    }

    var use: Use
    /// If present, a token's `iss` must be it.
    var iss: String?
    /// If present, a token's `aud` must be or contain it.
    var aud: String?
    /// The most that tokens of an admin key may.
    var rights = AdminClaims()
}

/// One record of the keys file's `token` list.
enum TokenRecord: Sendable, Decodable {
    case key(TokenKey)
    case keySet(KeySetRecord)

    private enum CodingKeys: CodingKey {
        case jwksUrl
    }

    init(from decoder: any Decoder) throws {
        if try decoder.container(keyedBy: CodingKeys.self).contains(.jwksUrl) {
            self = .keySet(try KeySetRecord(from: decoder))
        } else {
            self = .key(try TokenKey(from: decoder))
        }
    }
}

/// A key that stands in the keys file.
struct TokenKey: Sendable, Decodable {
    var kid: String
    var algorithm: JWSAlgorithm
    var use: TokenTerms.Use
    /// HS256: the shared secret's UTF-8 bytes, at least 32 of them (RFC 7518 §3.2).
    var secret: String?
    /// All others: the public key in PEM.
    var publicKey: String?
    var iss: String?
    var aud: String?
    /// It and `roomPrefix` are for admin keys only.
    var role: String?
    var roomPrefix: String?

    var terms: TokenTerms {
        TokenTerms(use: use, iss: iss, aud: aud, rights: AdminClaims(role: role, roomPrefix: roomPrefix))
    }

    func check() throws(NodeError) {
        if algorithm.isSymmetric {
            guard let secret, secret.utf8.count >= JWSKey.secretBytesMin else {
                throw NodeError(.configuration, "token key \(kid) needs a secret of at least 32 bytes")
            }
        } else if publicKey == nil {
            throw NodeError(.configuration, "token key \(kid) needs a publicKey")
        }
    }

    func key() throws(NodeError) -> JWSKey {
        do throws(CryptographyError) {
            return algorithm.isSymmetric
                ? try JWSKey(secret: Array((secret ?? "").utf8))
                : try JWSKey(pem: publicKey ?? "", algorithm: algorithm)
        } catch {
            let what =
                switch algorithm {
                case .HS256: throw NodeError(.configuration, "the secret of token key \(kid) can't be used: \(error)")
                case .ES256: "a P-256 key in PEM"
                case .RS256: "an RSA key of 2,048 to 8,192 bits in PEM"
                case .EdDSA: "an Ed25519 key in PEM"
                }
            throw NodeError(.configuration, "the publicKey of token key \(kid) is not \(what)")
        }
    }
}

extension [TokenKey] {
    /// The same at two nodes whose keys take the same tokens. It goes to nodes of the cluster only, and tells nothing of a
    /// secret: half of a SHA-256 over secrets of at least 32 bytes.
    var digest: String {
        let lines = map { key in
            let words = [
                key.kid, key.algorithm.rawValue, key.use.rawValue, key.secret ?? key.publicKey ?? "", key.iss ?? "",
                key.aud ?? "", key.role ?? "", key.roomPrefix ?? "",
            ]
            return words.map { "\($0.utf8.count):\($0)" }.joined()
        }
        let digest = SHA256.digest(of: [UInt8](lines.sorted().joined(separator: "\n").utf8))
        return digest.prefix(16).map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
    }
}

/// Keys that stand elsewhere: a JWKS document (RFC 7517) that the issuer publishes. The record, and not the document,
/// says what the keys may be and what they are for.
struct KeySetRecord: Sendable, Hashable, Decodable {
    /// Records of one keys file. A `kid` that nobody knows is looked for in all of them.
    static let countMax = 16
    static let urlBytesMax = 1_024

    /// HTTPS.
    var jwksUrl: String
    var algorithms: Set<JWSAlgorithm>
    var use: TokenTerms.Use
    var iss: String
    var aud: String?
    /// It and `roomPrefix` are for admin keys only.
    var role: String?
    var roomPrefix: String?

    var terms: TokenTerms {
        TokenTerms(use: use, iss: iss, aud: aud, rights: AdminClaims(role: role, roomPrefix: roomPrefix))
    }

    private enum CodingKeys: CodingKey, CaseIterable {
        case jwksUrl, algorithms, use, iss, aud, role, roomPrefix
        case kid, algorithm, secret, publicKey
    }

    init(from decoder: any Decoder) throws {
        let members = try decoder.container(keyedBy: CodingKeys.self)
        if let key = [CodingKeys.kid, .algorithm, .secret, .publicKey].first(where: members.contains) {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: members, debugDescription: "a record with jwksUrl holds no key itself")
        }
        jwksUrl = try members.decode(String.self, forKey: .jwksUrl)
        algorithms = try members.decode(Set<JWSAlgorithm>.self, forKey: .algorithms)
        use = try members.decode(TokenTerms.Use.self, forKey: .use)
        // Without an issuer, whoever publishes one set could speak for the users of another.
        iss = try members.decode(String.self, forKey: .iss)
        aud = try members.decodeIfPresent(String.self, forKey: .aud)
        role = try members.decodeIfPresent(String.self, forKey: .role)
        roomPrefix = try members.decodeIfPresent(String.self, forKey: .roomPrefix)
    }

    func check() throws(NodeError) {
        guard jwksUrl.utf8.count <= Self.urlBytesMax, jwksUrl.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: jwksUrl), parts.scheme?.lowercased() == "https",
            parts.host?.isEmpty == false, parts.user == nil, parts.password == nil, parts.fragment == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true
        else { throw NodeError(.configuration, "a jwksUrl must be an https URL without a user") }
        guard !algorithms.isEmpty, !algorithms.contains(where: \.isSymmetric) else {
            throw NodeError(.configuration, "the algorithms of a jwksUrl must be some of ES256, RS256 and EdDSA")
        }
        guard !iss.isEmpty else { throw NodeError(.configuration, "a jwksUrl needs an iss") }
    }
}
