import ChatModel
import SQLite

/// The tokenizer of our indexes. An indexed text begins with the life of its room, which every term then begins with, too: a
/// word that all rooms use costs a search only what its own room has of it.
enum IndexTokenizer: Tokenizer {
    static let name = "chatroom"
    /// Between the terms of a query, and behind the life in an indexed text. No term contains it.
    static let separator: Character = "\u{1F}"
    private static let separatorByte: UInt8 = 0x1F
    /// The part of a word that the index knows.
    static let wordBytesMax = 64

    /// The beginning of all terms of a room.
    static func prefix(_ life: Incarnation) -> String { String(life.number, radix: 36) + "." }

    /// A text as it is put into an index.
    static func indexed(_ text: String, of life: Incarnation) -> String { prefix(life) + String(separator) + text }

    /// The beginning of a word that is in the index; whole scalars.
    static func kept(_ word: some RandomAccessCollection<UInt8>) -> some RandomAccessCollection<UInt8> {
        guard word.count > wordBytesMax else { return word[...] }
        var end = word.index(word.startIndex, offsetBy: wordBytesMax)
        while end > word.startIndex, word[end] & 0xC0 == 0x80 { end = word.index(before: end) }
        return word[..<end]
    }

    static func tokenize(
        _ text: UnsafeBufferPointer<UInt8>, isQuery: Bool, _ emit: (UnsafeBufferPointer<UInt8>) -> Bool
    ) {
        guard !isQuery else {
            for term in text.split(separator: separatorByte) {
                guard emit(UnsafeBufferPointer(rebasing: term)) else { return }
            }
            return
        }
        guard let end = text.firstIndex(of: separatorByte) else { return }
        var term = Array(text[..<end])
        let prefixCount = term.count
        SearchTerms.walk(UnsafeBufferPointer(rebasing: text[(end + 1)...])) { found in
            term.removeSubrange(prefixCount...)
            term.append(contentsOf: kept(found.bytes))
            return term.withUnsafeBufferPointer(emit)
        }
    }
}
