/// Masking (RFC 6455 §5.3): XOR with four bytes over and over; masking and unmasking are the same.
enum WebSocketMask {
    /// - Parameter key: the four bytes as they stand in the frame.
    static func apply(_ key: UInt32, to bytes: UnsafeMutableRawBufferPointer) {
        let wide = UInt64(key) << 32 | UInt64(key)
        var position = 0
        while bytes.count - position >= 8 {
            let word = bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self)
            bytes.storeBytes(of: word ^ wide, toByteOffset: position, as: UInt64.self)
            position += 8
        }
        withUnsafeBytes(of: key) { key in
            while position < bytes.count {
                bytes[position] ^= key[position & 3]
                position += 1
            }
        }
    }
}
