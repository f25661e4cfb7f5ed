import Crypto
import Foundation

/// Tokens that tests sign themselves, right or wrong.
struct TestToken {
    var algorithm = "HS256"
    var kid = "default"
    var secret = TestNode.tokenSecret
    /// Claims; those of a valid token of `ann` unless a test says otherwise.
    var claims: [String: Any] = ["sub": "ann", "exp": Int(Date().timeIntervalSince1970) + 600]

    /// The token in its compact form (RFC 7515 §3.1). `none` is without a signature.
    func signed() throws -> String {
        let header = try JSONSerialization.data(withJSONObject: ["alg": algorithm, "kid": kid, "typ": "JWT"])
        let payload = try JSONSerialization.data(withJSONObject: claims)
        let input = Self.base64URL(header) + "." + Self.base64URL(payload)
        if algorithm == "none" { return input + "." }
        let key = SymmetricKey(data: Data(secret.utf8))
        return input + "." + Self.base64URL(Data(HMAC<SHA256>.authenticationCode(for: Data(input.utf8), using: key)))
    }

    private static func base64URL(_ data: Data) -> String {
        data.base64EncodedString().replacingOccurrences(of: "+", with: "-").replacingOccurrences(of: "/", with: "_")
            .replacingOccurrences(of: "=", with: "")
    }
}
