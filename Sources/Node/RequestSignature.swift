import ChatModel
import Cryptography
import ServerAPI

/// The text that a signed request signs (PROTOCOL.md, "Signed requests").
enum RequestSignature {
    /// How far a request's time may be off.
    static let windowMilliseconds: Int64 = 5 * 60 * 1000

    /// Method, path, query, time, nonce and the hex SHA-256 of the body, separated by newlines.
    static func text(of request: SignedRequest) -> String {
        let body = Hexadecimal.encode(SHA256.digest(of: request.body))
        return [request.method, request.path, request.query, request.time, request.nonce, body].joined(separator: "\n")
    }

    /// Whether the signature is that of the request with this key; takes the same time for all wrong ones.
    static func isValid(_ request: SignedRequest, key: HMACKey) -> Bool {
        guard let code = bytes(hex: request.signature) else { return false }
        return key.isCode(code, of: Array(text(of: request).utf8))
    }

    /// - Throws: 401 when the request's time is not within five minutes, or its nonce or signature is none.
    static func check(_ request: SignedRequest, at now: Timestamp) throws(ChatError) {
        guard let time = Int64(request.time), time > 0 else {
            throw ChatError(.unauthorized, "X-Chatroom-Time must be Unix milliseconds")
        }
        let (off, overflow) = now.milliseconds.subtractingReportingOverflow(time)
        guard !overflow, abs(off) <= windowMilliseconds else {
            throw ChatError(.unauthorized, "X-Chatroom-Time is more than 5 minutes off")
        }
        let nonce = request.nonce.utf8
        guard (1...64).contains(nonce.count), nonce.allSatisfy({ (0x21...0x7E).contains($0) }) else {
            throw ChatError(.unauthorized, "X-Chatroom-Nonce must be 1-64 visible ASCII characters")
        }
        guard bytes(hex: request.signature) != nil else {
            throw ChatError(.unauthorized, "X-Chatroom-Signature must be 64 hexadecimal digits")
        }
    }

    /// nil for anything but 64 hexadecimal digits.
    private static func bytes(hex: String) -> [UInt8]? {
        let digits = hex.utf8.compactMap { Character(UnicodeScalar($0)).hexDigitValue.flatMap(UInt8.init(exactly:)) }
        guard hex.utf8.count == 64, digits.count == 64 else { return nil }
        return stride(from: 0, to: 64, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }
}
