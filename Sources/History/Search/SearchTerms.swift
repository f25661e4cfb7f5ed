/// Cuts a text into the terms that search knows: words elsewhere, and single characters of Chinese, Japanese and Korean,
/// which put no spaces between words. Symbols and emoji are characters, too.
///
/// Terms are folded: lower case, without diacritics, full-width forms as ASCII, and composed. It is one pass over the text,
/// and folding a term once more changes nothing.
enum SearchTerms {
    /// One term, valid during the call that shows it.
    struct Term {
        /// UTF-8.
        var bytes: UnsafeBufferPointer<UInt8>
        /// The single character; nil: it is a word.
        var scalar: Unicode.Scalar?
        var isCharacter: Bool { scalar != nil }
        /// A character that stands directly behind the character before.
        var isJoined: Bool
    }

    /// More of a word is not looked at. No word of a query is as long.
    static let wordBytesMax = 512

    /// Shows the terms in their order until `visit` returns false.
    static func walk(_ text: UnsafeBufferPointer<UInt8>, _ visit: (Term) -> Bool) {
        var cutter = TermCutter()
        var position = 0
        while position < text.count {
            let byte = text[position]
            if byte < 0x80 {
                position += 1
                guard cutter.take(ascii: byte, visit) else { return }
            } else {
                let (scalar, length) = decode(text, position)
                position += length
                guard cutter.take(scalar, visit) else { return }
            }
        }
        _ = cutter.end(visit)
    }

    static func walk(_ text: String, _ visit: (Term) -> Bool) {
        var text = text
        text.withUTF8 { walk($0, visit) }
    }

    /// A scalar of more than one byte; U+FFFD for bytes that are none, which separates.
    private static func decode(_ text: UnsafeBufferPointer<UInt8>, _ position: Int) -> (UInt32, length: Int) {
        let first = UInt32(text[position])
        let length = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2
        guard first >= 0xC2, position + length <= text.count else { return (0xFFFD, 1) }
        var value = first & (0x7F >> UInt32(length))
        for next in text[(position + 1)..<(position + length)] {
            guard next & 0xC0 == 0x80 else { return (0xFFFD, 1) }
            value = value << 6 | UInt32(next & 0x3F)
        }
        return (value, length)
    }
}

/// The state between two scalars.
private struct TermCutter {
    private var word: [UInt8] = []
    /// A character that the next scalar may belong to.
    private var held: UInt32?
    private var isHeldJoined = false
    /// The last scalar ended a character.
    private var isBehindCharacter = false

    mutating func take(ascii byte: UInt8, _ visit: (SearchTerms.Term) -> Bool) -> Bool {
        switch byte {
        case 0x61...0x7A, 0x30...0x39: return add(byte, visit)
        case 0x41...0x5A: return add(byte | 0x20, visit)
        default: return separate(visit)
        }
    }

    private mutating func add(_ byte: UInt8, _ visit: (SearchTerms.Term) -> Bool) -> Bool {
        guard held == nil || release(visit) else { return false }
        isBehindCharacter = false
        if word.count < SearchTerms.wordBytesMax { word.append(byte) }
        return true
    }

    mutating func take(_ scalar: UInt32, _ visit: (SearchTerms.Term) -> Bool) -> Bool {
        switch ScalarClass(scalar) {
        case .ignored: return true
        case .separator: return separate(visit)
        case .ascii(let byte): return take(ascii: byte, visit)
        case .letter(let folded):
            guard held == nil || release(visit) else { return false }
            isBehindCharacter = false
            if word.count + 4 <= SearchTerms.wordBytesMax { word.append(contentsOf: folded.utf8) }
            return true
        case .character:
            if let former = held, let composed = Composition.composed(former, scalar) {
                held = composed
                return true
            }
            guard held == nil || release(visit), releaseWord(visit) else { return false }
            (held, isHeldJoined, isBehindCharacter) = (scalar, isBehindCharacter, true)
            return true
        }
    }

    mutating func end(_ visit: (SearchTerms.Term) -> Bool) -> Bool { separate(visit) }

    private mutating func separate(_ visit: (SearchTerms.Term) -> Bool) -> Bool {
        guard held == nil || release(visit) else { return false }
        isBehindCharacter = false
        return releaseWord(visit)
    }

    private mutating func release(_ visit: (SearchTerms.Term) -> Bool) -> Bool {
        guard let scalar = held.flatMap(Unicode.Scalar.init) else { return true }
        held = nil
        return withUnsafeTemporaryAllocation(of: UInt8.self, capacity: 4) { place in
            let count = place.initialize(fromContentsOf: scalar.utf8)
            let bytes = UnsafeBufferPointer(rebasing: place[..<count])
            return visit(SearchTerms.Term(bytes: bytes, scalar: scalar, isJoined: isHeldJoined))
        }
    }

    private mutating func releaseWord(_ visit: (SearchTerms.Term) -> Bool) -> Bool {
        guard !word.isEmpty else { return true }
        defer { word.removeAll(keepingCapacity: true) }
        return word.withUnsafeBufferPointer {
            visit(SearchTerms.Term(bytes: $0, isJoined: false))
        }
    }
}
