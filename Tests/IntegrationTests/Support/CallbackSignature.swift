import Cryptography

/// The signature of a callback, made again as a receiver would: the words of CALLBACKS.md, not the server's code.
func signature(_ secret: String, _ time: String, _ body: [UInt8]) -> String {
    "sha256=" + Hexadecimal.encode(HMACKey(secret.utf8).code(of: Array((time + ".").utf8) + body))
}
