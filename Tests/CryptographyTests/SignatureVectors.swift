import Foundation
import Testing

@testable import Cryptography

/// What `Vectors/make-signatures.py` made.
struct SignatureVectors: Decodable, Sendable {
    struct Key: Decodable, Sendable {
        var algorithm: JWSAlgorithm
        var secret: String?
        var pem: String?
        var jwk: JSONWebKey?
    }

    struct Token: Decodable, Sendable, CustomTestStringConvertible {
        var key: String
        var comment: String
        var jws: String
        var accepted: Bool

        var testDescription: String { "\(key): \(comment)" }
    }

    struct RefusedKey: Decodable, Sendable, CustomTestStringConvertible {
        var comment: String
        var algorithm: JWSAlgorithm
        var pem: String?
        /// As it stands there, because some can't even be decoded.
        var jwk: [String: Member]?

        var testDescription: String { "\(algorithm): \(comment)" }
    }

    enum Member: Codable, Sendable {
        case text(String)
        case number(Int)
        case list([String])
        case null

        init(from decoder: any Decoder) throws {
            let value = try decoder.singleValueContainer()
            if let text = try? value.decode(String.self) {
                self = .text(text)
            } else if let number = try? value.decode(Int.self) {
                self = .number(number)
            } else if let list = try? value.decode([String].self) {
                self = .list(list)
            } else {
                self = .null
            }
        }

        func encode(to encoder: any Encoder) throws {
            var value = encoder.singleValueContainer()
            switch self {
            case .text(let text): try value.encode(text)
            case .number(let number): try value.encode(number)
            case .list(let list): try value.encode(list)
            case .null: try value.encodeNil()
            }
        }
    }

    var keys: [String: Key]
    var tokens: [Token]
    var refusedKeys: [RefusedKey]

    static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Vectors")

    static let all: SignatureVectors = {
        do {
            let data = try Data(contentsOf: folder.appending(path: "signatures.json"))
            return try JSONDecoder().decode(SignatureVectors.self, from: data)
        } catch {
            fatalError("the vectors can't be read: \(error)")
        }
    }()

    /// The key in each form that it is given in.
    func key(_ name: String) throws -> [JWSKey] {
        guard let key = keys[name] else { return [] }
        var all: [JWSKey] = []
        if let secret = key.secret { all.append(try JWSKey(secret: bytes(secret))) }
        if let pem = key.pem { all.append(try JWSKey(pem: pem, algorithm: key.algorithm)) }
        if let jwk = key.jwk { all.append(try JWSKey(jwk)) }
        return all
    }
}

/// The payload, or why there is none. The queue of errors is empty behind it.
func verify(_ text: String, _ key: JWSKey) -> Result<[UInt8], CryptographyError> {
    let result: Result<[UInt8], CryptographyError>
    do throws(CryptographyError) {
        result = .success(try CompactJWS(text).payload(signedBy: key))
    } catch {
        result = .failure(error)
    }
    guard OpenSSL.hasNoErrors else { fatalError("errors of OpenSSL are left behind \(text)") }
    return result
}

func isAccepted(_ text: String, _ key: JWSKey) -> Bool { (try? verify(text, key).get()) != nil }
