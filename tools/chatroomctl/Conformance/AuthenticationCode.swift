import Crypto
import FoundationEssentials

/// The only place where this tool computes what is signed with a shared secret, so that another library can be put in
/// its place here.
enum AuthenticationCode {
    static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        Array(HMAC<SHA256>.authenticationCode(for: Data(bytes), using: SymmetricKey(data: Data(key))))
    }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: Data(bytes))) }

    static func hex(_ bytes: [UInt8]) -> String {
        var text = ""
        for byte in bytes {
            let digits = String(byte, radix: 16)
            text += digits.utf8.count == 1 ? "0" + digits : digits
        }
        return text
    }
}
