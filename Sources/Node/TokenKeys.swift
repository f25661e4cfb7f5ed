import ChatModel
import Crypto
import Foundation
import Gateway
import JWTKit
import ServerAPI
import Synchronization

/// Checks and issues tokens with the keys of the keys file; the keys can be replaced while it runs (SIGHUP).
///
/// The algorithm is the key record's and never the header's; a token without a known `kid` is refused, because
/// JWTKit alone would fall back to a default key and would not compare `alg` (contract, section 3).
final class TokenKeys: Sendable {
    private struct Key: Sendable {
        var record: KeysFile.TokenKey
        /// Holds this key alone, so that no other can be picked.
        var collection: JWTKeyCollection
    }

    private struct State: Sendable {
        var keys: [String: Key]
        var issuing: Key?
        /// SHA-256 of the admin keys, so that comparing takes the same time for all.
        var adminDigests: [(id: String, digest: SHA256Digest)]
        /// The admin keys by their IDs, for signed requests.
        var adminKeys: [String: SymmetricKey]
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Timestamp

    init(_ file: KeysFile, now: @escaping @Sendable () -> Timestamp) async throws(NodeError) {
        state = Mutex(try await Self.load(file))
        self.now = now
    }

    /// Puts other keys in force; on an error the old ones stay.
    func replace(with file: KeysFile) async throws(NodeError) {
        let new = try await Self.load(file)
        state.withLock { $0 = new }
    }

    private static func load(_ file: KeysFile) async throws(NodeError) -> State {
        var keys: [String: Key] = [:]
        var issuing: Key?
        for record in file.token {
            let collection = JWTKeyCollection()
            let kid = JWKIdentifier(string: record.kid)
            switch record.algorithm {
            case .HS256:
                await collection.add(
                    hmac: HMACKey(from: Array((record.secret ?? "").utf8)), digestAlgorithm: .sha256, kid: kid)
            case .ES256:
                do {
                    await collection.add(ecdsa: try ES256PublicKey(pem: record.publicKey ?? ""), kid: kid)
                } catch {
                    throw NodeError(
                        .configuration, "the publicKey of token key \(record.kid) is not a P-256 key in PEM")
                }
            }
            let key = Key(record: record, collection: collection)
            guard keys.updateValue(key, forKey: record.kid) == nil else {
                throw NodeError(.configuration, "two token keys have the kid \(record.kid)")
            }
            if issuing == nil, record.algorithm == .HS256, record.use == .client { issuing = key }
        }
        return State(
            keys: keys, issuing: issuing,
            adminDigests: file.admin.map { ($0.id, SHA256.hash(data: Data($0.secret.utf8))) },
            adminKeys: Dictionary(
                file.admin.map { ($0.id, SymmetricKey(data: Data($0.secret.utf8))) }, uniquingKeysWith: { $1 }))
    }

    /// - Parameter skewSeconds: how far the issuer's clock may be off.
    func verify(_ token: String, skewSeconds: Int64) async throws(ChatError) -> TokenClaims {
        let payload = try await verified(token, use: .client, skewSeconds: skewSeconds)
        guard let user = UserID(payload.sub) else { throw Self.refusal("its sub is not a user ID") }
        var rooms: [RoomID]?
        if let names = payload.rooms {
            rooms = names.compactMap(RoomID.init)
            guard rooms?.count == names.count else { throw Self.refusal("its rooms are not room IDs") }
        }
        let nick = payload.nick ?? ""
        let avatar = payload.avatar ?? ""
        guard nick.utf8.count <= Limits.nickBytes, avatar.utf8.count <= Limits.urlBytes else {
            throw Self.refusal("its nick or avatar is too long")
        }
        return TokenClaims(
            user: user, expiresAt: ClientPayload.time(payload.exp), issuedAt: payload.iat.map(ClientPayload.time),
            rooms: rooms, nick: nick, avatar: avatar)
    }

    /// The name of the administrator whose key or token this is; nil for anything else.
    func administrator(bearer: String) async -> String? {
        let digest = SHA256.hash(data: Data(bearer.utf8))
        let digests = state.withLock { $0.adminDigests }
        var found: String?
        // Digests compare in constant time, and all of them are compared.
        for one in digests where one.digest == digest { found = one.id }
        if found != nil { return found }
        return try? await verified(bearer, use: .admin, skewSeconds: Self.adminSkewSeconds).sub
    }

    /// The admin key with that ID, for signed requests.
    func adminKey(_ id: String) -> SymmetricKey? { state.withLock { $0.adminKeys[id] } }

