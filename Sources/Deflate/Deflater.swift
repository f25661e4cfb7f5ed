import CZlib

/// Compresses messages as permessage-deflate wants them (RFC 7692 §7.2.1), with a window of ``windowBytes``: each by
/// itself, so that one result serves everybody, or after what its reader has in the window already. Keeps some 40 KB
/// from message to message; for one thread at a time.
public final class Deflater {
    /// No result refers to more than so many bytes before (12 bits of permessage-deflate).
    public static let windowBytes = 4096

    private let stream = UnsafeMutablePointer<z_stream>.allocate(capacity: 1)
    /// The bytes that the next message may refer to if it is said to follow them: the first ``windowCount``.
    private let window = UnsafeMutableRawBufferPointer.allocate(byteCount: windowBytes, alignment: 16)
    /// nil when nothing is known of them.
    private var windowCount: Int?

    /// - Parameter level: 1 (fast) to 9 (small). nil when there is no memory.
    public init?(level: Int32 = 1) {
        stream.initialize(to: z_stream())
        guard chatroom_deflate_init(stream, level) == Z_OK else {
            stream.deallocate()
            window.deallocate()
            return nil
        }
    }

    deinit {
        deflateEnd(stream)
        stream.deallocate()
        window.deallocate()
    }

    /// The payload of a compressed message; nil when it would not be shorter than the message.
    public func deflate(_ message: UnsafeRawBufferPointer) -> [UInt8]? {
        windowCount = nil
        guard deflateReset(stream) == Z_OK else { return nil }
        return flush(message)
    }

    /// The payload of a message whose reader has read `before` just before it, in messages without anything else
    /// between them.
    ///
    /// It costs less if this deflater has compressed what `before` ends with.
    /// - Parameters:
    ///   - before: its last ``windowBytes`` count.
    ///   - isNeeded: whether it may be longer than the message. Else nil then.
    public func deflate(
        _ message: UnsafeRawBufferPointer, after before: UnsafeRawBufferPointer, isNeeded: Bool = false
    ) -> [UInt8]? {
        let before = UnsafeRawBufferPointer(rebasing: before.suffix(Self.windowBytes))
        guard follows(before) || load(before) else { return nil }
        // A message that is not sent is not in the reader's window.
        windowCount = nil
        guard let payload = flush(message, growingBy: isNeeded ? Self.growthMax(of: message.count) : 0) else {
            return nil
        }
        let last = UnsafeRawBufferPointer(rebasing: message.suffix(Self.windowBytes))
        let kept = UnsafeRawBufferPointer(rebasing: before.suffix(Self.windowBytes - last.count))
        window.copyMemory(from: kept)
        UnsafeMutableRawBufferPointer(rebasing: window[kept.count...]).copyMemory(from: last)
        windowCount = kept.count + last.count
        return payload
    }

    /// Whether the next message can follow those bytes as it is.
    ///
    /// - Parameter before: no more than the window.
    func follows(_ before: UnsafeRawBufferPointer) -> Bool {
        guard windowCount == before.count else { return false }
        guard let base = before.baseAddress, let own = window.baseAddress else { return true }
        return chatroom_are_equal(own, base, before.count) != 0
    }

    private func load(_ before: UnsafeRawBufferPointer) -> Bool {
        guard deflateReset(stream) == Z_OK else { return false }
        guard let base = before.baseAddress, !before.isEmpty else { return true }
        return deflateSetDictionary(stream, base.assumingMemoryBound(to: UInt8.self), UInt32(before.count)) == Z_OK
    }

    /// Blocks that are stored have a head of 5 bytes, and at least 2,048.
    private static func growthMax(of count: Int) -> Int { 64 + count / 256 }

    private func flush(_ message: UnsafeRawBufferPointer, growingBy growth: Int = 0) -> [UInt8]? {
        guard message.count > Self.tailCount, message.count < Int(UInt32.max) else { return nil }
        // A sync flush ends with 00 00 FF FF, which is not sent.
        var output = [UInt8](unsafeUninitializedCapacity: message.count + growth + Self.tailCount) { target, count in
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
        output.removeLast(Self.tailCount)
        return output
    }

    private static let tailCount = 4
}
