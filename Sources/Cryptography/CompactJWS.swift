internal import FoundationEssentials

/// A JSON Web Signature in its compact form (RFC 7515 §3.1), as it came: nothing of it is true before a key says so.
public struct CompactJWS: Sendable {
    /// Characters of the encoded header.
    public static let headerBytesMax = 1_024

    private struct Header: Decodable {
        var alg: String
        var kid: String?

        private enum CodingKeys: CodingKey {
            case alg, kid, crit, zip
        }

        init(from decoder: any Decoder) throws {
            let members = try decoder.container(keyedBy: CodingKeys.self)
            alg = try members.decode(String.self, forKey: .alg)
            kid = try members.decodeIfPresent(String.self, forKey: .kid)
            // A token with a critical extension that nobody here understands has to be refused (RFC 7515 §4.1.11).
            guard !members.contains(.crit), !members.contains(.zip) else {
                throw CryptographyError(.algorithm, "its header asks for what is not understood")
            }
        }
    }

    /// Which key it names.
    public var kid: String? { header.kid }
    /// The algorithm that the token claims; compared with a key's algorithm, and followed by nobody.
    public var claimedAlgorithm: String { header.alg }

    private let header: Header
    private let payload: [UInt8]
    private let signature: [UInt8]
    /// The two encoded parts that are signed, with the dot between them.
    private let signed: [UInt8]

    /// - Throws: `form` for what is not three parts in strict base64url with a JSON object as the first; `algorithm`
    ///   for a header that asks for an extension.
    public init(_ text: String) throws(CryptographyError) {
        let bytes = Array(text.utf8)
        let parts = bytes.split(separator: UInt8(ascii: "."), maxSplits: 3, omittingEmptySubsequences: false)
        guard parts.count == 3, parts[0].count <= Self.headerBytesMax, let head = Base64URL.decode(parts[0]),
            let payload = Base64URL.decode(parts[1]), let signature = Base64URL.decode(parts[2])
        else { throw CryptographyError(.form, "it is not a compact JWS") }
        header = try Self.header(head)
        self.payload = payload
        self.signature = signature
        signed = Array(bytes[..<parts[1].endIndex])
    }

    private static func header(_ bytes: [UInt8]) throws(CryptographyError) -> Header {
        // UTF-8 only, where the decoder would guess, and each member once (RFC 7515 §4).
        guard bytes.first == UInt8(ascii: "{") || bytes.first.map(isSpace) == true, !bytes.contains(0),
            String(validating: bytes, as: UTF8.self) != nil
        else { throw CryptographyError(.form, "its header is not a JSON object") }
        let header: Header
        do {
            header = try JSONDecoder().decode(Header.self, from: Data(bytes))
        } catch let error as CryptographyError {
            throw error
        } catch {
            throw CryptographyError(.form, "its header is not a JSON object with alg")
        }
        guard !hasRepeatedMembers(bytes) else { throw CryptographyError(.form, "its header names something twice") }
        return header
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0A || byte == 0x0D }

    /// Whether an object that is valid JSON has a member twice, or one whose name hides behind escapes. Nested objects
    /// do not matter, because nobody reads it.
    private static func hasRepeatedMembers(_ json: [UInt8]) -> Bool {
        var names: Set<ArraySlice<UInt8>> = []
        var depth = 0
        // In an object each text that a colon follows is a name, and none other.
        var text: ArraySlice<UInt8>?
        var index = 0
        while index < json.count {
            switch json[index] {
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            case UInt8(ascii: ":"):
                guard depth == 1, let name = text else { break }
                guard !name.contains(UInt8(ascii: "\\")), names.insert(name).inserted else { return true }
            case UInt8(ascii: "\""):
                let start = index + 1
                index = start
                while index < json.count, json[index] != UInt8(ascii: "\"") {
                    index += json[index] == UInt8(ascii: "\\") ? 2 : 1
                }
                text = json[start..<min(index, json.count)]
            default: break
            }
            index += 1
        }
        return false
    }

    /// Its payload, if the key has signed it.
    /// - Throws: `algorithm` unless the header names the key's own; `signature` unless the signature is the key's.
    public func payload(signedBy key: JWSKey) throws(CryptographyError) -> [UInt8] {
        guard header.alg == key.algorithm.rawValue else {
            throw CryptographyError(.algorithm, "its algorithm is not that of its key")
        }
        guard key.isSignature(signature, of: signed) else {
            throw CryptographyError(.signature, "its signature is not that of its key")
        }
        return payload
    }

    /// A JWT with this payload, signed with a shared secret.
    /// - Throws: `key` for a public key.
    public static func token(_ payload: [UInt8], kid: String, signedBy key: JWSKey) throws(CryptographyError) -> String
    {
        struct Head: Encodable {
            var alg: String
            var kid: String
            var typ = "JWT"
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = .sortedKeys
        guard let head = try? encoder.encode(Head(alg: key.algorithm.rawValue, kid: kid)) else {
            throw CryptographyError(.key, "its kid is no text")
        }
        let signed = Base64URL.encode(Array(head)) + "." + Base64URL.encode(payload)
        guard let signature = key.signature(of: Array(signed.utf8)) else {
            throw CryptographyError(.key, "a public key signs nothing")
        }
        return signed + "." + Base64URL.encode(signature)
    }
}
