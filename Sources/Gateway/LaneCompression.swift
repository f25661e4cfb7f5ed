import Deflate
import HTTPWebSocket
import Wire

/// Compresses and decompresses the messages of one lane, for all of its connections: no message refers to an earlier
/// one (RFC 7692 without context takeover), so nothing is kept for a connection.
final class LaneCompression {
    let deflater: Deflater
    let inflater: Inflater

    /// Shorter payloads go as they are: compressing them costs more than it saves.
    static let payloadBytesMin = 256

    /// A whole frame with its payload compressed; nil where that gains nothing.
    func compressed(_ frame: [UInt8]) -> [UInt8]? {
        let head = WebSocketFrameEncoder.headerCount(of: frame)
        guard frame.count - head >= Self.payloadBytesMin, let opcode = WebSocketOpcode(rawValue: frame[0] & 0x0F),
            let payload = frame.withUnsafeBytes({
                deflater.deflate(UnsafeRawBufferPointer(rebasing: $0[head...]))
            })
        else { return nil }
        return WebSocketFrameEncoder.compressedFrame(opcode, payload)
    }

    /// nil when there is no memory for it.
    init?() {
        guard let deflater = Deflater(), let inflater = Inflater() else { return nil }
        self.deflater = deflater
        self.inflater = inflater
    }
}
