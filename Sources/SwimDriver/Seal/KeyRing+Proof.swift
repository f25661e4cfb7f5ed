internal import Cryptography

/// Proofs of holding a cluster key, for connections: HMAC-SHA-256 with a key that is derived from the cluster's (HKDF),
/// so that nothing sealed for gossip can be taken for a proof.
extension KeyRing {
    /// A proof with the key that seals.
    public func proof(of statement: [UInt8]) -> [UInt8] {
        guard let first = keys.first else { return [] }
        return Self.proofKey(first).code(of: statement)
    }

    /// Whether it is a proof with any of the keys.
    public func isProof(_ proof: [UInt8], of statement: [UInt8]) -> Bool {
        keys.contains { Self.proofKey($0).isCode(proof, of: statement) }
    }

    private static func proofKey(_ key: Key) -> HMACKey {
        HMACKey(HKDF.key(from: key.secret, info: Array("chatroom link proof".utf8), bytes: 32))
    }
}
