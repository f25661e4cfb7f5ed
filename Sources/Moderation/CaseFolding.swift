/// How moderation compares letters (`Letters`): what a person reads as the same letter is the same.
///
/// Each scalar becomes exactly one scalar, so that a place in folded text is a place in the text itself:
/// - letters become lower case where Unicode has a lower-case letter of one scalar (simple case mapping: A and a,
///   Ä and ä, Ж and ж; not ß and ss);
/// - full-width forms (U+FF01-FF5E) become ASCII, the ideographic space a space, and other forms of one scalar that scalar
///   (`CompatibleScalars`).
///
/// Nothing else is folded: accents, look-alikes of other scripts and visible characters between letters tell words apart.
enum CaseFolding {
    static func fold(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        switch scalar.value {
        case 0x41...0x5A: Unicode.Scalar(UInt8(truncatingIfNeeded: scalar.value | 0x20))
        case 0..<0x80: scalar
        case 0x3000: " "
        case 0xFF01...0xFF5E: fold(Unicode.Scalar(UInt8(truncatingIfNeeded: scalar.value &- 0xFEE0)))
        // Han, Kana, Hangul: no cases, and most of what is said in them.
        case 0x3041...0x3096, 0x30A1...0x30FE, 0x3400...0xA63F, 0xAC00...0xD7AF: scalar
        default: lowerCase(CompatibleScalars.plain(scalar) ?? scalar)
        }
    }

    private static func lowerCase(_ scalar: Unicode.Scalar) -> Unicode.Scalar {
        let properties = scalar.properties
        guard properties.changesWhenLowercased else { return scalar }
        var letters = properties.lowercaseMapping.unicodeScalars.makeIterator()
        guard let first = letters.next(), letters.next() == nil else { return scalar }
        return first
    }
}
