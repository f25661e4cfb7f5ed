import ChatModel

/// Collects the head of an HTTP message, up to its empty line, from chunks of any size. Each byte is looked at once.
struct HTTPHeadBuffer: Sendable {
    static let firstLineBytesMax = 8 << 10
    /// With the empty line (contract, section 2).
    static let headBytesMax = Limits.handshakeBytes
    static let headersMax = 64

    enum Outcome {
        case needsMore
        /// The lines before the empty one, and how many bytes of the chunk come after it.
        case head([UInt8], rest: Int)
        /// The first line is longer than `firstLineBytesMax`.
        case firstLineTooLong
        /// The head is longer than `headBytesMax`.
        case tooLong
    }

    private var bytes: [UInt8] = []
    private var firstLineEnd: Int?

    mutating func take(_ chunk: UnsafeRawBufferPointer) -> Outcome {
        let before = bytes.count
        let taken = min(chunk.count, Self.headBytesMax - before)
        bytes.append(contentsOf: chunk[..<taken])
        var index = max(0, before - 3)
        while index < bytes.count {
            if bytes[index] == 0x0A, firstLineEnd == nil { firstLineEnd = index }
            if firstLineEnd == nil, index >= Self.firstLineBytesMax + 1 {
                bytes = []
                return .firstLineTooLong
            }
            if bytes[index] == 0x0D, bytes.count - index >= 4, bytes[index + 1] == 0x0A, bytes[index + 2] == 0x0D,
                bytes[index + 3] == 0x0A
            {
                let head = Array(bytes[..<(index + 2)])
                let rest = chunk.count - (index + 4 - before)
                bytes = []
                return .head(head, rest: rest)
            }
            index += 1
        }
        guard bytes.count < Self.headBytesMax else {
            bytes = []
            return .tooLong
        }
        return .needsMore
    }
}
