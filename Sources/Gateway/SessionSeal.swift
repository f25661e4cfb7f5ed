import ChatModel
import Cryptography

/// Makes the IDs of sessions, and tells those that a node of this cluster has made: a session whose holder has died is
/// known by nothing else (PROTOCOL.md, "Resume").
///
/// An ID is the time when the session began (6 bytes), 8 random bytes, a code over both, the birthplace and the user
/// (HMAC-SHA-256, cut to 13 bytes), all in base64url, and the birthplace. The user of an anonymous session follows from
/// its ID, but not the other way: others see the user.
public struct SessionSeal: Sendable {
    /// A session, as its ID tells it.
    struct Opened: Equatable {
        var user: UserID
        /// By the clock of the node where it began.
        var startedAt: Timestamp
    }

    private static let timeBytes = 6
    private static let nonceBytes = 14
    private static let codeBytes = 13

    /// The first one makes IDs, all are accepted.
    private let keys: [HMACKey]

    /// - Parameter secrets: derived from the cluster's keys, at least one; the first one makes IDs.
    public init(secrets: [[UInt8]]) {
        precondition(!secrets.isEmpty, "a seal needs a secret")
        keys = secrets.map { HMACKey($0) }
    }

    /// For a node that speaks to no other: nobody else needs to know its IDs, nor itself after a restart.
    public static func ofThisRun() -> SessionSeal {
        SessionSeal(secrets: [SecureRandom.bytes(32)])
    }

    /// The ID and the user of a session that begins.
    /// - Parameters:
    ///   - user: nil for an anonymous one.
    ///   - random: 64 bits that nobody can guess.
    func make(for user: UserID?, at node: NodeID, startedAt: Timestamp, random: UInt64) -> (SessionID, UserID) {
        let time = UInt64(clamping: startedAt.milliseconds)
        let nonce = Self.bytes(of: time).suffix(Self.timeBytes) + Self.bytes(of: random)
        let code = Self.code(
            keys[0], Array(nonce), birthplace: Array(SessionID.birthplaceText(of: node).utf8), user: user)
        let id = SessionID(secret: Base64URL.encode(nonce + code), at: node)
        return (id, user ?? Self.anonymousUser(keys[0], Array(nonce)))
    }

    /// The session that an ID names; nil for an ID that no node of this cluster has made for that user.
    /// - Parameter user: nil for an anonymous session.
    func open(_ id: SessionID, of user: UserID?) -> Opened? {
        guard let birthplace = id.birthplace, let bytes = Base64URL.decode(id.secret),
            bytes.count == Self.nonceBytes + Self.codeBytes
        else { return nil }
        let (nonce, code) = (Array(bytes.prefix(Self.nonceBytes)), bytes.suffix(Self.codeBytes))
        for key in keys
        where ConstantTime.areEqual(Self.code(key, nonce, birthplace: Array(birthplace), user: user), code) {
            let time = nonce.prefix(Self.timeBytes).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
            return Opened(user: user ?? Self.anonymousUser(key, nonce), startedAt: Timestamp(Int64(time)))
        }
        return nil
    }

    /// Each part has its length in front, or its length is fixed: no two statements are the same bytes.
    private static func code(
        _ key: HMACKey, _ nonce: [UInt8], birthplace: [UInt8], user: UserID?
    ) -> ArraySlice<UInt8> {
        key.code(
            of: Array("session".utf8), nonce, [UInt8(clamping: birthplace.count)], birthplace,
            user.map { [1] + Array($0.text.utf8) } ?? [0]
        ).prefix(codeBytes)
    }

    private static func anonymousUser(_ key: HMACKey, _ nonce: [UInt8]) -> UserID {
        let code = key.code(of: Array("anonymous".utf8), nonce).prefix(8)
        let digits = String(code.reduce(UInt64(0)) { $0 << 8 | UInt64($1) }, radix: 16)
        guard let user = UserID("anon-" + String(repeating: "0", count: 16 - digits.count) + digits) else {
            preconditionFailure("anon- and hex are a user ID")
        }
        return user
    }

    private static func bytes(of number: UInt64) -> [UInt8] {
        (0..<8).map { UInt8(truncatingIfNeeded: number >> UInt64(56 - $0 * 8)) }
    }
}
