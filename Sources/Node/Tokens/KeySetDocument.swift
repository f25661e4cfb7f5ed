import Cryptography
import FoundationEssentials

/// A JWKS document (RFC 7517 §5), and which of its keys are taken.
enum KeySetDocument {
    static let bytesMax = 64 * 1_024
    static let keysMax = 100

    /// Anything in the place of a key that is none is passed over (RFC 7517 §5).
    private struct Entry: Decodable {
        var key: JSONWebKey?

        init(from decoder: any Decoder) { key = try? JSONWebKey(from: decoder) }
    }

    private struct Document: Decodable {
        var keys: [Entry]
    }

    /// The public keys for the record's algorithms, by `kid`. Secrets, private keys, and keys without a name, of other
    /// types or for other purposes are passed over.
    /// - Throws: for what is no such document, and for one that is too large.
    static func keys(_ bytes: [UInt8], for algorithms: Set<JWSAlgorithm>) throws(KeySetError) -> [String: [JWSKey]] {
        guard bytes.count <= bytesMax else { throw KeySetError("it has more than \(bytesMax) bytes") }
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(bytes)) else {
            throw KeySetError("it is not a JWKS document")
        }
        guard document.keys.count <= keysMax else { throw KeySetError("it has more than \(keysMax) keys") }
        var keys: [String: [JWSKey]] = [:]
        for entry in document.keys {
            guard let published = entry.key, let kid = published.kid, let key = try? JWSKey(published),
                algorithms.contains(key.algorithm)
            else { continue }
            keys[kid, default: []].append(key)
        }
        return keys
    }
}

/// Why a key set could not be read: a sentence for the log, without its address.
struct KeySetError: Error, Sendable, Hashable, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
