import Glibc

/// A stream that each process begins with.
public enum StandardStream: Int32, Sendable {
    case output = 1
    case error = 2

    /// Writes all of `text` now, past the buffers of C's streams.
    /// - Returns: whether it could be written: a pipe whose reader has gone takes nothing.
    @discardableResult
    public func write(_ text: String) -> Bool {
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
                guard count > 0 else { return false }
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
            return true
        }
    }
}
