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
    /// `incarnation.index`, the `heldId` of a message that waits for a manager; an entry holds one at most.
    case held(Incarnation, index: UInt64)

    /// The ID as clients see it.
    public var text: String {
        switch self {
        case .kept(let incarnation, let seq): Self.text(incarnation, "-", number: seq)
        case .unkept(let incarnation, let index, 0): Self.text(incarnation, "~", number: index)
        case .unkept(let incarnation, let index, let ordinal):
            Self.text(incarnation, "~", number: index, ordinal: ordinal)
        case .soft(let incarnation, let time, let ordinal): Self.text(incarnation, "_", number: time, ordinal: ordinal)
        case .held(let incarnation, let index): Self.text(incarnation, ".", number: index)
        }
    }

    private static func text(
        _ incarnation: Incarnation, _ mark: Unicode.Scalar, number: UInt64, ordinal: UInt64? = nil
    ) -> String {
        String(unsafeUninitializedCapacity: 3 * digitsMax + 2) { bytes in
            var count = append(incarnation.number, to: bytes, at: 0)
            bytes[count] = UInt8(ascii: mark)
            count = append(number, to: bytes, at: count + 1)
            guard let ordinal else { return count }
            bytes[count] = UInt8(ascii: ".")
            return append(ordinal, to: bytes, at: count + 1)
        }
    }

    /// A number of 64 bits has no more in base 36.
    private static let digitsMax = 13

    /// Writes a number in base 36, and returns where it ends.
    private static func append(_ number: UInt64, to bytes: UnsafeMutableBufferPointer<UInt8>, at start: Int) -> Int {
        var (rest, end) = (number, start)
        repeat {
            let digit = UInt8(truncatingIfNeeded: rest % 36)
            bytes[end] = digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") + digit - 10
            rest /= 36
            end += 1
        } while rest > 0
        bytes[start..<end].reverse()
        return end
    }

    /// Reads an ID that a client sent; nil for anything that `text` does not write.
    public static func parse(_ text: String) -> MessageID? {
        guard text.utf8.count <= Limits.opaqueIDBytes,
            let mark = text.firstIndex(where: { $0 == "-" || $0 == "~" || $0 == "_" || $0 == "." }),
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
            return switch mark {
            case "~": .unkept(incarnation, index: first, ordinal: 0)
            case ".": .held(incarnation, index: first)
            default: nil
            }
        }
        guard mark != "." else { return nil }
        guard let ordinal = UInt64(parts[1], radix: 36) else { return nil }
        return mark == "~"
            ? .unkept(incarnation, index: first, ordinal: ordinal)
            : .soft(incarnation, time: first, ordinal: ordinal)
    }
}
