import COpenSSL
import Cryptography
import Foundation

/// An issuer of tokens with a key pair of its own, which the node never has: it only checks signatures.
///
/// The key is not changed after `init`: that is the invariant behind `@unchecked Sendable`.
package final class TestSigner: @unchecked Sendable {
    package let algorithm: JWSAlgorithm
    private let key: OpaquePointer

    /// Makes a key pair. For RS256 that takes a moment.
    package init(_ algorithm: JWSAlgorithm) {
        self.algorithm = algorithm
        let type =
            switch algorithm {
            case .ES256: "EC"
            case .RS256: "RSA"
            case .EdDSA: "ED25519"
            case .HS256: fatalError("a shared secret needs no key pair")
            }
        let context = EVP_PKEY_CTX_new_from_name(nil, type, nil)
        defer { EVP_PKEY_CTX_free(context) }
        var key: OpaquePointer?
        guard EVP_PKEY_keygen_init(context) == 1,
            algorithm != .ES256 || EVP_PKEY_CTX_set_group_name(context, "P-256") == 1,
            algorithm != .RS256 || EVP_PKEY_CTX_set_rsa_keygen_bits(context, 2_048) == 1,
            EVP_PKEY_generate(context, &key) == 1, let key
        else { fatalError("no key pair could be made") }
        self.key = key
    }

    deinit { EVP_PKEY_free(key) }

    /// SubjectPublicKeyInfo (RFC 5280 §4.1.2.7).
    private var info: [UInt8] {
        var bytes: UnsafeMutablePointer<UInt8>?
        let count = i2d_PUBKEY(key, &bytes)
        defer { CRYPTO_free(bytes, #file, #line) }
        return Array(UnsafeBufferPointer(start: bytes, count: Int(count)))
    }

    package var publicKeyPEM: String {
        let text = Data(info).base64EncodedString(options: [.lineLength64Characters, .endLineWithLineFeed])
        return "-----BEGIN PUBLIC KEY-----\n\(text)\n-----END PUBLIC KEY-----\n"
    }

    /// The public key as an issuer publishes it.
    package func jwk(_ kid: String) -> [String: String] {
        let info = info
        var members = ["kid": kid, "use": "sig", "alg": algorithm.rawValue]
        switch algorithm {
        case .HS256: break
        case .ES256:
            // It ends in the coordinates.
            members["kty"] = "EC"
            members["crv"] = "P-256"
            members["x"] = Base64URL.encode(info.suffix(64).prefix(32))
            members["y"] = Base64URL.encode(info.suffix(32))
        case .RS256:
            members["kty"] = "RSA"
            // It ends in the modulus, the number 0x010001 and its two bytes of tag and length.
            members["n"] = Base64URL.encode(info.dropLast(5).suffix(256))
            members["e"] = "AQAB"
        case .EdDSA:
            members["kty"] = "OKP"
            members["crv"] = "Ed25519"
            members["x"] = Base64URL.encode(info.suffix(32))
        }
        return members
    }

    /// A token with these claims.
    /// - Parameter name: what its header says of the algorithm.
    package func token(_ claims: [String: Any], kid: String, algorithm name: String? = nil) throws -> String {
        let head = ["alg": name ?? algorithm.rawValue, "kid": kid, "typ": "JWT"]
        let parts = try [head, claims].map { part -> String in
            Base64URL.encode(try JSONSerialization.data(withJSONObject: part))
        }
        let signed = parts.joined(separator: ".")
        return signed + "." + Base64URL.encode(signature(of: Array(signed.utf8)))
    }

    private func signature(of bytes: [UInt8]) -> [UInt8] {
        let context = EVP_MD_CTX_new()
        defer { EVP_MD_CTX_free(context) }
        let digest = algorithm == .EdDSA ? nil : "SHA2-256"
        var count = 512
        var signature = [UInt8](repeating: 0, count: count)
        guard EVP_DigestSignInit_ex(context, nil, digest, nil, nil, key, nil) == 1,
            EVP_DigestSign(context, &signature, &count, bytes, bytes.count) == 1
        else { fatalError("nothing could be signed") }
        signature.removeSubrange(count...)
        return algorithm == .ES256 ? Self.numbers(signature) : signature
    }

    /// The two numbers with 32 bytes each (RFC 7518 §3.4).
    private static func numbers(_ signature: [UInt8]) -> [UInt8] {
        let form = signature.withUnsafeBufferPointer { bytes in
            var start = bytes.baseAddress
            return d2i_ECDSA_SIG(nil, &start, bytes.count)
        }
        defer { ECDSA_SIG_free(form) }
        var numbers = [UInt8](repeating: 0, count: 64)
        numbers.withUnsafeMutableBufferPointer { numbers in
            BN_bn2binpad(ECDSA_SIG_get0_r(form), numbers.baseAddress, 32)
            BN_bn2binpad(ECDSA_SIG_get0_s(form), numbers.baseAddress.map { $0 + 32 }, 32)
        }
        return numbers
    }
}
