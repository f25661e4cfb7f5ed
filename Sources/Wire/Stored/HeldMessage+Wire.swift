import ChatModel

/// A fact of a post that is to wait.
extension HoldPolicy: WireMessage {
    public static var blank: HoldPolicy { HoldPolicy() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "seconds", &seconds)
        try walker.required(2, "onExpiry", &onExpiry)
    }
}

extension HeldDecision: WireMessage {
    public static var blank: HeldDecision { HeldDecision(isAllowed: false) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "isAllowed", &isAllowed)
        try walker.optional(2, "reason", &reason)
    }
}

/// As the catalogue keeps it.
extension HeldRecord: WireMessage {
    public static var blank: HeldRecord {
        HeldRecord(
            message: .blank, index: 0, after: 0, isOfServer: false, key: nil, expiresAt: .blank, onExpiry: .deny)
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var stored = StoredMessage(message: message)
        try walker.required(1, "message", &stored)
        try walker.shown(2, "index", &index)
        try walker.shown(3, "after", &after)
        try walker.shown(4, "isOfServer", &isOfServer)
        try key.walk(&walker, high: 5, low: 6)
        try walker.required(7, "expiresAt", &expiresAt)
        try walker.required(8, "onExpiry", &onExpiry)
        try walker.repeated(9, "copies", &copies)
        try walker.defaulted(10, "isOfSender", &isOfSender, default: false)
        if W.isDecoding { message = stored.message }
    }
}

/// As the catalogue keeps it.
extension DeniedRecord: WireMessage {
    public static var blank: DeniedRecord { DeniedRecord(heldID: "", user: nil, time: .blank, index: 0, after: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "heldId", &heldID)
        try walker.optional(2, "user", &user)
        try walker.optional(3, "clientId", &clientID)
        try walker.optional(4, "reason", &reason)
        try walker.required(5, "time", &time)
        try walker.shown(6, "index", &index)
        try walker.shown(7, "after", &after)
        try key.walk(&walker, high: 8, low: 9)
    }
}

extension CommandKey? {
    /// Visits both halves; neither is no key.
    fileprivate mutating func walk<W: FieldWalker>(_ walker: inout W, high: Int, low: Int) throws(ChatError) {
        var (first, second) = (self?.high, self?.low)
        try walker.optional(high, "keyHigh", &first)
        try walker.optional(low, "keyLow", &second)
        if W.isDecoding { self = first.flatMap { high in second.map { CommandKey(high: high, low: $0) } } }
    }
}

/// `RememberedResult.decided` and `CommandResult.decidedBefore`.
struct DecidedMessage: WireMessage {
    var messageID: String?

    static var blank: DecidedMessage { DecidedMessage(messageID: nil) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "messageId", &messageID)
    }
}

/// `CommandResult.held`.
struct HeldID: WireMessage {
    var heldID: String

    static var blank: HeldID { HeldID(heldID: "") }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "heldId", &heldID)
    }
}
