/// The letters of a text as a person reads them, each with the scalars of the text that it takes. A word stays the same with
/// signs between its letters that nobody sees, and in another encoding of the same letters.
///
/// - Scalars that show nothing (Default_Ignorable_Code_Point: joiners, spaces without a width, soft hyphens, variation
///   selectors, tags) are no letters, and lie inside a word unnoticed.
/// - A letter and its diacritics are one letter where Unicode has one for them, in Latin, Greek, Cyrillic, kana and Hangul:
///   `e` and U+0301 are `é`, in any canonical order. Diacritics that make no such letter are passed over.
enum Letters {
    /// Whether each scalar of the text is a letter by itself, as nearly always.
    static func areScalars(of text: String) -> Bool { !text.unicodeScalars.contains(where: mayJoin) }

    /// Whether there is a letter in it.
    static func areIn(_ text: String) -> Bool {
        areScalars(of: text) ? !text.isEmpty : !forEach(in: text) { _, _ in false }
    }

    /// Calls `take` with each letter, as one scalar, and its place, counted in scalars of the text. Takes time in proportion
    /// to the text.
    /// - Parameter take: false ends it.
    /// - Returns: whether it came to the end.
    static func forEach(in text: String, _ take: (Unicode.Scalar, Range<Int>) -> Bool) -> Bool {
        var open: (letter: Unicode.Scalar, place: Range<Int>)?
        var position = 0
        for scalar in text.unicodeScalars {
            let end = position + 1
            defer { position = end }
            if mayJoin(scalar) {
                if scalar.properties.isDefaultIgnorableCodePoint { continue }
                let whole = open.flatMap { joined($0.letter, scalar) }
                if whole != nil || isDiacritic(scalar) {
                    if let part = open { open = (whole ?? part.letter, part.place.lowerBound..<end) }
                    continue
                }
            }
            if let letter = open, !take(letter.letter, letter.place) { return false }
            open = (scalar, position..<end)
        }
        return open.map { take($0.letter, $0.place) } ?? true
    }

    /// Whether a scalar may be no letter by itself. Most are told by their number.
    private static func mayJoin(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0xAD, 0xAE..<0x300, 0x370..<0x483, 0x48A..<0x591: false
        case 0x3001..<0x3099, 0x309B..<0x3164, 0x3165..<0xA640, 0xAC00..<0xD800, 0x1F000..<0x1FB00: false
        case hangulLeads.lowerBound...0x11FF, 0xFF9E...0xFF9F: true
        default:
            isDiacritic(scalar) || scalar.properties.isDefaultIgnorableCodePoint
                || scalar.properties.canonicalCombiningClass != .notReordered
        }
    }

    /// The blocks of diacritics that belong to no one script. Marks of a script may be letters: a Devanagari virama tells words
    /// apart.
    private static func isDiacritic(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0x300...0x36F, 0x483...0x489, 0x1AB0...0x1AFF, 0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE20...0xFE2F: true
        default: false
        }
    }

    private static func joined(_ letter: Unicode.Scalar, _ mark: Unicode.Scalar) -> Unicode.Scalar? {
        if mark.value >= hangulLeads.lowerBound, mark.value <= 0x11FF { return syllable(letter.value, mark.value) }
        var text = String.UnicodeScalarView()
        // Half-width kana have half-width marks.
        text.append(CompatibleScalars.plain(letter) ?? letter)
        text.append(CompatibleScalars.plain(mark) ?? mark)
        return composed[String(text)]
    }

    /// Letters with diacritics that are one scalar, by all that is canonically equivalent to them: strings are compared so.
    private static let composed: [String: Unicode.Scalar] = {
        var letters: [String: Unicode.Scalar] = [:]
        for range in [0xC0..<0x250, 0x370..<0x530, 0x1E00..<0x2000, 0x3041..<0x30FF] as [Range<UInt32>] {
            for scalar in range.lazy.compactMap(Unicode.Scalar.init) where letters[String(scalar)] == nil {
                letters[String(scalar)] = scalar
            }
        }
        return letters
    }()

    // MARK: - Hangul (The Unicode Standard, 3.12, "Conjoining Jamo Behavior")

    private static let hangulLeads: Range<UInt32> = 0x1100..<0x1113
    private static let hangulVowels: Range<UInt32> = 0x1161..<0x1176
    private static let hangulTails: Range<UInt32> = 0x11A8..<0x11C3
    private static let hangulSyllables: Range<UInt32> = 0xAC00..<0xD7A4
    /// No tail is one, too.
    private static let hangulEnds = UInt32(hangulTails.count) + 1

    private static func syllable(_ letter: UInt32, _ jamo: UInt32) -> Unicode.Scalar? {
        if hangulLeads.contains(letter), hangulVowels.contains(jamo) {
            let vowels = UInt32(hangulVowels.count)
            let pair = (letter - hangulLeads.lowerBound) * vowels + jamo - hangulVowels.lowerBound
            return Unicode.Scalar(hangulSyllables.lowerBound + pair * hangulEnds)
        }
        guard hangulSyllables.contains(letter), hangulTails.contains(jamo),
            (letter - hangulSyllables.lowerBound) % hangulEnds == 0
        else { return nil }
        return Unicode.Scalar(letter + jamo - hangulTails.lowerBound + 1)
    }
}
