import CZlib

/// Reads compressed messages of permessage-deflate (RFC 7692 §7.2.2), each by itself. What a message becomes is bounded,
/// however small it comes. Keeps some 40 KB from message to message; for one thread at a time.
public final class Inflater {
    /// Why a message can't be read.
    public enum Failure: Error, Sendable, Hashable {
        /// It is no DEFLATE, or ends in the middle.
        case corrupt
        /// It becomes more bytes than allowed.
        case tooBig
    }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
    private static let stepBytes = 16 * 1024

    /// nil when there is no memory.
    public init?() {
        stream.initialize(to: z_stream())
        guard chatroom_inflate_init(stream) == Z_OK else {
            stream.deallocate()
            return nil
        }
    }

    deinit {
        inflateEnd(stream)
        stream.deallocate()
    }

    /// The message that a compressed payload means.
    /// - Parameter bytesMax: of the message; one more is `tooBig`.
    public func inflate(_ payload: UnsafeRawBufferPointer, bytesMax: Int) throws(Failure) -> [UInt8] {
        guard inflateReset(stream) == Z_OK, payload.count < Int(UInt32.max) else { throw .corrupt }
        var message: [UInt8] = []
        var failure = run(payload, bytesMax, &message)
        if failure == nil { failure = Self.tail.withUnsafeBytes { run($0, bytesMax, &message) } }
        if let failure { throw failure }
        // The end of a message is the end of a block: something else would still be waiting for bytes.
        guard stream.pointee.data_type & Self.atBlockEnd != 0 else { throw .corrupt }
        return message
    }

    /// zlib's `data_type` after `inflate`: the last block has ended.
    private static let atBlockEnd: Int32 = 128

    private func run(_ input: UnsafeRawBufferPointer, _ bytesMax: Int, _ message: inout [UInt8]) -> Failure? {
        stream.pointee.next_in = UnsafeMutablePointer(mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
        stream.pointee.avail_in = UInt32(truncatingIfNeeded: input.count)
        while true {
            var status = Z_OK
            // One byte more than allowed, to see that it is more.
            let room = min(Self.stepBytes, bytesMax + 1 - message.count)
            let produced = [UInt8](unsafeUninitializedCapacity: room) { target, count in
                stream.pointee.next_out = target.baseAddress
                stream.pointee.avail_out = UInt32(truncatingIfNeeded: room)
                status = CZlib.inflate(stream, Z_SYNC_FLUSH)
                count = room - Int(stream.pointee.avail_out)
            }
            message += produced
            if message.count > bytesMax { return .tooBig }
            switch status {
            case Z_STREAM_END:
                // A block that says it is the last: another may follow (RFC 7692 §7.2.3.4).
                guard inflateReset(stream) == Z_OK else { return .corrupt }
                if stream.pointee.avail_in == 0 { return nil }
            case Z_OK, Z_BUF_ERROR:
                if stream.pointee.avail_out > 0 {
                    return stream.pointee.avail_in == 0 ? nil : .corrupt
                }
                if produced.isEmpty { return .corrupt }
            default: return .corrupt
            }
        }
    }
}
