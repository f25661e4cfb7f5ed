/// One value or key of a parsed text. An object is followed by its keys and values in turn, an array by its items.
struct JSONNode {
    enum Kind: UInt8 {
        case object, array, string, number, `true`, `false`, null
        /// An object's key: its value follows.
        case key
    }

    var kind: Kind
    /// A string with escapes, not yet resolved; for a key: resolved, and kept beside the text.
    var isEscaped: Bool
    /// The bytes of a string (without quotes) or number, from `start` up to `end`.
    var start: Int32
    var end: Int32
    /// The index of the first node after this one and all that it contains.
    var next: Int32
}
