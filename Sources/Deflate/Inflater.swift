import CZlib

/// Reads compressed messages of permessage-deflate (RFC 7692 §7.2.2), each by itself, or with those before it in the
/// window. The inflated size is bounded, however small the message is. Keeps some 40 KB from message to message; for one
/// thread at a time.
public final class Inflater {
    /// Why a message can't be read.
    public enum Failure: Error, Sendable, Hashable {
        /// It is no DEFLATE, or ends in the middle.
        case corrupt
        /// It becomes more bytes than allowed.
        case tooBig
        /// Its first bytes are not what is wanted (``Inflater/inflate(_:bytesMax:ifWanted:)``).
        case unwanted
        /// It makes more work than it has bytes.
        case tooDear
    }

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    private static let tail: [UInt8] = [0, 0, 0xFF, 0xFF]
    private static let stepBytes = 16 * 1024

    /// Messages may refer to those before them. After a failure nothing more can be read then.
    private let keepsContext: Bool

    /// nil when there is no memory.
    /// - Parameter keepsContext: messages may refer to those before them ("context takeover").
    public init?(keepsContext: Bool = false) {
        self.keepsContext = keepsContext
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
        try inflate(payload, bytesMax: bytesMax, stepBytes: Self.stepBytes, flush: Z_SYNC_FLUSH) { _, _ in nil }
    }

    /// The same for somebody who is not known yet: no more is done than its first bytes are worth, and than messages
    /// cost that some compressor has made.
    ///
    /// Blocks are counted: each may bring two tables of codes and nothing that is coded by them, so 64 KB of such
    /// blocks would cost three milliseconds and become nothing.
    /// - Parameter isWanted: is asked once, with the first ``firstBytes`` of the message, or all of a shorter one.
    public func inflate(
        _ payload: UnsafeRawBufferPointer, bytesMax: Int, ifWanted isWanted: (UnsafeRawBufferPointer) -> Bool
    ) throws(Failure) -> [UInt8] {
        var (blocks, isAsked) = (0, false)
        func isRefused(_ message: [UInt8]) -> Bool {
            isAsked = true
            return !message.withUnsafeBytes { isWanted(UnsafeRawBufferPointer(rebasing: $0.prefix(Self.firstBytes))) }
        }
        let message = try inflate(payload, bytesMax: bytesMax, stepBytes: Self.firstBytes, flush: Z_BLOCK) {
            message, endsBlock in
            if endsBlock { blocks += 1 }
            guard blocks <= Self.blocksOfNothing + message.count / Self.blockBytesMin else { return .tooDear }
            return !isAsked && message.count >= Self.firstBytes && isRefused(message) ? .unwanted : nil
        }
        guard isAsked || !isRefused(message) else { throw .unwanted }
        return message
    }

    /// So many bytes show what a message is.
    public static let firstBytes = 1024
    /// The last block of a message may be short, and an empty one follows it.
    private static let blocksOfNothing = 8
    /// Compressors with the least memory begin a new block after 127 symbols, which mean no less than a byte each.
    private static let blockBytesMin = 120

    /// - Parameters:
    ///   - stepBytes: what is inflated at a time.
    ///   - flush: `Z_BLOCK` ends a step with a block.
    ///   - failure: is asked after each step, with all that there is of the message and whether a block has ended.
    private func inflate(
        _ payload: UnsafeRawBufferPointer, bytesMax: Int, stepBytes: Int, flush: Int32,
        unless failure: ([UInt8], Bool) -> Failure?
    ) throws(Failure) -> [UInt8] {
        guard keepsContext || inflateReset(stream) == Z_OK, payload.count < Int(UInt32.max) else { throw .corrupt }
        var message: [UInt8] = []
        func run(_ input: UnsafeRawBufferPointer) -> Failure? {
            stream.pointee.next_in = UnsafeMutablePointer(
                mutating: input.baseAddress?.assumingMemoryBound(to: UInt8.self))
            stream.pointee.avail_in = UInt32(truncatingIfNeeded: input.count)
            while true {
                let (status, produced) = step(min(stepBytes, bytesMax + 1 - message.count), flush, &message)
                if message.count > bytesMax { return .tooBig }
                let endsBlock = status == Z_STREAM_END || stream.pointee.data_type & Self.atBlockEnd != 0
                if let failure = failure(message, endsBlock) { return failure }
                switch status {
                case Z_STREAM_END:
                    // A block that says it is the last: another may follow (RFC 7692 §7.2.3.4).
                    guard inflateReset(stream) == Z_OK else { return .corrupt }
                    if stream.pointee.avail_in == 0 { return nil }
                case Z_OK, Z_BUF_ERROR:
                    if stream.pointee.avail_out == 0, produced > 0 { continue }
                    if stream.pointee.avail_in == 0 { return nil }
                    guard status == Z_OK, flush == Z_BLOCK, endsBlock else { return .corrupt }
                default: return .corrupt
                }
            }
        }
        if let failure = run(payload) ?? Self.tail.withUnsafeBytes({ run($0) }) { throw failure }
        // The end of a message is the end of a block: something else would still be waiting for bytes. And not of the last
        // one of a stream, which was to end before.
        guard stream.pointee.data_type & (Self.atBlockEnd | Self.inLastBlock) == Self.atBlockEnd else { throw .corrupt }
        return message
    }

    /// zlib's `data_type` after `inflate`: a block has ended, and no other has begun.
    private static let atBlockEnd: Int32 = 128
    /// The same: the block says that it is the last.
    private static let inLastBlock: Int32 = 64

    private func step(_ room: Int, _ flush: Int32, _ message: inout [UInt8]) -> (status: Int32, produced: Int) {
        var status = Z_OK
        let produced = [UInt8](unsafeUninitializedCapacity: room) { target, count in
            stream.pointee.next_out = target.baseAddress
            stream.pointee.avail_out = UInt32(truncatingIfNeeded: room)
            status = CZlib.inflate(stream, flush)
            count = room - Int(stream.pointee.avail_out)
        }
        message += produced
        return (status, produced.count)
    }
}
