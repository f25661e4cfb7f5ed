import ChatModel
import Cryptography
import FoundationEssentials
import Gateway
import ServerAPI
import SessionCore
import Synchronization
import Wire

/// Checks and issues tokens with the keys of the keys file, and with those that its key sets publish; the keys can be
/// replaced while it runs (SIGHUP).
///
/// The algorithm is the key record's and never the header's, and a token without a known `kid` is refused
/// (PROTOCOL.md, "Tokens"). Checking takes up to some tenths of a millisecond and may wait for a key set, so it never runs on a loop.
final class TokenKeys: Sendable {
    /// A key, and what its tokens must say.
    struct Key: Sendable {
        var kid: String
        var key: JWSKey
        var terms: TokenTerms
    }

    /// An admin key that signs requests.
    struct AdminKey: Sendable {
        var administrator: Administrator
        var key: HMACKey
    }

    private struct State: Sendable {
        var keys: [String: Key]
        var issuing: Key?
        /// SHA-256 of the admin keys, so that comparing takes the same time for all.
        var adminDigests: [(administrator: Administrator, digest: [UInt8])]
        /// The admin keys by their IDs, for signed requests.
        var adminKeys: [String: AdminKey]
        /// Tells whether another node has the same token keys.
        var digest: String
    }

    private let state: Mutex<State>
    private let now: @Sendable () -> Timestamp
    /// Reads nothing before it is started.
    let keySets: KeySetReader

    init(_ file: KeysFile, keySets: KeySetReader, now: @escaping @Sendable () -> Timestamp) async throws(NodeError) {
        state = Mutex(try Self.load(file))
        self.keySets = keySets
        self.now = now
        await keySets.use(file.keySets)
    }

    /// Puts other keys in force; on an error the old ones stay.
    func replace(with file: KeysFile) async throws(NodeError) {
        let new = try Self.load(file)
        state.withLock { $0 = new }
        await keySets.use(file.keySets)
    }

    /// Tells whether another node has the same token keys.
    var digest: String { state.withLock { $0.digest } }

    private static func load(_ file: KeysFile) throws(NodeError) -> State {
        var keys: [String: Key] = [:]
        var issuing: Key?
        for record in file.token {
            let key = Key(kid: record.kid, key: try record.key(), terms: record.terms)
            guard keys.updateValue(key, forKey: record.kid) == nil else {
                throw NodeError(.configuration, "two token keys have the kid \(record.kid)")
            }
            if issuing == nil, record.algorithm == .HS256, record.use == .client { issuing = key }
        }
        var state = State(keys: keys, issuing: issuing, adminDigests: [], adminKeys: [:], digest: file.token.digest)
        for record in file.admin {
            guard let administrator = record.administrator else { continue }
            state.adminDigests.append((administrator, SHA256.digest(of: Array(record.secret.utf8))))
            state.adminKeys[record.id] = AdminKey(administrator: administrator, key: HMACKey(record.secret.utf8))
        }
        return state
    }

