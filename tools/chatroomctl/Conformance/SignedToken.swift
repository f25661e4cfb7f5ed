import ControlClient
import FoundationEssentials

/// A JWT that an app server signs by itself (PROTOCOL.md, "Tokens"), right or wrong as a check needs it.
struct SignedToken: Sendable {
    var header: JSONTree
    var claims: JSONTree
    private let secret: String

    /// An HS256 token of a key.
    init(_ key: ClusterFile.TokenKey, claims: JSONTree) {
        header = ["alg": "HS256", "typ": "JWT", "kid": .text(key.kid)]
        self.claims = claims
        secret = key.secret
    }

    var text: String { Self.text(header: header.line, claims: claims.line, secret: secret) }

    /// A token of exactly that many bytes.
    func text(bytes: Int) -> String? {
        // Base64 without padding has no text of 4n + 1 characters, so the header has to help.
        for spaces in 0..<4 {
            let header = header.line + String(repeating: " ", count: spaces)
            for fill in stride(from: bytes * 3 / 4, to: 0, by: -1) {
                let claims = claims.adding(["x": .text(String(repeating: "x", count: fill))]).line
                let count = Self.encodedCount(header) + 1 + Self.encodedCount(claims) + 1 + Self.codeCount
                if count == bytes { return Self.text(header: header, claims: claims, secret: secret) }
                if count < bytes { break }
            }
        }
        return nil
    }

    /// Characters of an encoded HMAC-SHA256.
    private static let codeCount = 43

    private static func encodedCount(_ text: String) -> Int { (text.utf8.count * 4 + 2) / 3 }

    private static func text(header: String, claims: String, secret: String) -> String {
        let signed = base64URL(Array(header.utf8)) + "." + base64URL(Array(claims.utf8))
        let code = AuthenticationCode.hmacSHA256(key: Array(secret.utf8), Array(signed.utf8))
        return signed + "." + base64URL(code)
    }

    /// Without padding (RFC 7515, section 2).
    static func base64URL(_ bytes: [UInt8]) -> String {
        var text = ""
        for character in Data(bytes).base64EncodedString().unicodeScalars where character != "=" {
            switch character {
            case "+": text.unicodeScalars.append("-")
            case "/": text.unicodeScalars.append("_")
            default: text.unicodeScalars.append(character)
            }
        }
        return text
    }
}
