import Crypto

/// Proofs of holding a cluster key, for connections: HMAC-SHA-256 with a key that is derived from the cluster's (HKDF),
/// so that nothing sealed for gossip can be taken for a proof.
extension KeyRing {
    /// A proof with the key that seals.
    public func proof(of statement: [UInt8]) -> [UInt8] {
        guard let first = keys.first else { return [] }
        return Array(HMAC<SHA256>.authenticationCode(for: statement, using: Self.proofKey(first)))
    }

    /// Whether it is a proof with any of the keys.
    public func isProof(_ proof: [UInt8], of statement: [UInt8]) -> Bool {
        keys.contains {
            HMAC<SHA256>.isValidAuthenticationCode(proof, authenticating: statement, using: Self.proofKey($0))
        }
    }

    private static func proofKey(_ key: Key) -> SymmetricKey {
        HKDF<SHA256>.deriveKey(
            inputKeyMaterial: key.secret, info: Array("chatroom link proof".utf8), outputByteCount: 32)
    }
}
