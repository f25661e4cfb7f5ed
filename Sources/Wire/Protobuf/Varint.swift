/// Base 128 numbers (Protocol Buffers encoding, "Base 128 Varints").
public enum Varint {
    /// Appends the shortest form.
    public static func append(_ value: UInt64, to bytes: inout [UInt8]) {
        var rest = value
        while rest >= 0x80 {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(truncatingIfNeeded: rest))
    }

    /// How many bytes `append` writes.
    static func count(_ value: UInt64) -> Int { value == 0 ? 1 : (70 - value.leadingZeroBitCount) / 7 }

    /// Reads the number at `position` and moves behind it. Returns nil at the end of the bytes and for a number of
    /// more than 64 bits.
    @inline(__always)
    public static func read(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> UInt64? {
        // Nearly all tags and lengths are one byte.
        guard position >= 0, position < bytes.count else { return nil }
        let byte = bytes[position]
        guard byte >= 0x80 else {
            position += 1
            return UInt64(byte)
        }
        return readLong(bytes, at: &position)
    }

    @inline(never)
    @usableFromInline
    static func readLong(_ bytes: UnsafeRawBufferPointer, at position: inout Int) -> UInt64? {
        // Tags and lengths of two bytes are the rest, nearly.
        if position >= 0, bytes.count - position >= 2, bytes[position] >= 0x80, bytes[position + 1] < 0x80 {
            defer { position += 2 }
            return UInt64(bytes[position] & 0x7F) | UInt64(bytes[position + 1]) << 7
        }
        var value: UInt64 = 0
        var shift: UInt64 = 0
        while position >= 0, position < bytes.count {
            let byte = bytes[position]
            position += 1
            if shift == 63, byte > 1 { return nil }
            value |= UInt64(byte & 0x7F) << shift
            if byte < 0x80 { return value }
            shift += 7
            if shift > 63 { return nil }
        }
        return nil
    }
}
