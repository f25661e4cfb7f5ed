/// What happens to a text in which a word is found (PROTOCOL.md, "Moderation").
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

/// What happens to a message when the pre-send hook gives no answer that can be understood in time.
public enum HookFailurePolicy: String, Sendable, Hashable, CaseIterable {
    case allow = "ALLOW"
    case refuse = "REFUSE"
}

/// What the pre-send hook says of a message: the `action` of its answer.
public enum HookAction: String, Sendable, Hashable, CaseIterable {
    case allow = "ALLOW"
    /// Another text in the message's place.
    case rewrite = "REWRITE"
    case refuse = "REFUSE"
}
