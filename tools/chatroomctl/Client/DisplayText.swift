/// Text from people made fit for a terminal: no control characters, a known width.
package enum DisplayText {
    /// Replaces what would move the cursor, change colours or turn the direction of writing; a line break becomes a
    /// visible sign. Messages come from strangers, and a terminal obeys escape sequences.
    package static func safe(_ text: String) -> String {
        guard text.unicodeScalars.contains(where: isUnsafe) else { return text }
        var safe = String.UnicodeScalarView()
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\n": safe.append("⏎")
            case "\t": safe.append(" ")
            case _ where isUnsafe(scalar): safe.append("\u{FFFD}")
            default: safe.append(scalar)
            }
        }
        return String(safe)
    }

    /// Columns of a terminal, roughly: wide East Asian characters and emoji take two, combining marks none.
    package static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

    /// The text within `columns`; what is cut is shown as an ellipsis.
    package static func fit(_ text: String, columns: Int) -> String {
        guard width(text) > columns else { return text }
        var result = ""
        var used = 0
        for character in text {
            let next = width(character)
            guard used + next <= columns - 1 else { break }
            result.append(character)
            used += next
        }
        return result + "…"
    }

    package static func padded(_ text: String, columns: Int) -> String {
        text + String(repeating: " ", count: max(0, columns - width(text)))
    }

    /// `1 session`, `2 sessions`.
    package static func count(_ number: some BinaryInteger, _ noun: String) -> String {
        "\(number) \(noun)\(number == 1 ? "" : "s")"
    }

    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F..<0xA0: true
        // Directional marks, embeddings, overrides and isolates; line and paragraph separators.
        case 0x200E...0x200F, 0x2028...0x202E, 0x2066...0x2069: true
        default: false
        }
    }

    private static func width(_ character: Character) -> Int {
        character.unicodeScalars.reduce(0) { max($0, width($1)) }
    }

    private static func width(_ scalar: Unicode.Scalar) -> Int {
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format, .control: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x20000...0x3FFFD:
            return 2
        default:
            return scalar.properties.isEmojiPresentation ? 2 : 1
        }
    }
}
