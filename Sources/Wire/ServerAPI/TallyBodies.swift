import ChatModel

/// Answer of GET …/tallies.
public struct TalliesResult: WireMessage, Hashable {
    /// `like` first, then in the order of their keys.
    public var tallies: [Tally]

    public static var blank: TalliesResult { TalliesResult(tallies: []) }

    public init(tallies: [Tally]) { self.tallies = tallies }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "tallies", &tallies)
    }
}

/// Body of POST …/tallies/{key}/add.
public struct TallyAddBody: WireMessage, Hashable {
    /// Less than 0 takes away.
    public var delta: Int64

    public static var blank: TallyAddBody { TallyAddBody(delta: 0) }

    public init(delta: Int64) { self.delta = delta }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "delta", &delta, .integers(-Limits.tallyAdd, Limits.tallyAdd))
    }
}
