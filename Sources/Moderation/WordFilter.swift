import ChatModel

/// Finds any of many words in a text, in one pass over the text (Aho and Corasick, "Efficient string matching", CACM
/// 1975) over the UTF-8 bytes of its letters (`Letters`), folded (`CaseFolding`).
///
/// Building takes time in proportion to the words, so it does not belong on a loop; checking takes time in proportion
/// to the text, whatever the words are. About 20 bytes of memory for each byte of the words.
public struct WordFilter: Sendable {
    /// Words in one list; more are refused.
    public static let wordsMax = 100_000
    /// UTF-8 bytes of one word; more are refused.
    public static let wordBytesMax = 256
    /// UTF-8 bytes of all words together, as given; more are refused.
    public static let totalBytesMax = 768 << 10

    /// The list's verdict on a text.
    public enum Verdict: Sendable, Hashable {
        /// No word is in it.
        case clean
        /// The text with each scalar that belongs to a REPLACE word, overlapping ones too, replaced by `*`: as many
        /// scalars as before, and never more bytes.
        case replaced(String)
        /// A HOLD word is in it, and no REFUSE word: the text as it is to be shown, with `*` where REPLACE words were.
        case held(String)
        /// A REFUSE word is in it.
        case refused
    }

    private let automaton: Automaton?

    /// A filter without words: every text is clean, at no cost.
    public init() { automaton = nil }

    /// Words that fold to the same text are one, with the actions of all of them: REFUSE goes before HOLD.
    public init(_ words: [Word]) throws(WordListError) {
        // A list that was set when such words were taken goes on to hold for its others.
        let words = words.filter { $0.text.isEmpty || Letters.areIn($0.text) }
        try Self.check(words)
        automaton = words.isEmpty ? nil : Automaton(words)
    }

    public var isEmpty: Bool { automaton == nil }

    /// Whether a list of these words would be taken; cheap, unlike making it.
    public static func check(_ words: [Word]) throws(WordListError) {
        guard words.count <= wordsMax else {
            throw WordListError(.tooManyWords, "\(words.count) words, and at most \(wordsMax) are taken")
        }
        var bytes = 0
        for word in words {
            let length = word.text.utf8.count
            guard length > 0 else { throw WordListError(.emptyWord, "a word is empty") }
            guard length <= wordBytesMax else {
                throw WordListError(.wordTooLong, "a word has \(length) bytes, and at most \(wordBytesMax) are taken")
            }
            guard Letters.areIn(word.text) else {
                throw WordListError(.emptyWord, "a word has only characters that show nothing")
            }
            bytes += length
        }
        guard bytes <= totalBytesMax else {
            throw WordListError(
                .tooManyBytes, "all words together have \(bytes) bytes, and at most \(totalBytesMax) are taken")
        }
    }

    public func check(_ text: String) -> Verdict {
        guard let automaton else { return .clean }
        var search = WordSearch(automaton)
        guard search.read(text) else { return .refused }
        let runs = search.runs
        if search.isHeld { return .held(runs.isEmpty ? text : Self.mask(text, runs)) }
        return runs.isEmpty ? .clean : .replaced(Self.mask(text, runs))
    }

    private static func mask(_ text: String, _ runs: [Range<Int>]) -> String {
        var result = String.UnicodeScalarView()
        var next = runs.makeIterator()
        var run = next.next()
        for (position, scalar) in text.unicodeScalars.enumerated() {
            if let current = run, position >= current.upperBound { run = next.next() }
            result.append(run?.contains(position) == true ? "*" : scalar)
        }
        return String(result)
    }
}
