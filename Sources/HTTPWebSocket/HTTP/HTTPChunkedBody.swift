/// Reads a chunked body (RFC 9112 §7.1), strictly: CR LF and nothing else ends a line, a size is nothing but hexadecimal
/// digits. Extensions and trailers are skipped within bounds.
struct HTTPChunkedBody: Sendable {
    /// Hexadecimal digits of a size.
    static let sizeDigitsMax = 15
    /// Bytes of the extensions of one chunk.
    static let extensionBytesMax = 256
    /// Bytes of all trailers.
    static let trailerBytesMax = 8 << 10

    enum Event: Equatable {
        /// These bytes are content.
        case content(Range<Int>)
        case end
        case broken
    }

    private enum State {
        case size(Int, digits: Int)
        case extensions(Int, bytes: Int)
        case sizeEnd(Int)
        case content(Int)
        case contentEnd
        case contentEndLine
        case trailer(isEmpty: Bool)
        case trailerEnd(isEmpty: Bool)
    }

    private var state = State.size(0, digits: 0)
    private var trailerBytes = 0

    /// Reads on from `position`. `nil`: all bytes are read, and there is more to come.
    mutating func next(_ bytes: UnsafeRawBufferPointer, from position: inout Int) -> Event? {
        while position < bytes.count {
            if case .content(let left) = state {
                let count = min(left, bytes.count - position)
                let range = position..<position + count
                position += count
                state = count == left ? .contentEnd : .content(left - count)
                return .content(range)
            }
            let byte = bytes[position]
            position += 1
            switch state {
            case .content: break
            case .size(let size, let digits): guard readSize(byte, size, digits) else { return .broken }
            case .extensions(let size, let count):
                if byte == 0x0D {
                    state = .sizeEnd(size)
                } else {
                    guard count < Self.extensionBytesMax, isText(byte) else { return .broken }
                    state = .extensions(size, bytes: count + 1)
                }
            case .sizeEnd(let size):
                guard byte == 0x0A else { return .broken }
                state = size == 0 ? .trailer(isEmpty: true) : .content(size)
            case .contentEnd:
                guard byte == 0x0D else { return .broken }
                state = .contentEndLine
            case .contentEndLine:
                guard byte == 0x0A else { return .broken }
                state = .size(0, digits: 0)
            case .trailer(let isEmpty):
                if byte == 0x0D {
                    state = .trailerEnd(isEmpty: isEmpty)
                } else {
                    trailerBytes += 1
                    guard trailerBytes <= Self.trailerBytesMax, isText(byte) else { return .broken }
                    state = .trailer(isEmpty: false)
                }
            case .trailerEnd(let isEmpty):
                guard byte == 0x0A else { return .broken }
                if isEmpty { return .end }
                state = .trailer(isEmpty: true)
            }
        }
        return nil
    }

    private mutating func readSize(_ byte: UInt8, _ size: Int, _ digits: Int) -> Bool {
        switch byte {
        case 0x0D where digits > 0: state = .sizeEnd(size)
        case UInt8(ascii: ";") where digits > 0: state = .extensions(size, bytes: 0)
        default:
            guard digits < Self.sizeDigitsMax, let digit = Self.digit(byte) else { return false }
            state = .size(size << 4 | digit, digits: digits + 1)
        }
        return true
    }

    private static func digit(_ byte: UInt8) -> Int? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): Int(byte) - 0x30
        case UInt8(ascii: "a")...UInt8(ascii: "f"): Int(byte) - 0x57
        case UInt8(ascii: "A")...UInt8(ascii: "F"): Int(byte) - 0x37
        default: nil
        }
    }

    private func isText(_ byte: UInt8) -> Bool { byte == 0x09 || byte >= 0x20 && byte != 0x7F }
}
