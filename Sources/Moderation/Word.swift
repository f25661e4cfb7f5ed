/// What happens to a text in which a word is found (contract, section 4, moderation).
public enum WordAction: String, Sendable, Hashable, CaseIterable {
    /// Each of its characters (Unicode scalars) is replaced by `*`.
    case replace = "REPLACE"
    /// The text is refused with 13009.
    case refuse = "REFUSE"
}

/// One entry of the list of words: any text, found wherever it stands, also inside longer words.
public struct Word: Sendable, Hashable {
    public var text: String
    public var action: WordAction

    public init(_ text: String, _ action: WordAction) {
        self.text = text
        self.action = action
    }
}
