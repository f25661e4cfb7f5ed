import ChatModel

/// The inside of a message ID, which is an opaque string of at most 64 bytes to everybody else.
///
/// Numbers are in base 36, so at most 13 digits each, and the longest ID has 41 bytes. All characters may stand in a
/// URL's path as they are.
public enum MessageID: Sendable, Hashable {
    /// `incarnation-seq`.
    case kept(Incarnation, seq: UInt64)
    /// `incarnation~index`, the index of its log entry; with `.ordinal` for all but the entry's first.
    case unkept(Incarnation, index: UInt64, ordinal: UInt64)
    /// `incarnation_time.ordinal`, for what never goes through the log (301, 302, 350). Time is Unix milliseconds.
    case soft(Incarnation, time: UInt64, ordinal: UInt64)

    /// The ID as clients see it.
    public var text: String {
        switch self {
        case .kept(let incarnation, let seq):
            Self.digits(incarnation.number) + "-" + Self.digits(seq)
        case .unkept(let incarnation, let index, 0):
            Self.digits(incarnation.number) + "~" + Self.digits(index)
        case .unkept(let incarnation, let index, let ordinal):
            Self.digits(incarnation.number) + "~" + Self.digits(index) + "." + Self.digits(ordinal)
        case .soft(let incarnation, let time, let ordinal):
            Self.digits(incarnation.number) + "_" + Self.digits(time) + "." + Self.digits(ordinal)
        }
    }

    /// Reads an ID that a client sent; nil for anything that `text` does not write.
    public static func parse(_ text: String) -> MessageID? {
        guard text.utf8.count <= Limits.opaqueIDBytes,
            let mark = text.firstIndex(where: { $0 == "-" || $0 == "~" || $0 == "_" }),
            let number = UInt64(text[..<mark], radix: 36),
            let parsed = parse(text[text.index(after: mark)...], behind: text[mark], of: Incarnation(number)),
            // Signs, capitals and leading zeros are not ours.
            parsed.text == text
        else { return nil }
        return parsed
    }

    private static func parse(_ rest: Substring, behind mark: Character, of incarnation: Incarnation) -> MessageID? {
        let parts = rest.split(separator: ".", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = UInt64(parts[0], radix: 36) else { return nil }
        if mark == "-" {
            return first > 0 ? .kept(incarnation, seq: first) : nil
        }
        guard parts.count == 2 else {
            return mark == "~" ? .unkept(incarnation, index: first, ordinal: 0) : nil
        }
        guard let ordinal = UInt64(parts[1], radix: 36) else { return nil }
        return mark == "~"
            ? .unkept(incarnation, index: first, ordinal: ordinal)
            : .soft(incarnation, time: first, ordinal: ordinal)
    }

    private static func digits(_ number: UInt64) -> String { String(number, radix: 36) }
}
