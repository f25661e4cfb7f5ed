import Crypto
import Foundation

/// How a receiver knows that a call comes from its cluster (contract, section 4, "Webhooks"):
/// `X-Chatroom-Signature: sha256=hex(HMAC(secret, time + "." + body))`, where `time` is the text of `X-Chatroom-Time`,
/// so that old calls can't be played again later.
public enum CallbackSignature {
    public static let timeHeader = "X-Chatroom-Time"
    public static let signatureHeader = "X-Chatroom-Signature"

    /// - Parameter time: Unix milliseconds as text.
    public static func value(secret: String, time: String, body: [UInt8]) -> String {
        var mac = HMAC<SHA256>(key: SymmetricKey(data: Data(secret.utf8)))
        mac.update(data: Data(time.utf8))
        mac.update(data: Data(".".utf8))
        mac.update(data: Data(body))
        return "sha256="
            + mac.finalize().map { byte in
                let digits = String(byte, radix: 16)
                return digits.count == 1 ? "0" + digits : digits
            }.joined()
    }
}
