import CShims

/// The CRC of RFC 3720, appendix B.4 (Castagnoli), eight bytes at a time: by the processor's instruction where it has one, by
/// tables elsewhere.
public struct CRC32C {
    private var remainder: UInt32 = 0xFFFF_FFFF
    private let usesTables: Bool

    static let hasInstruction = chatroom_has_crc32c() != 0

    public init() { self.init(usesTables: !Self.hasInstruction) }

    /// - Parameter usesTables: for tests: false only where the processor has the instruction.
    init(usesTables: Bool) { self.usesTables = usesTables }

    public var value: UInt32 { ~remainder }

    /// `tables[256 * k + b]`: byte `b` followed by `k` zero bytes. Made once, never freed.
    nonisolated(unsafe) private static let tables: UnsafePointer<UInt32> = {
        let tables = UnsafeMutablePointer<UInt32>.allocate(capacity: 8 * 256)
        for byte in 0..<256 {
            var remainder = UInt32(byte)
            for _ in 0..<8 {
                remainder = remainder & 1 == 1 ? (remainder >> 1) ^ 0x82F6_3B78 : remainder >> 1
            }
            tables[byte] = remainder
        }
        for index in 256..<(8 * 256) {
            let previous = tables[index - 256]
            tables[index] = tables[Int(previous & 0xFF)] ^ (previous >> 8)
        }
        return UnsafePointer(tables)
    }()

    public mutating func update(_ value: UInt64) {
        guard usesTables else {
            withUnsafeBytes(of: value.littleEndian) {
                remainder = chatroom_crc32c(remainder, $0.baseAddress, 8)
            }
            return
        }
        let tables = Self.tables
        let low = UInt32(truncatingIfNeeded: value) ^ remainder
        let high = UInt32(truncatingIfNeeded: value >> 32)
        var next = tables[1792 + Int(low & 0xFF)] ^ tables[1536 + Int((low >> 8) & 0xFF)]
        next ^= tables[1280 + Int((low >> 16) & 0xFF)] ^ tables[1024 + Int(low >> 24)]
        next ^= tables[768 + Int(high & 0xFF)] ^ tables[512 + Int((high >> 8) & 0xFF)]
        next ^= tables[256 + Int((high >> 16) & 0xFF)] ^ tables[Int(high >> 24)]
        remainder = next
    }

    public mutating func update(_ bytes: UnsafeRawBufferPointer) {
        guard usesTables else {
            remainder = chatroom_crc32c(remainder, bytes.baseAddress, bytes.count)
            return
        }
        let tables = Self.tables
        var offset = 0
        while offset + 8 <= bytes.count {
            update(UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        while offset < bytes.count {
            remainder = tables[Int((remainder ^ UInt32(bytes[offset])) & 0xFF)] ^ (remainder >> 8)
            offset += 1
        }
    }

    /// The checksum of bytes alone.
    public static func of(_ bytes: [UInt8]) -> UInt32 {
        var checksum = CRC32C()
        bytes.withUnsafeBytes { checksum.update($0) }
        return checksum.value
    }

    /// The checksum of an entry's row.
    public static func ofEntry(
        group: UInt16, index: UInt64, term: UInt64, kind: UInt8, payload: UnsafeRawBufferPointer
    ) -> UInt32 {
        var checksum = CRC32C()
        checksum.update(UInt64(group) << 8 | UInt64(kind))
        checksum.update(index)
        checksum.update(term)
        checksum.update(payload)
        return checksum.value
    }
}
