import Foundation
import Testing

@testable import Cryptography

/// The example of RFC 8037, appendix A: the vectors of wycheproof have none for EdDSA.
struct RFC8037Tests {
    private static let key = #"{"kty":"OKP","crv":"Ed25519","x":"11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo"}"#
    private static let signed = "eyJhbGciOiJFZERTQSJ9.RXhhbXBsZSBvZiBFZDI1NTE5IHNpZ25pbmc"
    private static let signature =
        "hgyY0il_MGCjP0JzlnLWG1PPOt7-09PGcvMg3AIbQR6dWbhijcNR4ki4iylGjg5BhVsPt9g7sVvpAr_MuM0KAg"

    private func key() throws -> JWSKey {
        try JWSKey(try JSONDecoder().decode(JSONWebKey.self, from: Data(Self.key.utf8)))
    }

    @Test func `the example of appendix A.5 is right`() throws {
        let key = try key()
        #expect(key.algorithm == .EdDSA)
        let payload = try CompactJWS(Self.signed + "." + Self.signature).payload(signedBy: key)
        #expect(payload == bytes("Example of Ed25519 signing"))
    }

    @Test func `it is wrong with any bit of the signature changed`() throws {
        let key = try key()
        let signature = try #require(Base64URL.decode(bytes(Self.signature)))
        for index in signature.indices {
            for bit in 0..<8 {
                var changed = signature
                changed[index] ^= 1 << UInt8(bit)
                #expect(!isAccepted(Self.signed + "." + Base64URL.encode(changed), key))
            }
        }
    }

    @Test func `the private key of appendix A.1 is not taken`() throws {
        let text = Self.key.dropLast() + #","d":"nWGxne_9WmC6hEr0kuwsxERJxWl7MmkZcDusAxyuf2A"}"#
        let key = try JSONDecoder().decode(JSONWebKey.self, from: Data(text.utf8))
        #expect(key.isSecret)
        #expect(throws: CryptographyError.self) { _ = try JWSKey(key) }
    }
}
