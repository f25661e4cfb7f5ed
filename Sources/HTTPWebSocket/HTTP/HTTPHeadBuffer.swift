/// Collects the head of an HTTP message, up to its empty line, from chunks of any size. Each byte is looked at once.
struct HTTPHeadBuffer: Sendable {
    enum Outcome {
        case needsMore
        /// The lines before the empty one, and how many bytes of the chunk come after it.
        case head([UInt8], rest: Int)
        /// The first line is longer than its limit.
        case firstLineTooLong
        /// The head is longer than its limit.
        case tooLong
    }

    let limits: HTTPHeadLimits
    private var bytes: [UInt8] = []
    private var firstLineEnd: Int?

    init(limits: HTTPHeadLimits = .handshake) { self.limits = limits }

    mutating func take(_ chunk: UnsafeRawBufferPointer) -> Outcome {
        let before = bytes.count
        let taken = min(chunk.count, limits.headBytes - before)
        bytes.append(contentsOf: chunk[..<taken])
        var index = max(0, before - 3)
        while index < bytes.count {
            if bytes[index] == 0x0A, firstLineEnd == nil { firstLineEnd = index }
            if firstLineEnd == nil, index >= limits.firstLineBytes + 1 {
                bytes = []
                return .firstLineTooLong
            }
            if bytes[index] == 0x0D, bytes.count - index >= 4, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D,
                bytes[index + 3] == 0x0A
            {
                let head = Array(bytes[..<(index + 2)])
                let rest = chunk.count - (index + 4 - before)
                bytes = []
                firstLineEnd = nil
                return .head(head, rest: rest)
            }
            index += 1
        }
        guard bytes.count < limits.headBytes else {
            bytes = []
            return .tooLong
        }
        return .needsMore
    }
}
