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

    /// As a message of somebody who is not known: what has come of it, and what was asked about.
    private func inflatedIfWanted(_ payload: [UInt8], bytesMax: Int = 64 << 10, isWanted: Bool = true)
        -> (Result<[UInt8], Inflater.Failure>, asked: [[UInt8]])
    {
        var asked: [[UInt8]] = []
        guard let inflater = Inflater() else { return (.failure(.corrupt), []) }
        let result: Result<[UInt8], Inflater.Failure> = payload.withUnsafeBytes { bytes in
            do throws(Inflater.Failure) {
                return .success(
                    try inflater.inflate(
                        bytes, bytesMax: bytesMax,
                        ifWanted: {
                            asked.append(Array($0))
                            return isWanted
                        }))
            } catch { return .failure(error) }
        }
        return (result, asked)
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

    // MARK: - Of those who are not known

    @Test func `what is wanted is read alike, and its first bytes are asked about once`() throws {
        let random = (0..<3000).map { UInt8(truncatingIfNeeded: $0 &* $0 &* 167 ^ ($0 >> 3)) }
        for message in [[], Array("Hello".utf8), Self.text, random, [UInt8](repeating: 32, count: 64 << 10)] {
            for payload in [deflated(message) ?? Deflating.stored(message), Deflating.stored(message)] {
                let (result, asked) = inflatedIfWanted(payload)
                #expect(result == .success(message), "\(message.count)")
                #expect(asked == [Array(message.prefix(Inflater.firstBytes))])
                #expect(inflated(payload) == .success(message))
            }
        }
        // Blocks that say that they are the last, and two blocks (RFC 7692 §7.2.3).
        for payload: [UInt8] in [
            [0xf3, 0x48, 0xcd, 0xc9, 0xc9, 0x07, 0x00, 0x00],
            [0xf2, 0x48, 0x05, 0x00, 0x00, 0x00, 0xff, 0xff, 0xca, 0xc9, 0xc9, 0x07, 0x00],
        ] { #expect(inflatedIfWanted(payload).0 == .success(Array("Hello".utf8))) }
        #expect(inflatedIfWanted([0x07, 0xff]).0 == .failure(.corrupt))
        let bomb = try #require(deflated([UInt8](repeating: 0, count: 1 << 20)))
        #expect(inflatedIfWanted(bomb).0 == .failure(.tooBig))
    }

    @Test func `what is not wanted is given up after its first bytes`() throws {
        for message in [[], Array("Hello".utf8), Self.text] {
            let (result, asked) = inflatedIfWanted(deflated(message) ?? Deflating.stored(message), isWanted: false)
            #expect(result == .failure(.unwanted))
            #expect(asked == [Array(message.prefix(Inflater.firstBytes))])
        }
        // What comes after them is not looked at.
        let broken = Deflating.stored([UInt8](repeating: 7, count: Inflater.firstBytes)) + [0x07, 0xFF, 0xFF]
        #expect(inflatedIfWanted(broken, isWanted: false).0 == .failure(.unwanted))
        #expect(inflatedIfWanted(broken).0 == .failure(.corrupt))
    }

    @Test func `a last block that ends with the bytes that every message is given is no end of a message`() {
        // Stored, the last one, and its length is what is appended. Found by fuzzing.
        let payload: [UInt8] = [0x31]
        #expect(inflatedIfWanted(payload).0 == .failure(.corrupt))
        #expect(throws: Inflater.Failure.corrupt) {
            try payload.withUnsafeBytes { try Inflater()?.inflate($0, bytesMax: 100) }
        }
    }

    @Test func `blocks that become nothing are counted, and those of a compressor with little memory are not too many`()
    {
        let empty = Deflating.emptyBlock
        #expect(inflatedIfWanted(Array(repeatElement(empty, count: 5).joined()) + [0]).0 == .success([]))
        let (result, asked) = inflatedIfWanted(Array(repeatElement(empty, count: 4000).joined()))
        #expect(result == .failure(.tooDear) && asked.isEmpty)
        // Those that say that they are the last, too: one block of fixed codes and nothing in it.
        let (last, _) = inflatedIfWanted(Array(repeatElement([0x03, 0x00] as [UInt8], count: 4000).joined()))
        #expect(last == .failure(.tooDear))
        // A message before them pays for as many as a compressor would have made of it, and no more.
        let begun = Deflating.stored([UInt8](repeating: 7, count: 2000), endsMessage: false)
        #expect(
            inflatedIfWanted(begun + Array(repeatElement(empty, count: 15).joined()) + [0]).0
                == .success([UInt8](repeating: 7, count: 2000)))
        #expect(inflatedIfWanted(begun + Array(repeatElement(empty, count: 50).joined())).0 == .failure(.tooDear))
        // 127 symbols to a block.
        let message = (0..<64 << 10).map { UInt8(truncatingIfNeeded: $0) }
        let blocks = stride(from: 0, to: message.count, by: 127).map { start in
            Deflating.stored(Array(message[start..<min(start + 127, message.count)]), endsMessage: false)
        }
        #expect(inflatedIfWanted(Array(blocks.joined()) + [0]).0 == .success(message))
    }
}

/// Payloads that no compressor has made.
enum Deflating {
    /// A stored block for each 65,535 bytes, and the beginning of an empty one.
    static func stored(_ message: [UInt8], endsMessage: Bool = true) -> [UInt8] {
        var payload: [UInt8] = []
        var rest = message[...]
        while !rest.isEmpty {
            let part = rest.prefix(65_535)
            let (low, high) = (UInt8(truncatingIfNeeded: part.count), UInt8(truncatingIfNeeded: part.count >> 8))
            payload += [0, low, high, ~low, ~high]
            payload += part
            rest = rest.dropFirst(part.count)
        }
        return endsMessage ? payload + [0] : payload
    }

    /// Stored, without a byte.
    static let emptyBlock: [UInt8] = [0, 0, 0, 0xFF, 0xFF]
}