    /// - Parameter issuedAt: its `iat`, to the millisecond, so that a revocation tells exactly which tokens are older.
    func issue(_ request: TokenRequest, issuedAt: Timestamp) async throws(ChatError) -> IssuedToken {
        guard let key = state.withLock({ $0.issuing }) else {
            throw ChatError(.unavailable, "no HS256 client key is configured, so this node can't issue tokens")
        }
        let seconds = request.ttlSeconds ?? 3600
        guard (1...Self.lifeSecondsMax).contains(seconds) else {
            throw ChatError(.badParameter, "ttlSeconds must be 1 to \(Self.lifeSecondsMax)", field: "ttlSeconds")
        }
        // Whole seconds, which every JWT library reads; never longer after `iat` than a token may live.
        let expiresAt = min(now(), issuedAt).milliseconds / 1000 + seconds
        let payload = ClientPayload(
            sub: request.user.text, exp: Double(expiresAt), iat: Double(issuedAt.milliseconds) / 1000, nbf: nil,
            rooms: request.rooms?.map(\.text), nick: request.nick, avatar: request.avatar, iss: key.record.iss,
            aud: key.record.aud.map { AudienceClaim(value: $0) })
        do {
            let token = try await key.collection.sign(payload, kid: JWKIdentifier(string: key.record.kid))
            return IssuedToken(token: token, expiresAt: Timestamp(expiresAt * 1000))
        } catch {
            throw ChatError(.internal, "the token could not be signed")
        }
    }

    private func verified(_ token: String, use: KeysFile.TokenKey.Use, skewSeconds: Int64) async throws(ChatError)
        -> ClientPayload
    {
        guard token.utf8.count <= Limits.tokenBytes else { throw Self.refusal("it is too long") }
        guard let header = TokenHeader(token: token) else { throw Self.refusal("it is not a JWT") }
        guard let key = state.withLock({ $0.keys[header.kid] }) else { throw Self.refusal("its kid is unknown") }
        guard header.alg == key.record.algorithm.rawValue, header.crit == nil, header.zip == nil else {
            throw Self.refusal("its algorithm is not that of its key")
        }
        guard key.record.use == use else { throw Self.refusal("its key is for another use") }
        let payload: ClientPayload
        do {
            payload = try await key.collection.verify(token, as: ClientPayload.self)
        } catch {
            throw Self.refusal("its signature or its claims are wrong")
        }
        if let issuer = key.record.iss, payload.iss != issuer { throw Self.refusal("its iss is not that of its key") }
        if let audience = key.record.aud, payload.aud?.value.contains(audience) != true {
            throw Self.refusal("its aud is not that of its key")
        }
        let nowSeconds = Double(now().milliseconds) / 1000
        guard payload.exp + Double(skewSeconds) > nowSeconds else { throw Self.refusal("it has expired") }
        if let notBefore = payload.nbf, notBefore - Double(skewSeconds) > nowSeconds {
            throw Self.refusal("it is not valid yet")
        }
        // From its issue where that is told: one that is renewed in time never gets older than this, whenever it is shown.
        guard payload.exp - (payload.iat ?? nowSeconds) <= Double(Self.lifeSecondsMax) else {
            throw Self.refusal("it lives for more than \(Self.lifeSecondsMax / 86_400) days")
        }
        // It would outlive revocations; clocks of issuers are this exact also where a token gets no skew.
        if let issuedAt = payload.iat, issuedAt - Self.issuerSkewSeconds > nowSeconds {
            throw Self.refusal("its iat is in the future")
        }
        return payload
    }

    private static let adminSkewSeconds: Int64 = 30
    private static let issuerSkewSeconds = 30.0
    /// How long a token may live (contract, section 3): 366 days.
    private static let lifeSecondsMax: Int64 = 366 * 86_400

    private static func refusal(_ why: String) -> ChatError {
        ChatError(.unauthorized, "the token is refused: \(why)")
    }
}

/// The claims of contract section 3.
private struct ClientPayload: JWTPayload {
    var sub: String
    var exp: Double
    var iat: Double?
    var nbf: Double?
    var rooms: [String]?
    var nick: String?
    var avatar: String?
    var iss: String?
    var aud: AudienceClaim?

    /// A date in milliseconds; one out of range is the end of time.
    static func time(_ seconds: Double) -> Timestamp {
        Timestamp(Int64(exactly: (seconds * 1000).rounded()) ?? (seconds > 0 ? .max : 0))
    }

    /// Times are compared by `TokenKeys`, which knows the clock and the skew.
    func verify(using algorithm: some JWTAlgorithm) {}
}

/// The header of a token, before anything is trusted.
private struct TokenHeader: Decodable {
    var alg: String
    var kid: String
    var crit: [String]?
    var zip: String?

    init?(token: String) {
        guard let part = token.split(separator: ".", omittingEmptySubsequences: false).first, part.utf8.count <= 1024
        else { return nil }
        var text = part.replacingOccurrences(of: "-", with: "+").replacingOccurrences(of: "_", with: "/")
        text += String(repeating: "=", count: (4 - text.utf8.count % 4) % 4)
        guard let data = Data(base64Encoded: text),
            let header = try? JSONDecoder().decode(TokenHeader.self, from: data)
        else { return nil }
        self = header
    }
}
