import ChatModel
import Crypto
import Foundation

/// Makes the tokens of the bots (contract, section 3): JWT with HS256.
package struct TokenSigner: Sendable {
    private let header: String
    private let key: SymmetricKey

    package init(_ key: TokenKey) {
        header = Self.encode(Self.json(["alg": "HS256", "kid": key.kid, "typ": "JWT"]))
        self.key = SymmetricKey(data: Data(key.secret.utf8))
    }

    /// - Parameter expiresAt: seconds since 1970.
    package func token(for user: UserID, issuedAt: Int64, expiresAt: Int64) -> String {
        // A user ID has no character that JSON escapes.
        let claims = "{\"exp\":\(expiresAt),\"iat\":\(issuedAt),\"sub\":\"\(user.text)\"}"
        let signed = header + "." + Self.encode(Data(claims.utf8))
        let signature = HMAC<SHA256>.authenticationCode(for: Data(signed.utf8), using: key)
        return signed + "." + Self.encode(Data(signature))
    }

    private static func json(_ fields: [String: String]) -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        // Strings always encode.
        return (try? encoder.encode(fields)) ?? Data()
    }

    /// Base64url without padding (RFC 7515, section 2).
    private static func encode(_ data: Data) -> String {
        data.base64EncodedString().replacing("+", with: "-").replacing("/", with: "_").replacing("=", with: "")
    }
}
