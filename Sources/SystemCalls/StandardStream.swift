import Glibc

/// A stream that each process begins with.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of `text` now, past the buffers of C's streams.
    /// - Returns: the error number; 0: it was written. A pipe whose reader has gone says EPIPE.
    @discardableResult
    public func write(_ text: String) -> Int32 {
        var text = text
        return text.withUTF8 { bytes in
            var rest = UnsafeRawBufferPointer(bytes)
            while !rest.isEmpty {
                let count = Glibc.write(rawValue, rest.baseAddress, rest.count)
                if count < 0, errno == EINTR { continue }
                if count < 0, errno == EAGAIN {
                    // A terminal that another process has set so: wait until it takes more.
                    var ready = pollfd(fd: rawValue, events: Int16(POLLOUT), revents: 0)
                    _ = poll(&ready, 1, 1_000)
                    continue
                }
                guard count > 0 else { return count < 0 ? errno : EIO }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return 0
        }
    }
}
