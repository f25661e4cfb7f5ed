/// The header `Range` (RFC 9110 §14.2), of one range of bytes; several are answered as if there were none.
public enum ByteRange: Sendable, Hashable {
    /// All of it: there is no range, or none that is understood.
    case all
    /// From the first to behind the last byte.
    case part(Range<Int64>)
    /// Nothing of the content is in it: 416.
    case outside

    public init(_ header: String?, size: Int64) {
        guard let header, header.utf8.count <= 64, header.hasPrefix("bytes=") else {
            self = .all
            return
        }
        let parts = header.dropFirst(6).split(separator: "-", maxSplits: 1, omittingEmptySubsequences: false)
        guard parts.count == 2 else {
            self = .all
            return
        }
        let (first, last) = (Self.number(parts[0]), Self.number(parts[1]))
        switch (first, last) {
        case (.some(let first), .some(let last)) where first <= last:
            self = first < size ? .part(first..<min(last + 1, size)) : .outside
        case (.some(let first), nil) where parts[1].isEmpty:
            self = first < size ? .part(first..<size) : .outside
        case (nil, .some(let count)) where parts[0].isEmpty:
            self = count > 0 && size > 0 ? .part(max(0, size - count)..<size) : .outside
        default: self = .all
        }
    }

    /// At most 18 digits.
    private static func number(_ text: Substring) -> Int64? {
        guard (1...18).contains(text.utf8.count), text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int64(text)
    }
}
