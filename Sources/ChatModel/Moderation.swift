/// The action on a text in which a word is found (PROTOCOL.md, "Moderation").
public enum WordAction: String, Sendable, Hashable, CaseIterable {
    /// Each of its characters (Unicode scalars) is replaced by `*`.
    case replace = "REPLACE"
    /// The text is refused with 13009.
    case refuse = "REFUSE"
    /// A kept message waits for a manager (PROTOCOL.md, "Held messages"); any other text is refused.
    case hold = "HOLD"
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

/// The action on a message when the pre-send hook gives no understandable answer in time.
public enum HookFailurePolicy: String, Sendable, Hashable, CaseIterable {
    case allow = "ALLOW"
    case refuse = "REFUSE"
    /// As the word action.
    case hold = "HOLD"
}

/// The pre-send hook's decision about a message: the `action` of its answer.
public enum HookAction: String, Sendable, Hashable, CaseIterable {
    case allow = "ALLOW"
    /// Another text in the message's place.
    case rewrite = "REWRITE"
    case refuse = "REFUSE"
    /// As the word action.
    case hold = "HOLD"
}
