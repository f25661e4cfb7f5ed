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

    static func trimmed(_ text: Substring) -> String {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        return String(text.drop(while: isSpace).reversed().drop(while: isSpace).reversed())
    }

    /// A header line, or nil for one that breaks RFC 9112 §5: an empty name, white space before the colon or at the
    /// beginning (folding), control characters in the value, or bytes that are not UTF-8.
    static func header(_ line: ArraySlice<UInt8>) -> HTTPHeader? {
        guard let colon = line.firstIndex(of: UInt8(ascii: ":")), colon > line.startIndex,
            line[..<colon].allSatisfy(isToken)
        else { return nil }
        let value = line[(colon + 1)...]
        guard value.allSatisfy({ $0 == 0x09 || $0 >= 0x20 && $0 != 0x7F }),
            let text = String(validating: value, as: UTF8.self)
        else { return nil }
        return HTTPHeader(
            name: String(decoding: line[..<colon], as: UTF8.self).lowercased(), value: trimmed(text[...]))
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
