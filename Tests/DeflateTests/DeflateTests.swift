import Deflate
import Testing

@Suite struct DeflateTests {
    private func deflated(_ message: [UInt8]) -> [UInt8]? {
        message.withUnsafeBytes { Deflater()?.deflate($0) }
    }

    private func inflated(_ payload: [UInt8], bytesMax: Int = 1 << 20, by given: Inflater? = Inflater())
        -> Result<[UInt8], Inflater.Failure>
    {
        guard let given else { return .failure(.corrupt) }
        return payload.withUnsafeBytes { bytes in
            do throws(Inflater.Failure) {
                return .success(try given.inflate(bytes, bytesMax: bytesMax))
            } catch {
                return .failure(error)
            }
        }
    }

    private static let text = Array(String(repeating: #"{"message":{"text":"hello"}}"#, count: 100).utf8)

    @Test func `the examples of RFC 7692 are read`() {
        let hello = Array("Hello".utf8)
        // Section 7.2.3.1, 7.2.3.3 (no compression), 7.2.3.4 (the last block says so), 7.2.3.5 (two blocks).
        for payload: [UInt8] in [
            [0xf2, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00],
            [0x00, 0x05, 0x00, 0xfa, 0xff, 0x48, 0x65, 0x6c, 0x6c, 0x6f, 0x00],
            [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00],
            [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
        ] {
            #expect(inflated(payload) == .success(hello), "\(payload)")
        }
        #expect(inflated([0x00]) == .success([]), "an empty message")
    }

    @Test func `what was compressed is read again, and each message stands for itself`() throws {
        let deflater = try #require(Deflater())
        let inflater = try #require(Inflater())
        let first = try #require(Self.text.withUnsafeBytes { deflater.deflate($0) })
        let second = try #require(Self.text.withUnsafeBytes { deflater.deflate($0) })
        #expect(first == second && first.count < Self.text.count / 10)
        // A broken message in between spoils nothing.
        for payload in [first, [0x07, 0xff], second] {
            #expect(
                inflated(payload, by: inflater) == (payload == [0x07, 0xff] ? .failure(.corrupt) : .success(Self.text)))
        }
    }

    @Test func `what does not get shorter is not compressed`() {
        #expect(deflated([]) == nil)
        #expect(deflated(Array("ab".utf8)) == nil)
        #expect(deflated((0..<200).map { UInt8(truncatingIfNeeded: $0 &* 167 ^ ($0 >> 2)) }) == nil)
    }

    @Test func `a message may have the most bytes and not one more, however small it comes`() throws {
        let bomb = try #require(deflated([UInt8](repeating: 0, count: 8 << 20)))
        #expect(bomb.count < 40_000)
        #expect(inflated(bomb) == .failure(.tooBig))
        let payload = try #require(deflated(Self.text))
        #expect(inflated(payload, bytesMax: Self.text.count) == .success(Self.text))
        #expect(inflated(payload, bytesMax: Self.text.count - 1) == .failure(.tooBig))
        #expect(inflated(payload, bytesMax: 0) == .failure(.tooBig))
    }

    @Test func `no beginning of a message is taken for the whole, and garbage is no trap`() throws {
        let payload = try #require(deflated(Self.text))
        for count in 0..<payload.count { #expect(inflated(Array(payload.prefix(count))) != .success(Self.text)) }
        var state: UInt64 = 1
        for _ in 0..<2000 {
            let garbage = (0..<20).map { _ in
                state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                return UInt8(truncatingIfNeeded: state >> 33)
            }
            // Whatever it is, it ends, and is bounded.
            if case .success(let message) = inflated(garbage, bytesMax: 1000) { #expect(message.count <= 1000) }
        }
    }
}
