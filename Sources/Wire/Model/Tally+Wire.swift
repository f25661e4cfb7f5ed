import ChatModel

/// As everybody sees it, and as the catalogue keeps it.
extension Tally: WireMessage {
    public static var blank: Tally { Tally(key: "") }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "key", &key)
        try walker.shown(2, "total", &total)
        try walker.shown(3, "closed", &closed)
        try walker.defaulted(4, "by", &by, default: .anyone)
    }
}

extension TallySource: WireEnum {
    public static var blank: TallySource { .anyone }
    public var number: Int {
        switch self {
        case .anyone: 1
        case .server: 2
        }
    }
}

extension TallySettings: WireMessage {
    public static var blank: TallySettings { TallySettings() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "total", &total, .integers(0, Limits.tallyTotal))
        try walker.optional(2, "closed", &closed)
        try walker.optional(3, "by", &by)
    }
}

extension TallyChange: WireMessage {
    public static var blank: TallyChange { .remove }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(1, "tap", { if case .tap(let it) = current { it } else { nil } }, { self = .tap($0) }) ? 1 : 0
        try seen +=
            walker.choice(2, "add", { if case .add(let it) = current { it } else { nil } }, { self = .add($0) }) ? 1 : 0
        try seen +=
            walker.choice(3, "set", { if case .set(let it) = current { it } else { nil } }, { self = .set($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                4, "remove", { if case .remove = current { Empty() } else { nil } }, { (_: Empty) in self = .remove })
            ? 1 : 0
        if W.isDecoding, seen != 1 { throw .missing("change") }
    }
}

extension TallyCount: WireMessage {
    public static var blank: TallyCount { TallyCount(key: "", count: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "key", &key)
        try walker.shown(2, "count", &count)
    }
}

/// As a gateway sends it, and as the log has it.
extension TapBatch: WireMessage {
    public static var blank: TapBatch { TapBatch(life: 0, window: 0, sums: [], of: nil) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "life", &life)
        try walker.shown(2, "window", &window)
        try walker.repeated(3, "sums", &sums)
        var number = incarnation?.number
        try walker.optional(4, "incarnation", &number)
        if W.isDecoding { incarnation = number.map { Incarnation($0) } }
    }
}

extension TapMemory: WireMessage {
    public static var blank: TapMemory { TapMemory(window: 0, time: .blank, results: []) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "window", &window)
        try walker.required(2, "time", &time)
        try walker.repeated(3, "results", &results)
    }
}
