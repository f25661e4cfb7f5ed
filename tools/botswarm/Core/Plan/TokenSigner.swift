import ChatModel
import Cryptography
import FoundationEssentials

/// Makes the tokens of the bots (PROTOCOL.md, "Tokens"): JWT with HS256.
package struct TokenSigner: Sendable {
    private let header: String
    private let key: HMACKey

    package init(_ key: TokenKey) {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Strings always encode.
        let fields = (try? encoder.encode(["alg": "HS256", "kid": key.kid, "typ": "JWT"])) ?? Data()
        header = Base64URL.encode(Array(fields))
        self.key = HMACKey(key.secret.utf8)
    }

    /// - Parameter expiresAt: seconds since 1970.
    package func token(for user: UserID, issuedAt: Int64, expiresAt: Int64) -> String {
        // A user ID has no character that JSON escapes.
        let claims = "{\"exp\":\(expiresAt),\"iat\":\(issuedAt),\"sub\":\"\(user.text)\"}"
        let signed = header + "." + Base64URL.encode(claims.utf8)
        return signed + "." + Base64URL.encode(key.code(of: Array(signed.utf8)))
    }
}