    /// - Parameter skewSeconds: how far the issuer's clock may be off.
    /// - Throws: 401, or 503 while the set that may have its key has never been read.
    @concurrent func verify(_ token: String, skewSeconds: Int64) async throws(ChatError) -> TokenClaims {
        let payload = try await verified(token, use: .client, skewSeconds: skewSeconds).payload
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
            user: user, expiresAt: TokenPayload.time(payload.exp), issuedAt: payload.iat.map(TokenPayload.time),
            rooms: rooms, nick: nick, avatar: avatar)
    }

    /// The administrator whose key or token this is; nil for anything else, and for a role that is unknown.
    /// - Throws: 503 while the set that may have the token's key has never been read.
    @concurrent func administrator(bearer: String) async throws(ChatError) -> Administrator? {
        let digest = SHA256.digest(of: Array(bearer.utf8))
        let digests = state.withLock { $0.adminDigests }
        var found: Administrator?
        // All of them are compared.
        for one in digests where ConstantTime.areEqual(one.digest, digest) { found = one.administrator }
        if found != nil { return found }
        do throws(ChatError) {
            let token = try await verified(bearer, use: .admin, skewSeconds: Self.adminSkewSeconds)
            return token.claims.administrator(token.payload.sub, within: token.rights)
        } catch {
            guard error.code == .unavailable else { return nil }
            throw error
        }
    }

    /// The admin key with that ID, for signed requests.
    func adminKey(_ id: String) -> AdminKey? { state.withLock { $0.adminKeys[id] } }

    /// - Parameter issuedAt: its `iat`, to the millisecond, so that a revocation tells exactly which tokens are older.
    func issue(_ request: TokenRequest, issuedAt: Timestamp) throws(ChatError) -> IssuedToken {
        guard let key = state.withLock({ $0.issuing }) else {
            throw ChatError(.unavailable, "no HS256 client key is configured, so this node can't issue tokens")
        }
        let seconds = request.ttlSeconds ?? 3600
        guard (1...Self.lifeSecondsMax).contains(seconds) else {
            throw ChatError(.badParameter, "ttlSeconds must be 1 to \(Self.lifeSecondsMax)", field: "ttlSeconds")
        }
        // Whole seconds, which every JWT library reads; never longer after `iat` than a token may live.
        let expiresAt = min(now(), issuedAt).milliseconds / 1000 + seconds
        let payload = TokenPayload(
            sub: request.user.text, exp: Double(expiresAt), iat: Double(issuedAt.milliseconds) / 1000, nbf: nil,
            rooms: request.rooms?.map(\.text), nick: request.nick, avatar: request.avatar, iss: key.terms.iss,
            aud: key.terms.aud.map(TokenPayload.Audience.init))
        do {
            let bytes = Array(try JSONEncoder().encode(payload))
            let token = try CompactJWS.token(bytes, kid: key.kid, signedBy: key.key)
            return IssuedToken(token: token, expiresAt: Timestamp(expiresAt * 1000))
        } catch {
            throw ChatError(.internal, "the token could not be signed")
        }
    }

    /// A token that is genuine.
    private struct VerifiedToken: Sendable {
        var payload: TokenPayload
        /// Nothing in client tokens.
        var claims = AdminClaims()
        /// Those of its key's record.
        var rights: AdminClaims
    }

    private func verified(_ token: String, use: TokenTerms.Use, skewSeconds: Int64) async throws(ChatError)
        -> VerifiedToken
    {
        guard token.utf8.count <= Limits.tokenBytes else { throw Self.refusal("it is too long") }
        let jws: CompactJWS
        do throws(CryptographyError) {
            jws = try CompactJWS(token)
        } catch {
            throw Self.refusal(error.code == .form ? "it is not a JWT" : error.description)
        }
        guard let kid = jws.kid else { throw Self.refusal("it is not a JWT") }
        // A key of this file can't be replaced by one that somebody publishes.
        if let key = state.withLock({ $0.keys[kid] }) {
            return try check(jws, key, use: use, skewSeconds: skewSeconds)
        }
        // Two issuers may have given the same name; who signed the token decides which of them it was.
        var refusal = Self.refusal("its kid is unknown")
        for key in try await keySets.keys(kid, algorithm: jws.claimedAlgorithm, use: use) {
            do throws(ChatError) {
                return try check(jws, key, use: use, skewSeconds: skewSeconds)
            } catch {
                refusal = error
            }
        }
        throw refusal
    }

    private func check(_ jws: CompactJWS, _ key: Key, use: TokenTerms.Use, skewSeconds: Int64) throws(ChatError)
        -> VerifiedToken
    {
        guard jws.claimedAlgorithm == key.key.algorithm.rawValue else {
            throw Self.refusal("its algorithm is not that of its key")
        }
        guard key.terms.use == use else { throw Self.refusal("its key is for another use") }
        let payload: TokenPayload
        var claims = AdminClaims()
        do {
            let bytes = try jws.payload(signedBy: key.key)
            // A claim that stands twice means one thing here and another elsewhere (RFC 7519 §4).
            if let fault = JSONText.fault(in: bytes) { throw Self.refusal("its payload is \(fault)") }
            let data = Data(bytes)
            payload = try JSONDecoder().decode(TokenPayload.self, from: data)
            if use == .admin { claims = try JSONDecoder().decode(AdminClaims.self, from: data) }
        } catch let error as ChatError {
            throw error
        } catch {
            throw Self.refusal("its signature or its claims are wrong")
        }
        if let issuer = key.terms.iss, payload.iss != issuer { throw Self.refusal("its iss is not that of its key") }
        if let audience = key.terms.aud, payload.aud?.names.contains(audience) != true {
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
        return VerifiedToken(payload: payload, claims: claims, rights: key.terms.rights)
    }

    private static let adminSkewSeconds: Int64 = 30
    private static let issuerSkewSeconds = 30.0
    /// How long a token may live (PROTOCOL.md, "Tokens"): 366 days.
    private static let lifeSecondsMax: Int64 = 366 * 86_400

    private static func refusal(_ why: String) -> ChatError {
        ChatError(.unauthorized, "the token is refused: \(why)")
    }
}
