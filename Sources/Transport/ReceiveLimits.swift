internal import Glibc

/// The amount that a connection tells its peer to send at a time; for clients that are slow on purpose.
public struct ReceiveLimits: Sendable, Hashable {
    /// At most about so many bytes that were not read. The system has its own least and may double it.
    public var bufferBytes: Int
    /// The largest segment of the peer. Loopback's own 64 KB let the peer's system keep megabytes of a connection; that of
    /// an Ethernet is what clients have.
    public var segmentBytes: Int

    public init(bufferBytes: Int, segmentBytes: Int) {
        self.bufferBytes = bufferBytes
        self.segmentBytes = segmentBytes
    }

    /// Sets them on a socket that is not connected yet: they are said to the peer while connecting. Returns 0 or a
    /// negative errno value.
    func apply(to descriptor: Int32) -> Int32 {
        let options = [(SOL_SOCKET, SO_RCVBUF, bufferBytes), (Int32(IPPROTO_TCP), TCP_MAXSEG, segmentBytes)]
        for (level, option, bytes) in options {
            var value = Int32(clamping: bytes)
            guard setsockopt(descriptor, level, option, &value, socklen_t(MemoryLayout<Int32>.size)) == 0 else {
                return -errno
            }
        }
        return 0
    }
}
