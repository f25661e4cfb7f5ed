/// The parts of HTTP/1.1 messages (RFC 9110 §5.6, RFC 9112).
enum HTTPSyntax {
    /// Token characters of RFC 9110 §5.6.2.
    static func isToken(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
        }
    }

    /// Without spaces and tabs around it.
    static func trimmed(_ bytes: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        var rest = bytes
        while let first = rest.first, isSpace(first) { rest = rest.dropFirst() }
        while let last = rest.last, isSpace(last) { rest = rest.dropLast() }
        return rest
    }

    private static func isSpace(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 }

    /// The members of a list in a header's value (RFC 9110 §5.6.1), without the empty ones.
    static func list(_ value: String, separator: UInt8 = UInt8(ascii: ",")) -> [String] {
        Array(value.utf8).split(separator: separator).map { trimmed($0) }.filter { !$0.isEmpty }
            .map { String(decoding: $0, as: UTF8.self) }
    }

    enum HeaderLine {
        case header(HTTPHeader)
        /// Right, and of no interest to the reader: of its value only the framing was looked at.
        case skipped
        case broken
    }

    /// Reads a header line as bytes, never as text: what strangers send is looked at once, whatever it would mean as
    /// Unicode.
    ///
    /// Broken is one that breaks RFC 9112 §5 (an empty name, white space before the colon or at the beginning, which is
    /// folding, control characters in the value), and one of `names` with anything else in it than visible ASCII,
    /// spaces and tabs (PROTOCOL.md, "Handshake").
    /// - Parameter names: those that are read, in lower case.
    static func header(_ line: ArraySlice<UInt8>, of names: [StaticString]) -> HeaderLine {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(isToken)
        else { return .broken }
        let value = line[(colon + 1)...]
        guard value.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }) else { return .broken }
        guard let name = names.first(where: { isEqual(line[..<colon], $0) }) else { return .skipped }
        guard value.allSatisfy({ $0 < 0x7F }) else { return .broken }
        return .header(HTTPHeader(name: "\(name)", value: String(decoding: trimmed(value), as: UTF8.self)))
    }

    private static func isEqual(_ name: ArraySlice<UInt8>, _ lowercased: StaticString) -> Bool {
        name.count == lowercased.utf8CodeUnitCount && begins(name, with: lowercased)
    }

    /// Whether the bytes begin with a text that is given in lower case, in whatever case.
    static func begins(_ bytes: ArraySlice<UInt8>, with lowercased: StaticString) -> Bool {
        guard bytes.count >= lowercased.utf8CodeUnitCount else { return false }
        let other = UnsafeBufferPointer(start: lowercased.utf8Start, count: lowercased.utf8CodeUnitCount)
        return zip(bytes, other).allSatisfy { byte, wanted in
            byte == wanted || byte >= 0x41 && byte <= 0x5A && byte | 0x20 == wanted
        }
    }

    /// The lines of a head: each ends with CR LF, a bare CR or LF is nil.
    static func lines(_ head: [UInt8]) -> [ArraySlice<UInt8>]? {
        var lines: [ArraySlice<UInt8>] = []
        var start = 0
        var index = 0
        while index < head.count {
            if head[index] == 0x0D {
                guard index + 1 < head.count, head[index + 1] == 0x0A else { return nil }
                lines.append(head[start..<index])
                index += 2
                start = index
            } else {
                guard head[index] != 0x0A else { return nil }
                index += 1
            }
        }
        return start == head.count ? lines : nil
    }
}
