/// Why a list of words can't be used.
public struct WordListError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable {
        /// More than `WordFilter.wordsMax`.
        case tooManyWords
        /// One word is longer than `WordFilter.wordBytesMax`.
        case wordTooLong
        /// All words together are longer than `WordFilter.totalBytesMax`.
        case tooManyBytes
        case emptyWord
    }

    public var code: Code
    /// A sentence for whoever sent the list.
    public var description: String

    init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
