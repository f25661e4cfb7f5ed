import CZlib

/// Compresses messages as permessage-deflate wants them (RFC 7692 §7.2.1), each by itself, so that one result serves
/// everybody. Keeps 256 KB from message to message; for one thread at a time.
public final class Deflater {
    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)

    /// - Parameter level: 1 (fast) to 9 (small). nil when there is no memory.
    public init?(level: Int32 = 1) {
        stream.initialize(to: z_stream())
        guard chatroom_deflate_init(stream, level) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
    }

    /// The payload of a compressed message; nil when it would not be shorter than the message.
    public func deflate(_ message: UnsafeRawBufferPointer) -> [UInt8]? {
        guard message.count > Self.tailCount, message.count < Int(UInt32.max), deflateReset(stream) == Z_OK else {
            return nil
        }
        // A sync flush ends with 00 00 FF FF, which is not sent.
        let output = [UInt8](unsafeUninitializedCapacity: message.count + Self.tailCount) { target, count in
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: message.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(truncatingIfNeeded: message.count)
            stream.pointee.next_out = target.baseAddress
            stream.pointee.avail_out = UInt32(truncatingIfNeeded: target.count)
            let status = CZlib.deflate(stream, Z_SYNC_FLUSH)
            // A flush that has filled the output may not have ended.
            let isWhole = status == Z_OK && stream.pointee.avail_in == 0 && stream.pointee.avail_out > 0
            count = isWhole ? target.count - Int(stream.pointee.avail_out) : 0
        }
        guard output.count > Self.tailCount else { return nil }
        return Array(output.dropLast(Self.tailCount))
    }

    private static let tailCount = 4
}
