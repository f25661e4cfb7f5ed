import Foundation
import Testing

@testable import Conformance
@testable import ControlClient

/// What the conformance checks speak by themselves, so that a node is not compared with its own code.
@Suite struct ConformanceToolsTests {
    private static let key = ClusterFile.TokenKey(kid: "default", secret: "secret")

    @Test func `codes are those of RFC 4231 and FIPS 180`() {
        let code = AuthenticationCode.hmacSHA256(key: Array("Jefe".utf8), Array("what do ya want for nothing?".utf8))
        #expect(
            AuthenticationCode.hex(code) == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        let digest = AuthenticationCode.sha256(Array("abc".utf8))
        #expect(
            AuthenticationCode.hex(digest) == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad")
    }

    @Test func `a signed token has three parts, and its header and claims as they were given`() throws {
        let token = SignedToken(Self.key, claims: ["sub": "ann?~", "exp": 1])
        let parts = token.text.split(separator: ".").map(String.init)
        #expect(parts.count == 3)
        #expect(token.text.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber || "-_.".contains($0)) })
        #expect(parts[0] == SignedToken.base64URL(Array(token.header.line.utf8)))
        let code = AuthenticationCode.hmacSHA256(
            key: Array("secret".utf8), Array((parts[0] + "." + parts[1]).utf8))
        #expect(parts[2] == SignedToken.base64URL(code))
        #expect(parts[2].utf8.count == 43)
    }

    @Test func `a token can be made as long as is wanted`() {
        let token = SignedToken(Self.key, claims: ["sub": "ann", "exp": 1])
        for bytes in 4090...4100 { #expect(token.text(bytes: bytes)?.utf8.count == bytes, "\(bytes)") }
        #expect(token.text(bytes: 10) == nil)
    }

    @Test func `protobuf is written and read again, and every truncation of it is refused`() throws {
        let inner = ProtobufFields([(1, .bytes(Array("ann".utf8)))])
        let message = ProtobufFields([(1, .number(300)), (10, .bytes(inner.bytes))])
        #expect(message.bytes == [0x08, 0xAC, 0x02, 0x52, 0x05, 0x0A, 0x03, 0x61, 0x6E, 0x6E])
        let frame = message.delimited + message.delimited
        let read = try #require(ProtobufFields.messages(of: frame))
        #expect(read.count == 2)
        #expect(read[1].number(1) == 300)
        #expect(read[1].message(10)?.text(1) == "ann")
        for count in 1..<frame.count where count != message.delimited.count {
            #expect(ProtobufFields.messages(of: Array(frame.prefix(count))) == nil, "\(count)")
        }
    }

    @Test func `an HTTP message is whole when its body has come`() throws {
        let text = "HTTP/1.1 403 Forbidden\r\nRetry-After: 7\r\nContent-Length: 3\r\n\r\nabc"
        for count in 0..<text.utf8.count { #expect(HTTPText(parsing: Array(text.utf8.prefix(count))) == nil) }
        let whole = try #require(HTTPText(parsing: Array(text.utf8)))
        #expect(whole.firstLine == "HTTP/1.1 403 Forbidden")
        #expect(whole.headers["retry-after"] == "7")
        #expect(whole.body == Array("abc".utf8))
    }

    @Test func `the witness notes null and long IDs wherever they stand`() {
        let witness = ConformanceWitness()
        witness.see(["message": ["messageId": .text(String(repeating: "m", count: 64)), "text": "null"]])
        #expect(witness.nulls.isEmpty && witness.longNames.isEmpty)
        witness.see(["id": 1, "enter": ["queue": [["owner": .null]]]])
        witness.see(["id": 2, "history": ["next": .text(String(repeating: "n", count: 65))]])
        #expect(witness.nulls.count == 1)
        #expect(witness.nulls.first?.hasPrefix("owner in ") == true)
        #expect(witness.longNames.count == 1)
        #expect(witness.seen == 3)
    }

    @Test func `every sentence is checked once`() {
        let names = ConformanceCheck.all.map { "\($0.section) \($0.sentence)" }
        #expect(Set(names).count == names.count)
        #expect(names.count > 300)
    }
}
