/// FNV-1a with 64 bits (draft-eastlake-fnv), eight bytes at a time.
package enum Checksum {
    /// The checksum of no bytes.
    package static let start: UInt64 = 0xcbf2_9ce4_8422_2325

    /// The checksum of the bytes behind those of which `start` is the checksum.
    package static func of(_ bytes: [UInt8], after start: UInt64 = start) -> UInt64 {
        bytes.withUnsafeBytes { bytes in
            var hash = start
            var position = 0
            while position + 8 <= bytes.count {
                let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
                hash = (hash ^ word) &* 0x100_0000_01b3
                position += 8
            }
            while position < bytes.count {
                hash = (hash ^ UInt64(bytes[position])) &* 0x100_0000_01b3
                position += 1
            }
            return hash
        }
    }
}
