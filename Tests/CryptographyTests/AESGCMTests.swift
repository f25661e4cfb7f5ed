import Testing

@testable import Cryptography

/// AES-256-GCM, by the vectors of its designers (McGrew and Viega, "The Galois/Counter Mode of Operation", appendix B).
struct AESGCMTests {
    struct Vector: Sendable {
        var key: String
        var nonce: String
        var plain = ""
        var known = ""
        var sealed = ""
        var tag: String
    }

    private static let plain =
        """
        d9313225f88406e5a55909c5aff5269a86a7a9531534f7da2e4c303d8a318a72
        1c3c0c95956809532fcf0e2449a6b525b16aedf5aa0de657ba637b39
        """
    private static let key = "feffe9928665731c6d6a8f9467308308feffe9928665731c6d6a8f9467308308"

    static let vectors = [
        Vector(
            key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24),
            tag: "530f8afbc74536b9a963b4f1c4cb738b"),
        Vector(
            key: String(repeating: "0", count: 64), nonce: String(repeating: "0", count: 24),
            plain: String(repeating: "0", count: 32), sealed: "cea7403d4d606b6e074ec5d3baf39d18",
            tag: "d0d1c8a799996bf0265b98b5d48ab919"),
        Vector(
            key: key, nonce: "cafebabefacedbaddecaf888", plain: plain + "1aafd255",
            sealed: """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662898015ad
                """, tag: "b094dac5d93471bdec1a502270e3cc6c"),
        Vector(
            key: key, nonce: "cafebabefacedbaddecaf888", plain: plain,
            known: "feedfacedeadbeeffeedfacedeadbeefabaddad2",
            sealed: """
                522dc1f099567d07f47f37a32a84427d643a8cdcbfe5c0c97598a2bd2555d1aa
                8cb08e48590dbb3da7b08b1056828838c5f61e6393ba7a0abcc9f662
                """, tag: "76fc6ece0f4e1768cddf8853bb2d551b"),
    ]

    @Test(arguments: vectors) func `bytes are sealed and opened as the vectors say`(_ vector: Vector) throws {
        let key = AESGCMKey(hex(vector.key))
        let nonce = hex(vector.nonce)
        let sealed = key.seal(hex(vector.plain), nonce: nonce, authenticating: hex(vector.known))
        #expect(sealed == hex(vector.sealed) + hex(vector.tag))
        #expect(try key.open(sealed, nonce: nonce, authenticating: hex(vector.known)) == hex(vector.plain))
        // A part of something longer, as packets are.
        let packet = [0, 0] + sealed + [0]
        #expect(
            try key.open(
                packet[2..<(packet.count - 1)], nonce: nonce, authenticating: (hex(vector.known) + [1]).dropLast())
                == hex(vector.plain))
    }

    private func isOpened(_ sealed: [UInt8], _ key: AESGCMKey, _ nonce: [UInt8], _ known: [UInt8]) -> Bool {
        do throws(CryptographyError) {
            _ = try key.open(sealed, nonce: nonce, authenticating: known)
            return true
        } catch {
            #expect(error.code == .signature)
            #expect(OpenSSL.hasNoErrors)
            return false
        }
    }

    @Test(arguments: vectors) func `nothing that was changed or cut off is opened`(_ vector: Vector) {
        let key = AESGCMKey(hex(vector.key))
        let (nonce, known) = (hex(vector.nonce), hex(vector.known))
        let sealed = hex(vector.sealed) + hex(vector.tag)
        #expect(isOpened(sealed, key, nonce, known))
        for index in sealed.indices {
            var changed = sealed
            changed[index] ^= 1 << UInt8(index % 8)
            #expect(!isOpened(changed, key, nonce, known))
            #expect(!isOpened(Array(sealed[..<index]), key, nonce, known))
        }
        #expect(!isOpened(sealed + [0], key, nonce, known))
        #expect(!isOpened(sealed, key, nonce, known + [0]))
        #expect(known.isEmpty || !isOpened(sealed, key, nonce, known.dropLast()))
        #expect(!isOpened(sealed, key, [1] + nonce.dropFirst(), known))
        #expect(!isOpened(sealed, AESGCMKey([1] + hex(vector.key).dropFirst()), nonce, known))
    }

    @Test func `one key seals on many threads at a time`() async {
        let key = AESGCMKey(hex(Self.key))
        let nonce = hex("cafebabefacedbaddecaf888")
        let right = hex(Self.vectors[2].sealed) + hex(Self.vectors[2].tag)
        await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<500).allSatisfy { _ in
                        key.seal(hex(Self.vectors[2].plain), nonce: nonce, authenticating: []) == right
                    }
                }
            }
            for await isRight in group { #expect(isRight) }
        }
    }
}
