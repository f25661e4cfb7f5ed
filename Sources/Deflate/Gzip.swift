import CZlib

/// The gzip format (RFC 1952), for content that is compressed once and sent often.
public enum Gzip {
    /// The content as a gzip file; nil when there is no memory, or when it would not be shorter.
    public static func compressed(_ content: [UInt8]) -> [UInt8]? {
        var stream = z_stream()
        guard content.count < Int(UInt32.max), chatroom_gzip_init(&stream) == Z_OK else { return nil }
        defer { deflateEnd(&stream) }
        var content = content
        let output = content.withUnsafeMutableBufferPointer { source in
            [UInt8](unsafeUninitializedCapacity: source.count) { target, count in
                stream.next_in = source.baseAddress
                stream.avail_in = UInt32(source.count)
                stream.next_out = target.baseAddress
                stream.avail_out = UInt32(target.count)
                let isWhole = deflate(&stream, Z_FINISH) == Z_STREAM_END
                count = isWhole ? target.count - Int(stream.avail_out) : 0
            }
        }
        return output.isEmpty ? nil : output
    }
}
