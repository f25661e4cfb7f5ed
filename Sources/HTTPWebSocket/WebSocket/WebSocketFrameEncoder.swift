/// Writes frames (RFC 6455 §5.2), each a whole message: this side never fragments.
public enum WebSocketFrameEncoder {
    /// The longest head: 2 bytes, a length of 8, a mask of 4.
    public static let headerCountMax = 14

    /// Appends the head of an unfragmented frame, after which `payloadCount` bytes must follow; masked with `mask` if
    /// there is one.
    /// - Parameter mask: for clients, four bytes that the peer cannot foresee, as they shall stand in the frame.
    public static func appendHeader(
        _ opcode: WebSocketOpcode, payloadCount: Int, mask: [UInt8]? = nil, to bytes: inout [UInt8]
    ) {
        let maskBit: UInt8 = mask == nil ? 0 : 0x80
        bytes.append(0x80 | opcode.rawValue)
        switch payloadCount {
        case ...125: bytes.append(maskBit | UInt8(truncatingIfNeeded: payloadCount))
        case ...0xFFFF:
            bytes.append(maskBit | 126)
            withUnsafeBytes(of: UInt16(truncatingIfNeeded: payloadCount).bigEndian) { bytes.append(contentsOf: $0) }
        default:
            bytes.append(maskBit | 127)
            withUnsafeBytes(of: UInt64(payloadCount).bigEndian) { bytes.append(contentsOf: $0) }
        }
        if let mask { bytes.append(contentsOf: fourBytes(mask)) }
    }

    /// A whole frame of a compressed message (RFC 7692 §6): unmasked.
    public static func compressedFrame(_ opcode: WebSocketOpcode, _ payload: [UInt8]) -> [UInt8] {
        var bytes = frame(opcode, payload)
        bytes[0] |= 0x40
        return bytes
    }

    /// How long the head of an unmasked frame of this side is.
    public static func headerCount(of frame: [UInt8]) -> Int {
        guard frame.count > 1 else { return frame.count }
        return switch frame[1] {
        case ...125: 2
        case 126: 4
        default: 10
        }
    }

    /// Bytes that a payload is appended to, up to so many without moving, and which ``finish(_:_:)`` makes a frame.
    public static func begin(capacity: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(mediumHeaderCount + capacity)
        for _ in 0..<mediumHeaderCount { bytes.append(0) }
        return bytes
    }

    /// How many bytes ``begin(capacity:)`` leaves for the head: as most frames need, which then stay where they are.
    public static let mediumHeaderCount = 4

    /// Writes the head of an unmasked frame before the payload behind ``begin(capacity:)``.
    public static func finish(_ opcode: WebSocketOpcode, _ bytes: inout [UInt8]) {
        let payloadCount = bytes.count - mediumHeaderCount
        guard payloadCount > 125, payloadCount <= 0xFFFF else {
            return bytes = bytes.withUnsafeBytes {
                frame(opcode, UnsafeRawBufferPointer(rebasing: $0.dropFirst(mediumHeaderCount)))
            }
        }
        bytes[0] = 0x80 | opcode.rawValue
        bytes[1] = 126
        bytes[2] = UInt8(payloadCount >> 8)
        bytes[3] = UInt8(truncatingIfNeeded: payloadCount)
    }

    /// Appends a whole frame.
    public static func append(
        _ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, mask: [UInt8]? = nil, to bytes: inout [UInt8]
    ) {
        bytes.reserveCapacity(bytes.count + headerCountMax + payload.count)
        appendHeader(opcode, payloadCount: payload.count, mask: mask, to: &bytes)
        let start = bytes.count
        bytes.append(contentsOf: payload)
        guard let mask else { return }
        let key = fourBytes(mask).withUnsafeBytes { $0.loadUnaligned(as: UInt32.self) }
        bytes.withUnsafeMutableBytes {
            WebSocketMask.apply(key, to: UnsafeMutableRawBufferPointer(rebasing: $0[start...]))
        }
    }

    /// A whole frame.
    public static func frame(_ opcode: WebSocketOpcode, _ payload: UnsafeRawBufferPointer, mask: [UInt8]? = nil)
        -> [UInt8]
    {
        var bytes: [UInt8] = []
        append(opcode, payload, mask: mask, to: &bytes)
        return bytes
    }

    /// A whole frame.
    public static func frame(_ opcode: WebSocketOpcode, _ payload: [UInt8], mask: [UInt8]? = nil) -> [UInt8] {
        payload.withUnsafeBytes { frame(opcode, $0, mask: mask) }
    }

    /// A close frame. A reason over 123 bytes is cut between characters, since it is only for people.
    public static func close(code: UInt16, reason: String, mask: [UInt8]? = nil) -> [UInt8] {
        var payload = [UInt8(truncatingIfNeeded: code >> 8), UInt8(truncatingIfNeeded: code)]
        for character in reason {
            guard payload.count + character.utf8.count <= 125 else { break }
            payload.append(contentsOf: character.utf8)
        }
        return frame(.close, payload, mask: mask)
    }

    /// A mask of another size is a programmer's mistake that must not reach the wire: missing bytes are 0.
    private static func fourBytes(_ mask: [UInt8]) -> [UInt8] {
        assert(mask.count == 4, "a mask has four bytes")
        return Array((mask + [0, 0, 0, 0]).prefix(4))
    }
}
