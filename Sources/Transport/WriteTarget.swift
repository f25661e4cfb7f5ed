internal import CUV

/// Where a broadcast writes: the libuv handle of a ``TCPConnection`` and, behind it, what forbids to write to it. Neither
/// counted nor checked, so that a write to one viewer touches nothing but this memory.
///
/// Valid for as long as its connection lives, and to be used on the connection's loop only; the owner of the list that
/// it stands in sees to both. A connection that closes or fails takes nothing.
public struct WriteTarget {
    /// Holds a `uv_tcp_t`, and one byte of flags behind it.
    let handle: UnsafeMutableRawPointer

    private static let held: UInt8 = 1
    private static let indirect: UInt8 = 2
    private static let flagsOffset = MemoryLayout<uv_tcp_t>.size

    static func allocate() -> WriteTarget {
        let target = WriteTarget(
            handle: .allocate(byteCount: flagsOffset + 1, alignment: MemoryLayout<uv_tcp_t>.alignment))
        target.flags = 0
        return target
    }

    func deallocate() { handle.deallocate() }

    private var flags: UInt8 {
        get { handle.load(fromByteOffset: Self.flagsOffset, as: UInt8.self) }
        nonmutating set { handle.storeBytes(of: newValue, toByteOffset: Self.flagsOffset, as: UInt8.self) }
    }

    /// Something waits at the owner of the connection.
    var isHeld: Bool {
        get { flags & Self.held != 0 }
        nonmutating set { flags = newValue ? flags | Self.held : flags & ~Self.held }
    }

    /// What is written has to be sealed first.
    var isIndirect: Bool {
        get { flags & Self.indirect != 0 }
        nonmutating set { flags = newValue ? flags | Self.indirect : flags & ~Self.indirect }
    }

    /// Offers the bytes to the system at once.
    ///
    /// - Returns: how many it took; 0 when its buffer is full, something waits already or the connection is held, closed,
    ///   failed or sealed. Then they are to be offered to the connection, which knows what to do.
    public func tryWrite(_ bytes: UnsafeRawBufferPointer) -> Int {
        guard flags == 0 else { return 0 }
        var buffer = uv_buf_t(
            base: UnsafeMutablePointer(mutating: bytes.baseAddress?.assumingMemoryBound(to: CChar.self)),
            len: bytes.count)
        // Answers EAGAIN while a uv_write is under way, which keeps the order.
        return max(0, Int(uv_try_write(handle.assumingMemoryBound(to: uv_stream_t.self), &buffer, 1)))
    }
}
