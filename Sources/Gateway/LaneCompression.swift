import Deflate
import HTTPWebSocket
import Wire

/// Compresses and decompresses the messages of one lane, for all of its connections. Nothing is kept for a connection:
/// what clients send refers to no earlier message, and what they are sent is shared (RFC 7692).
final class LaneCompression {
    /// For frames that are compressed by themselves.
    private let deflater: Deflater
    let inflater: Inflater
    /// For the compressed streams of rooms.
    let streams = DeflaterPool(countMax: 16, level: LaneCompression.streamLevel)
    let primers: Deflater

    /// Shorter payloads that are compressed by themselves go as they are: compressing them costs more than it saves.
    static let payloadBytesMin = 256
    /// A tenth smaller than the fastest, for a few microseconds a frame.
    private static let streamLevel: Int32 = 6

    /// A whole frame with its payload compressed by itself; nil where that gains nothing.
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
        guard let deflater = Deflater(), let inflater = Inflater(), let primers = Deflater(level: Self.streamLevel)
        else { return nil }
        self.deflater = deflater
        self.inflater = inflater
        self.primers = primers
    }
}
