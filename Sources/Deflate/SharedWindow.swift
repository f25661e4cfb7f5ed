/// The window of a compressed stream that many readers follow from different points on (RFC 7692, with context takeover
/// on the side that writes): each message is compressed once, and the result serves everybody whose window ends with the
/// same bytes. A reader that has others reads the ``primer(by:)`` first.
///
/// A message is lines, separated by a line feed; the last lines of a message are a message, too. So the primer is what
/// was in the stream before, and nothing else.
public struct SharedWindow: Sendable {
    /// The messages that the stream may refer to, the oldest cut to its last lines: together ``Deflater/windowBytes`` or
    /// more, if there were so many.
    private var bytes: [UInt8] = []
    /// The place of the first byte of each.
    private var starts: [Int] = []

    /// The last lines of a message that are in the window have at most so many bytes: longer ones stay out of the
    /// stream, and the primer stays short.
    public static let tailBytesMax = 4 * Deflater.windowBytes

    public init() {}

    /// Whether readers need no primer, because the stream refers to nothing.
    public var isEmpty: Bool { starts.isEmpty }

    /// The bytes that the window keeps.
    public var byteCount: Int { bytes.count }

    /// Puts a message into the stream.
    /// - Returns: its payload; nil when the message is not in the stream, because it would not be shorter, or its lines
    ///   are too long.
    public mutating func append(_ message: UnsafeRawBufferPointer, by deflaters: DeflaterPool) -> [UInt8]? {
        let tail = Self.tail(of: message)
        guard tail.count <= Self.tailBytesMax,
            let payload = bytes.withUnsafeBytes({ deflaters.deflate(message, after: $0) })
        else { return nil }
        starts.append(bytes.count)
        tail.withMemoryRebound(to: UInt8.self) { bytes.append(contentsOf: $0) }
        // The oldest that the others make needless.
        let needless = starts.dropFirst().prefix { bytes.count - $0 >= Deflater.windowBytes }
        if let first = needless.last {
            bytes.removeFirst(first)
            starts.removeFirst(needless.count)
            for index in starts.indices { starts[index] -= first }
        }
        return payload
    }

    /// The payloads of messages after which a reader can follow the stream, whatever it has read before; nil when there
    /// is no memory.
    public func primer(by deflater: Deflater) -> [[UInt8]]? {
        var payloads: [[UInt8]] = []
        payloads.reserveCapacity(starts.count)
        let isWhole = bytes.withUnsafeBytes { bytes in
            for (index, start) in starts.enumerated() {
                let end = index + 1 < starts.count ? starts[index + 1] : bytes.count
                let message = UnsafeRawBufferPointer(rebasing: bytes[start..<end])
                let before = UnsafeRawBufferPointer(rebasing: bytes[..<start])
                guard let payload = deflater.deflate(message, after: before, isNeeded: true) else { return false }
                payloads.append(payload)
            }
            return true
        }
        return isWhole ? payloads : nil
    }

    /// Forgets what was in the stream. Everybody can follow it from here on: what comes refers to nothing before.
    public mutating func removeAll() {
        bytes = []
        starts = []
    }

    /// The last lines that fill the window.
    private static func tail(of message: UnsafeRawBufferPointer) -> UnsafeRawBufferPointer {
        guard message.count > Deflater.windowBytes else { return message }
        let feed = message[...(message.count - Deflater.windowBytes - 1)].lastIndex(of: UInt8(ascii: "\n"))
        return feed.map { UnsafeRawBufferPointer(rebasing: message[($0 + 1)...]) } ?? message
    }
}
