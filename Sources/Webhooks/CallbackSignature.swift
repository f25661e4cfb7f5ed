internal import Cryptography

/// How a receiver knows that a call comes from its cluster (PROTOCOL.md, "Webhooks"):
/// `X-Chatroom-Signature: sha256=hex(HMAC(secret, time + "." + body))`, where `time` is the text of `X-Chatroom-Time`,
/// so that old calls can't be played again later.
public enum CallbackSignature {
    public static let timeHeader = "X-Chatroom-Time"
    public static let signatureHeader = "X-Chatroom-Signature"

    /// - Parameter time: Unix milliseconds as text.
    public static func value(secret: String, time: String, body: [UInt8]) -> String {
        let code = HMACKey(secret.utf8).code(of: Array(time.utf8), Array(".".utf8), body)
        return "sha256=" + Hexadecimal.encode(code)
    }
}
