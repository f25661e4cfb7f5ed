import Cryptography
import CryptographyTestKit
import Foundation
import Testing

@testable import Node

/// Which keys of a JWKS document are taken.
struct KeySetDocumentTests {
    private static let signers = [TestSigner(.ES256), TestSigner(.RS256), TestSigner(.EdDSA)]
    private static let all: Set<JWSAlgorithm> = [.ES256, .RS256, .EdDSA]

    private static func jwk(_ algorithm: JWSAlgorithm, _ kid: String, _ more: [String: Any?] = [:]) throws -> [String:
        Any]
    {
        var members: [String: Any] = try #require(signers.first { $0.algorithm == algorithm }).jwk(kid)
        for (name, value) in more { members[name] = value }
        return members
    }

    private static func kids(_ keys: [Any], _ algorithms: Set<JWSAlgorithm> = all) throws -> [String] {
        let document: [String: Any] = ["keys": keys, "more": [1]]
        let bytes = Array(try JSONSerialization.data(withJSONObject: document))
        return try KeySetDocument.keys(bytes, for: algorithms).keys.sorted()
    }

    @Test func `public keys of the record's algorithms are taken, others not`() throws {
        let keys = try [Self.jwk(.ES256, "e"), Self.jwk(.RS256, "r"), Self.jwk(.EdDSA, "o")]
        #expect(try Self.kids(keys) == ["e", "o", "r"])
        #expect(try Self.kids(keys, [.RS256]) == ["r"])
        #expect(try Self.kids([]) == [])
    }

    @Test func `what stands beside it does not hinder a key`() throws {
        let key = try Self.jwk(.ES256, "e", ["alg": nil, "use": nil, "x5t": "abc", "more": ["d": 1]])
        #expect(try Self.kids([key]) == ["e"])
    }

    @Test func `secrets, private keys, and keys without a name or for something else are passed over`() throws {
        let others: [Any] = try [
            ["kty": "oct", "kid": "s", "k": "c2VjcmV0IHNlY3JldCBzZWNyZXQgc2VjcmV0IHNlY3JldA", "alg": "HS256"],
            Self.jwk(.ES256, "private", ["d": "AQ"]), Self.jwk(.RS256, "private", ["d": "AQ", "p": "AQ"]),
            Self.jwk(.ES256, "x", ["kid": nil]), Self.jwk(.ES256, "enc", ["use": "enc"]),
            Self.jwk(.ES256, "ops", ["key_ops": ["deriveKey"]]), Self.jwk(.RS256, "pss", ["alg": "PS256"]),
            Self.jwk(.RS256, "small", ["n": "AQAB"]), Self.jwk(.EdDSA, "448", ["crv": "Ed448"]),
            Self.jwk(.ES256, "number", ["kid": 1]), ["kty": "EC"], [:], [], "text", 1, NSNull(),
            ["kty": "new", "kid": "new"],
        ]
        #expect(try Self.kids(others + [try Self.jwk(.EdDSA, "good")]) == ["good"])
    }

    @Test func `two keys of one name are both kept, each for its own algorithm`() throws {
        let document = ["keys": try [Self.jwk(.ES256, "k"), Self.jwk(.EdDSA, "k")]]
        let keys = try KeySetDocument.keys(Array(JSONSerialization.data(withJSONObject: document)), for: Self.all)
        #expect(keys["k"]?.map(\.algorithm) == [.ES256, .EdDSA])
    }

    @Test func `one hundred keys and 64 KB are the most`() throws {
        let key = try Self.jwk(.EdDSA, "k")
        #expect(try Self.kids([Any](repeating: key, count: 100)) == ["k"])
        #expect(throws: KeySetError.self) { try Self.kids([Any](repeating: key, count: 101)) }
        let document = Array(#"{"keys":[]}"#.utf8)
        let full = document + [UInt8](repeating: 0x20, count: 65_536 - document.count)
        #expect(throws: Never.self) { try KeySetDocument.keys(full, for: Self.all) }
        #expect(throws: KeySetError.self) { try KeySetDocument.keys(full + [0x20], for: Self.all) }
    }

    @Test(arguments: ["", "{}", "[]", "null", #"{"keys":{}}"#, #"{"keys":[]"#, #"{"keys":null}"#, "<html>", "\0"])
    func `anything else is no document`(_ text: String) {
        #expect(throws: KeySetError.self) { try KeySetDocument.keys(Array(text.utf8), for: Self.all) }
    }
}
