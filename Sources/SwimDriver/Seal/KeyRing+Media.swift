internal import Cryptography

extension KeyRing {
    /// Secrets for tokens of content, one of each key, derived from it (HKDF). The first one makes tokens.
    public var mediaSecrets: [[UInt8]] {
        keys.map { HKDF.key(from: $0.secret, info: Array("chatroom media token".utf8), bytes: 32) }
    }
}
