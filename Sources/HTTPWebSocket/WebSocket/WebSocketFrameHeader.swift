/// The head of a frame (RFC 6455 §5.2).
struct WebSocketFrameHeader {
    var isFinal: Bool
    /// RSV1 of the first frame of a message (RFC 7692 §6).
    var isCompressed: Bool
    var opcode: WebSocketOpcode
    /// The four masking bytes as they came.
    var mask: UInt32?
    /// The bytes that the head takes.
    var headerCount: Int
    var payloadCount: Int

    /// Reads the head at the front of `bytes`; nil when more bytes are needed. Whatever can be refused is refused as
    /// soon as its byte is there.
    /// - Parameters:
    ///   - payloadMax: the longest payload accepted; more is 1009.
    ///   - mayBeCompressed: permessage-deflate was negotiated.
    static func parse(
        _ bytes: UnsafeRawBufferPointer, role: WebSocketRole, payloadMax: Int, mayBeCompressed: Bool
    ) throws(WebSocketFailure) -> WebSocketFrameHeader? {
        guard bytes.count > 0 else { return nil }
        let first = bytes[0]
        guard first & 0x30 == 0, mayBeCompressed || first & 0x40 == 0 else {
            throw .protocolError("reserved bits are set")
        }
        guard let opcode = WebSocketOpcode(rawValue: first & 0x0F) else { throw .protocolError("reserved opcode") }
        let isCompressed = first & 0x40 != 0
        guard !isCompressed || opcode == .text || opcode == .binary else {
            throw .protocolError("RSV1 where no message begins")
        }
        let isFinal = first & 0x80 != 0
        guard isFinal || !opcode.isControl else { throw .protocolError("fragmented control frame") }

        guard bytes.count > 1 else { return nil }
        let second = bytes[1]
        let isMasked = second & 0x80 != 0
        guard isMasked == (role == .server) else {
            throw .protocolError(isMasked ? "masked frame from a server" : "unmasked frame from a client")
        }
        let short = Int(second & 0x7F)
        guard short <= 125 || !opcode.isControl else { throw .protocolError("control frame over 125 bytes") }

        let lengthCount = short == 126 ? 2 : short == 127 ? 8 : 0
        let headerCount = 2 + lengthCount + (isMasked ? 4 : 0)
        guard bytes.count >= 2 + lengthCount else { return nil }
        var length = UInt64(short)
        if lengthCount > 0 {
            length = bytes[2..<2 + lengthCount].reduce(0) { $0 << 8 | UInt64($1) }
            guard length < 1 << 63 else { throw .protocolError("length over 63 bits") }
            guard length > (lengthCount == 2 ? 125 : 0xFFFF) else { throw .protocolError("length not minimal") }
        }
        guard length <= UInt64(max(0, payloadMax)) || opcode.isControl else {
            throw WebSocketFailure(closeCode: 1009, message: "message too big")
        }
        guard bytes.count >= headerCount else { return nil }
        return WebSocketFrameHeader(
            isFinal: isFinal, isCompressed: isCompressed, opcode: opcode,
            mask: isMasked ? bytes.loadUnaligned(fromByteOffset: 2 + lengthCount, as: UInt32.self) : nil,
            headerCount: headerCount, payloadCount: Int(truncatingIfNeeded: length))
    }
}
