import ChatModel
import Cryptography

/// Makes and reads the tokens for content (PROTOCOL.md, "Media"), alike on all nodes of a cluster. They are sealed, so that
/// nobody reads the session in one, and say what they are for: one for reading writes nothing.
public struct MediaSeal: Sendable {
    /// The right that a token gives.
    public enum Right: Sendable, Hashable {
        /// The bearer reads the content of a room, as long as the session is in it.
        case read(RoomID, MediaReader)
        /// The bearer reads one piece of content before others may, for a review.
        case review(RoomID, String)
        /// The bearer sends the bytes of one piece of content.
        case write(RoomID, String)
    }

    /// The first one makes tokens, all are accepted.
    private let keys: [AESGCMKey]

    /// - Parameter secrets: of 32 bytes, derived from the cluster's keys, at least one.
    public init(secrets: [[UInt8]]) {
        precondition(!secrets.isEmpty, "a seal needs a secret")
        keys = secrets.map { AESGCMKey($0) }
    }

    /// For a node that speaks to no other.
    public static func ofThisRun() -> MediaSeal { MediaSeal(secrets: [SecureRandom.bytes(32)]) }

    private static let purpose = Array("chatroom media 1".utf8)

    public func token(_ right: Right, until end: Timestamp) -> String {
        var parts: [String]
        switch right {
        case .read(let room, let reader): parts = ["r", room.text, reader.user.text, reader.session.text]
        case .review(let room, let id): parts = ["v", room.text, id]
        case .write(let room, let id): parts = ["w", room.text, id]
        }
        // None of the names has a space.
        parts.append(String(end.milliseconds))
        let nonce = SecureRandom.bytes(AESGCMKey.nonceBytes)
        let sealed = keys[0].seal(Array(parts.joined(separator: " ").utf8), nonce: nonce, authenticating: Self.purpose)
        return Base64URL.encode(nonce + sealed)
    }

    /// The right that a token gives now; nil for one that is over, or that no node of this cluster has made.
    public func open(_ token: String, at now: Timestamp) -> Right? {
        guard token.utf8.count <= Self.tokenBytesMax, let bytes = Base64URL.decode(token.utf8),
            bytes.count > AESGCMKey.nonceBytes + AESGCMKey.tagBytes
        else { return nil }
        let nonce = Array(bytes.prefix(AESGCMKey.nonceBytes))
        for key in keys {
            guard
                let opened = try? key.open(
                    bytes.dropFirst(AESGCMKey.nonceBytes), nonce: nonce, authenticating: Self.purpose)
            else { continue }
            return Self.right(String(decoding: opened, as: UTF8.self), at: now)
        }
        return nil
    }

    private static let tokenBytesMax = 1024

    private static func right(_ text: String, at now: Timestamp) -> Right? {
        let parts = text.split(separator: " ", omittingEmptySubsequences: false).map(String.init)
        guard let last = parts.last, let end = Int64(last), now.milliseconds < end, parts.count >= 4,
            let room = RoomID(parts[1])
        else { return nil }
        switch (parts[0], parts.count) {
        case ("r", 5):
            guard let user = UserID(parts[2]), let session = SessionID(parts[3]) else { return nil }
            return .read(room, MediaReader(user: user, session: session))
        case ("v", 4): return .review(room, parts[2])
        case ("w", 4): return .write(room, parts[2])
        default: return nil
        }
    }
}
