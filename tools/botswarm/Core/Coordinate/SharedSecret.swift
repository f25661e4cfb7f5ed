import Cryptography

/// The secret that a coordinator and its workers share. Neither side says it: each proves that it has it.
package struct SharedSecret: Sendable {
    private let key: HMACKey

    package static let variable = "CHATROOM_SWARM_SECRET"
    package static let bytesMin = 16

    package init(_ text: String) throws(SwarmFailure) {
        guard text.utf8.count >= Self.bytesMin else {
            throw SwarmFailure(.usage, "the secret of coordinator and workers needs at least \(Self.bytesMin) bytes")
        }
        key = HMACKey(text.utf8)
    }

    /// The proof to the other side, which has given `nonce`, that this side has the secret.
    ///
    /// - Parameter role: keeps the proofs of the two sides apart.
    package func proof(role: String, nonce: String, own: String) -> String {
        let text = "botswarm \(SwarmMessage.version) \(role) \(nonce) \(own)"
        return Hexadecimal.encode(key.code(of: Array(text.utf8)))
    }

    /// Takes the same time whatever is wrong.
    package func isProof(_ proof: String, role: String, nonce: String, own: String) -> Bool {
        ConstantTime.areEqual(proof.utf8, self.proof(role: role, nonce: nonce, own: own).utf8)
    }

    package static func random() -> String {
        (0..<4).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }
}
