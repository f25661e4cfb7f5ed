import Testing

@testable import Cryptography

struct Base64URLTests {
    @Test func `every content has one text and comes back from it`() {
        // RFC 4648 §10, without padding.
        for (text, encoded) in [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ] {
            #expect(Base64URL.encode(bytes(text)) == encoded)
            #expect(Base64URL.decode(bytes(encoded)) == bytes(text))
        }
        let all = Array(UInt8.min...UInt8.max)
        for count in 0...all.count {
            #expect(Base64URL.decode(bytes(Base64URL.encode(all.prefix(count)))) == Array(all.prefix(count)))
        }
        #expect(Base64URL.encode([0xFB, 0xFF]) == "-_8")
    }

    @Test func `of all texts of two letters those are content that content is written as`() {
        for first in UInt8.min...UInt8.max {
            for second in UInt8.min...UInt8.max {
                guard let content = Base64URL.decode([first, second]) else { continue }
                #expect(bytes(Base64URL.encode(content)) == [first, second])
            }
        }
    }

    @Test(arguments: [
        "A", "AAAAA", "Zg==", "Zg=", "Zm8=", "Zh", "Zm9", "+_8", "-/8", "Zm 9v", "Zm9v\n", " ", "=", "Zé8", "Zm9v\0",
    ])
    func `other texts are none`(_ text: String) { #expect(Base64URL.decode(bytes(text)) == nil) }
}
