/// The part that a scalar outside of ASCII plays in a text that is cut into terms.
enum ScalarClass: Equatable {
    /// Stands for a character of ASCII: a full-width form.
    case ascii(UInt8)
    /// Part of a word, folded.
    case letter(Unicode.Scalar)
    /// A term by itself.
    case character
    case separator
    /// A diacritic or something invisible: as if it were not there.
    case ignored

    init(_ value: UInt32) {
        switch value {
        case 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xAC00...0xD7A3, 0x20000...0x3FFFF: self = .character
        case 0x3005...0x3007, 0x3021...0x3029, 0x3041...0x3096, 0x3099...0x309A, 0x309D...0x309F, 0x30A1...0x30FA,
            0x30FC...0x30FF, 0x3105...0x312F, 0x3131...0x318E, 0x31A0...0x31BF, 0x31F0...0x31FF, 0xF900...0xFAFF,
            0xFF66...0xFF9F, 0x1100...0x11FF, 0xA960...0xA97C, 0xD7B0...0xD7FB:
            self = .character
        case 0x3000...0x303F: self = .separator
        case 0xFF01...0xFF5E: self = .ascii(UInt8(truncatingIfNeeded: value &- 0xFEE0))
        case 0x300...0x36F, 0x483...0x489, 0x591...0x5C7, 0x610...0x61A, 0x64B...0x65F, 0x670, 0x1AB0...0x1AFF,
            0x1DC0...0x1DFF, 0x20D0...0x20FF, 0xFE00...0xFE0F, 0xFE20...0xFE2F, 0x1F3FB...0x1F3FF, 0xE0000...0xE01EF,
            0xAD, 0x200B...0x200F, 0x2060...0x2064, 0xFEFF, 0x640:
            self = .ignored
        default: self.init(other: value)
        }
    }

    private init(other value: UInt32) {
        guard let scalar = Unicode.Scalar(value) else {
            self = .separator
            return
        }
        if let base = Self.base(of: value) {
            self = .letter(base)
            return
        }
        let properties = scalar.properties
        switch properties.generalCategory {
        case .otherSymbol: self = .character
        case .uppercaseLetter, .titlecaseLetter, .letterNumber:
            // Capitals with an accent may be missing from the table, and their small letters not. Roman numbers have both, too.
            let lower = Self.lowerCase(scalar)
            self = .letter(Self.base(of: lower.value) ?? lower)
        case .lowercaseLetter, .modifierLetter, .otherLetter, .nonspacingMark, .spacingMark, .decimalNumber,
            .otherNumber:
            self = .letter(scalar)
        default: self = .separator
        }
    }

    private static func base(of value: UInt32) -> Unicode.Scalar? {
        BaseLetters.base(of: value).flatMap { $0.properties.isAlphabetic ? $0 : nil }
    }

    /// The first scalar of the letter in lower case, which is a base of the rest where there are more.
    private static func lowerCase(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        scalar.properties.lowercaseMapping.unicodeScalars.first ?? scalar
    }
}

/// Characters of Korean and Japanese that came in parts, as some systems write names of files.
enum Composition {
    /// The character that two scalars are together; nil for most.
    static func composed(_ first: UInt32, _ second: UInt32) -> UInt32? {
        // https://www.unicode.org/versions/Unicode15.0.0/ch03.pdf, "Hangul Syllable Composition"
        switch (first, second) {
        case (0x1100...0x1112, 0x1161...0x1175): return 0xAC00 + ((first - 0x1100) * 21 + second - 0x1161) * 28
        case (0xAC00...0xD7A3, 0x11A8...0x11C2) where (first - 0xAC00) % 28 == 0: return first + second - 0x11A7
        case (_, 0x3099): return voiced(first)
        case (0x306F...0x307B, 0x309A), (0x30CF...0x30DB, 0x309A):
            return (first - (first < 0x30A0 ? 0x306F : 0x30CF)) % 3 == 0 ? first + 2 : nil
        default: return nil
        }
    }

    private static func voiced(_ kana: UInt32) -> UInt32? {
        if kana == 0x3046 { return 0x3094 }
        if kana == 0x30A6 { return 0x30F4 }
        let hiragana = kana >= 0x30A0 ? kana - 0x60 : kana
        switch hiragana {
        case 0x304B...0x3061 where hiragana % 2 == 1, 0x3064...0x3068 where hiragana % 2 == 0: return kana + 1
        case 0x306F...0x307B where (hiragana - 0x306F) % 3 == 0: return kana + 1
        default: return nil
        }
    }
}
