import Foundation
import Testing

@testable import Cryptography

/// Signatures and keys that PyPI's `cryptography` made, right and wrong (`Vectors/make-signatures.py`).
struct SignatureTests {
    @Test(arguments: SignatureVectors.all.tokens)
    func `a token is accepted or refused as its vector says`(_ token: SignatureVectors.Token) throws {
        let keys = try SignatureVectors.all.key(token.key)
        #expect(!keys.isEmpty)
        for key in keys { #expect(isAccepted(token.jws, key) == token.accepted) }
    }

    @Test(arguments: SignatureVectors.all.refusedKeys)
    func `a key that is none for its algorithm is refused`(_ key: SignatureVectors.RefusedKey) throws {
        if let pem = key.pem {
            let error = #expect(throws: CryptographyError.self) { _ = try JWSKey(pem: pem, algorithm: key.algorithm) }
            #expect(error?.code == .key)
        }
        if let jwk = key.jwk {
            let data = try JSONEncoder().encode(jwk)
            #expect(throws: (any Error).self) { _ = try JWSKey(try JSONDecoder().decode(JSONWebKey.self, from: data)) }
        }
        #expect((key.pem == nil) != (key.jwk == nil))
        #expect(OpenSSL.hasNoErrors)
    }

    @Test func `no key accepts what another key has signed`() throws {
        let vectors = SignatureVectors.all
        for token in vectors.tokens where token.accepted {
            for name in vectors.keys.keys where name != token.key {
                for key in try vectors.key(name) { #expect(!isAccepted(token.jws, key), "\(token) \(name)") }
            }
        }
    }

    @Test func `no beginning of a right token is one, nor one with a letter changed or removed`() throws {
        let vectors = SignatureVectors.all
        for token in vectors.tokens where token.accepted && token.comment == "right" {
            let letters = Array(token.jws.utf8)
            let key = try #require(vectors.key(token.key).first)
            for index in letters.indices {
                var changed = letters
                changed[index] = changed[index] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
                var removed = letters
                removed.remove(at: index)
                for text in [Array(letters[..<index]), changed, removed] {
                    #expect(!isAccepted(String(decoding: text, as: UTF8.self), key), "\(token) \(index)")
                }
            }
        }
    }

    @Test func `bytes at random are refused`() throws {
        var random = SystemRandomNumberGenerator()
        let keys = try SignatureVectors.all.keys.keys.flatMap { try SignatureVectors.all.key($0) }
        let head = #"{"alg":"ALG","kid":"k"}"#
        for _ in 0..<500 {
            let garbage = (0..<Int.random(in: 0...300, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            for key in keys {
                let header = bytes(head.replacing("ALG", with: key.algorithm.rawValue))
                let signed = Base64URL.encode(header) + "." + Base64URL.encode(garbage) + "."
                let text = Bool.random(using: &random) ? signed + Base64URL.encode(garbage) : ""
                #expect(!isAccepted(text + String(decoding: garbage, as: UTF8.self), key))
                #expect(!isAccepted(signed + Base64URL.encode(garbage), key))
            }
            #expect(throws: CryptographyError.self) {
                try JWSKey(pem: String(decoding: garbage, as: UTF8.self), algorithm: .RS256)
            }
        }
        #expect(OpenSSL.hasNoErrors)
    }

    @Test func `a text that is no compact JWS is refused by its form`() {
        for text in [
            "", ".", "..", "...", "a.b.c", "é.é.é", "e30.e30.e30", String(repeating: ".", count: 100_000),
            String(repeating: "A", count: 100_000) + ".AA.AA",
        ] {
            let error = #expect(throws: CryptographyError.self) { _ = try CompactJWS(text) }
            #expect(error?.code == .form)
        }
    }

    @Test func `a signed token tells its key and is accepted with it alone`() throws {
        let secret = bytes("a secret of at least thirty-two bytes")
        let key = try JWSKey(secret: secret)
        let payload = bytes(#"{"sub":"ann"}"#)
        let kid = "a \"key\" with \\ and é"
        let token = try CompactJWS.token(payload, kid: kid, signedBy: key)
        let read = try CompactJWS(token)
        #expect(read.kid == kid)
        #expect(read.claimedAlgorithm == "HS256")
        #expect(try read.payload(signedBy: key) == payload)
        #expect(!isAccepted(token, try JWSKey(secret: secret + [1])))
    }

    @Test func `a public key signs nothing, and a short secret is no key`() throws {
        let key = try #require(SignatureVectors.all.key("ec").first)
        #expect(throws: CryptographyError.self) { _ = try CompactJWS.token([], kid: "k", signedBy: key) }
        #expect(throws: CryptographyError.self) { _ = try JWSKey(secret: [UInt8](repeating: 1, count: 31)) }
        #expect(throws: Never.self) { _ = try JWSKey(secret: [UInt8](repeating: 1, count: 32)) }
    }

    @Test func `one public key checks on many threads at a time`() async throws {
        let vectors = SignatureVectors.all
        for token in vectors.tokens where token.accepted && token.comment == "right" {
            for key in try vectors.key(token.key) {
                await withTaskGroup(of: Bool.self) { group in
                    for _ in 0..<4 {
                        group.addTask { (0..<25).allSatisfy { _ in isAccepted(token.jws, key) } }
                    }
                    for await isRight in group { #expect(isRight) }
                }
            }
        }
    }
}
