import Cryptography

/// The code that is made with a secret that this tool shares with a node or an app server.
enum AuthenticationCode {
    static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] { HMACKey(key).code(of: bytes) }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] { SHA256.digest(of: bytes) }

    static func hex(_ bytes: [UInt8]) -> String { Hexadecimal.encode(bytes) }
}
