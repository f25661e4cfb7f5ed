import Testing

@testable import Cryptography

/// Digests, codes and derived keys, by the vectors of their standards.
struct DigestTests {
    @Test func `SHA-256 gives the digests of FIPS 180-4`() {
        let vectors = [
            ("", "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            ("abc", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
            (
                "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq",
                "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1"
            ),
            (
                String(repeating: "a", count: 1_000_000),
                "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0"
            ),
        ]
        for (text, digest) in vectors { #expect(SHA256.digest(of: bytes(text)) == hex(digest)) }
    }

    @Test func `parts have the digest and the code of the whole`() {
        let key = HMACKey(bytes("key"))
        #expect(SHA256.digest(of: bytes("a"), [], bytes("bc")) == SHA256.digest(of: bytes("abc")))
        #expect(SHA256.digest() == SHA256.digest(of: []))
        #expect(key.code(of: bytes("a"), [], bytes("bc")) == key.code(of: bytes("abc")))
        #expect(key.isCode(key.code(of: bytes("abc")), of: bytes("ab"), bytes("c")))
    }

    @Test func `HMAC gives the codes of RFC 4231, again and again with one key`() {
        let longText =
            "This is a test using a larger than block-size key and a larger than block-size data. The key needs to be "
            + "hashed before being used by the HMAC algorithm."
        let vectors: [(key: [UInt8], text: [UInt8], code: String)] = [
            (
                [UInt8](repeating: 0x0B, count: 20), bytes("Hi There"),
                "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
            ),
            (
                bytes("Jefe"), bytes("what do ya want for nothing?"),
                "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
            ),
            (
                [UInt8](repeating: 0xAA, count: 20), [UInt8](repeating: 0xDD, count: 50),
                "773ea91e36800e46854db8ebd09181a72959098b3ef8c122d9635514ced565fe"
            ),
            (
                Array(1...25), [UInt8](repeating: 0xCD, count: 50),
                "82558a389a443c0ea4cc819899f2083a85f0faa3e578f8077a2e3ff46729665b"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131), bytes("Test Using Larger Than Block-Size Key - Hash Key First"),
                "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
            ),
            (
                [UInt8](repeating: 0xAA, count: 131), bytes(longText),
                "9b09ffa71b942fcb27635fbcd5b0e944bfdc63644f0713938a7f51535c3a35e2"
            ),
        ]
        for vector in vectors {
            let key = HMACKey(vector.key)
            for _ in 0..<3 { #expect(key.code(of: vector.text) == hex(vector.code)) }
            #expect(key.isCode(hex(vector.code), of: vector.text))
            #expect(!key.isCode(hex(vector.code).dropLast(), of: vector.text))
            #expect(!key.isCode(hex(vector.code), of: vector.text + [0]))
            #expect(!key.isCode([], of: vector.text))
        }
    }

    @Test func `an empty key is one of zeros, as HMAC pads it`() {
        // From Python's hmac.
        let code = hex("b613679a0814d9ec772f95d778c35fc5ff1697c493715653c6c712144292c5ad")
        #expect(HMACKey([]).code(of: []) == code)
        #expect(HMACKey([UInt8](repeating: 0, count: 64)).code(of: []) == code)
    }

    @Test func `one key makes codes on many threads at a time`() async {
        let key = HMACKey(bytes("Jefe"))
        let text = bytes("what do ya want for nothing?")
        let right = hex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843")
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask { (0..<500).allSatisfy { _ in key.code(of: text) == right } }
            }
            for await isRight in group { #expect(isRight) }
        }
    }

    @Test func `HKDF derives the keys of RFC 5869`() {
        let plain = HKDF.key(
            from: [UInt8](repeating: 0x0B, count: 22), salt: Array(0...0x0C), info: Array(0xF0...0xF9), bytes: 42)
        #expect(
            plain
                == hex(
                    """
                    3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf34007208d5b887185865
                    """))
        let long = HKDF.key(from: Array(0...0x4F), salt: Array(0x60...0xAF), info: Array(0xB0...0xFF), bytes: 82)
        #expect(
            long
                == hex(
                    """
                    b11e398dc80327a1c8e7f78c596a49344f012eda2d4efad8a050cc4c19afa97c59045a99cac7827271cb41c65e590e09
                    da3275600c2f09b8367793a9aca3db71cc30c58179ec3e87c14c01d5c1f3434f1d87
                    """))
        let bare = HKDF.key(from: [UInt8](repeating: 0x0B, count: 22), info: [], bytes: 42)
        #expect(
            bare
                == hex(
                    """
                    8da4e775a563c18f715f802a063c5a31b8a11f5c5ee1879ec3454e5f3c738d2d9d201395faa4b61a96c8
                    """))
    }

    @Test func `HKDF derives up to 255 blocks, each length a beginning of the next`() {
        let all = HKDF.key(from: bytes("secret"), info: bytes("info"), bytes: HKDF.bytesMax)
        #expect(all.count == 8_160)
        for count in [1, 31, 32, 33, 64, 8_159] {
            #expect(HKDF.key(from: bytes("secret"), info: bytes("info"), bytes: count) == Array(all.prefix(count)))
        }
    }

    @Test func `equal bytes are equal and no others`() {
        #expect(ConstantTime.areEqual([], [] as [UInt8]))
        #expect(ConstantTime.areEqual([1, 2, 3], [0, 1, 2, 3][1...]))
        for other in [[], [1, 2], [1, 2, 4], [0, 2, 3], [1, 2, 3, 0]] as [[UInt8]] {
            #expect(!ConstantTime.areEqual([1, 2, 3], other))
        }
    }

    @Test func `random bytes are as many as asked for, and others each time`() {
        #expect(SecureRandom.bytes(0).isEmpty)
        #expect(Set((0..<100).map { _ in SecureRandom.bytes(16) }).count == 100)
        // Each of 256 values is missing among 10,000 bytes with a probability of 10^-17.
        #expect(Set(SecureRandom.bytes(10_000)).count == 256)
    }
}
