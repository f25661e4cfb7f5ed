import Glibc

/// The lines of a file or of standard input, one in memory at a time.
package struct LineReader {
    /// Longer than anything that the server takes.
    package static let lineBytesMax = 1 << 20
    private static let pieceBytes = 64 << 10

    private let descriptor: Int32
    private let ownsDescriptor: Bool
    private var buffer: [UInt8] = []
    /// The beginning of the next line.
    private var start = 0
    /// No line ends before it.
    private var searched = 0
    private var isAtEnd = false
    /// The number of the line that was returned last; lines count from 1.
    package private(set) var number = 0

    /// - Parameter path: `-` is standard input.
    package init(_ path: String) throws(CommandFailure) {
        ownsDescriptor = path != "-"
        descriptor = ownsDescriptor ? open(path, O_RDONLY | O_CLOEXEC) : STDIN_FILENO
        guard descriptor >= 0 else {
            throw CommandFailure(.usage, "\(path) can't be read: \(String(cString: strerror(errno)))")
        }
    }

    package func close() { if ownsDescriptor { _ = Glibc.close(descriptor) } }

    /// The next line without its end; nil behind the last.
    package mutating func next() throws(CommandFailure) -> [UInt8]? {
        while true {
            if let end = buffer[searched...].firstIndex(of: UInt8(ascii: "\n")) { return take(to: end, from: end + 1) }
            searched = buffer.count
            guard buffer.count - start <= Self.lineBytesMax else {
                throw CommandFailure(.usage, "line \(number + 1) has more than \(Self.lineBytesMax) bytes")
            }
            if isAtEnd { return start < buffer.count ? take(to: buffer.count, from: buffer.count) : nil }
            try fill()
        }
    }

    private mutating func take(to end: Int, from next: Int) -> [UInt8] {
        defer { (start, searched) = (next, next) }
        number += 1
        return Array(buffer[start..<end])
    }

    private mutating func fill() throws(CommandFailure) {
        buffer.removeFirst(start)
        (start, searched) = (0, searched - start)
        var failure: Int32 = 0
        let piece = [UInt8](unsafeUninitializedCapacity: Self.pieceBytes) { bytes, count in
            repeat {
                count = max(-1, read(descriptor, bytes.baseAddress, bytes.count))
            } while count < 0 && errno == EINTR
            isAtEnd = count <= 0
            failure = count < 0 ? errno : 0
            count = max(0, count)
        }
        guard failure == 0 else {
            throw CommandFailure(.usage, "the lines can't be read: \(String(cString: strerror(failure)))")
        }
        buffer += piece
    }
}
