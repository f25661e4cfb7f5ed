import StorageTestKit
import Testing

@testable import SQLite

@Suite struct CRC32CTests {
    /// By tables, and by the processor where it has the instruction.
    private static let ways = CRC32C.hasInstruction ? [true, false] : [true]

    private func value(of bytes: some Sequence<[UInt8]>, usesTables: Bool) -> UInt32 {
        var checksum = CRC32C(usesTables: usesTables)
        for part in bytes { part.withUnsafeBytes { checksum.update($0) } }
        return checksum.value
    }

    /// RFC 3720, appendix B.4.
    @Test(arguments: ways) func `checksums are those of the RFC`(usesTables: Bool) {
        let ascending = Array(0..<32 as Range<UInt8>)
        #expect(value(of: [[UInt8](repeating: 0, count: 32)], usesTables: usesTables) == 0x8A91_36AA)
        #expect(value(of: [[UInt8](repeating: 0xFF, count: 32)], usesTables: usesTables) == 0x62A8_AB43)
        #expect(value(of: [ascending], usesTables: usesTables) == 0x46DD_794E)
        #expect(value(of: [ascending.reversed()], usesTables: usesTables) == 0x113F_DB5C)
        #expect(value(of: [[]], usesTables: usesTables) == 0)
    }

    @Test(arguments: SeededGenerator.seeds(20)) func `both ways agree, in whatever parts bytes come`(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let parts = (0..<Int.random(in: 0...6, using: &random)).map { _ in
            (0..<Int.random(in: 0...70, using: &random)).map { _ in UInt8.random(in: 0...255, using: &random) }
        }
        for way in Self.ways {
            #expect(value(of: parts, usesTables: way) == value(of: [parts.flatMap(\.self)], usesTables: true))
            let word = UInt64.random(in: 0...UInt64.max, using: &random)
            var checksum = CRC32C(usesTables: way)
            checksum.update(word)
            let bytes = withUnsafeBytes(of: word.littleEndian) { Array($0) }
            #expect(checksum.value == value(of: [bytes], usesTables: true))
        }
    }
}
