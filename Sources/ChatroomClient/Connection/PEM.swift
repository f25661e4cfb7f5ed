import ClientCore
import Wire

/// Certificates as text (RFC 7468).
enum PEM {
    /// The certificates in the text, as DER. Text around them is skipped.
    /// - Throws: `connectionFailed`, if there is none or one cannot be read.
    static func certificates(_ bytes: [UInt8]) throws(ClientError) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        var base64: String?
        for line in bytes.split(whereSeparator: { $0 == UInt8(ascii: "\n") || $0 == UInt8(ascii: "\r") }) {
            switch trimmed(line) {
            case "-----BEGIN CERTIFICATE-----": base64 = ""
            case "-----END CERTIFICATE-----":
                guard let text = base64, let content = Base64.decode(text), !content.isEmpty else { throw unreadable }
                certificates.append(content)
                base64 = nil
            case let text: base64?.append(text)
            }
        }
        guard base64 == nil, !certificates.isEmpty else { throw unreadable }
        return certificates
    }

    private static let unreadable = ClientError(
        .connectionFailed, "the certificates that are to be trusted are not certificates in PEM")

    private static func trimmed(_ line: ArraySlice<UInt8>) -> String {
        func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }
        let text = line.drop(while: isSpace)
        let end = text.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? text.startIndex
        return String(decoding: text[..<end], as: UTF8.self)
    }
}
