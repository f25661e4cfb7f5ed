import Cryptography
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
        let input = Base64URL.encode(header) + "." + Base64URL.encode(payload)
        if algorithm == "none" { return input + "." }
        return input + "." + Base64URL.encode(HMACKey(secret.utf8).code(of: Array(input.utf8)))
    }
}
