internal import Cryptography

extension KeyRing {
    /// Secrets for the IDs of sessions, one of each key, derived from it (HKDF), so that nothing sealed for gossip or
    /// links can be taken for an ID. The first one makes IDs.
    public var sessionSecrets: [[UInt8]] {
        keys.map { HKDF.key(from: $0.secret, info: Array("chatroom session ID".utf8), bytes: 32) }
    }
}
