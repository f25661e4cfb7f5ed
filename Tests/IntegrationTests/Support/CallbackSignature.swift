import Crypto
import Foundation

/// The signature of a callback, made again as a receiver would: the contract's words, not the server's code.
func signature(_ secret: String, _ time: String, _ body: [UInt8]) -> String {
    let mac = HMAC<SHA256>.authenticationCode(
        for: Data(time.utf8) + Data(".".utf8) + Data(body), using: SymmetricKey(data: Data(secret.utf8)))
    return "sha256=" + mac.map { String(format: "%02x", $0) }.joined()
}
