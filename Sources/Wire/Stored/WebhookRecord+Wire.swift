import ChatModel

extension WebhookRecord: WireMessage {
    public static var blank: WebhookRecord { WebhookRecord() }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "firstSeq", &firstSeq)
        try walker.shown(2, "since", &since)
        try walker.repeated(3, "events", &events)
        try walker.shown(4, "forgotten", &forgotten)
        try walker.defaulted(6, "firstReport", &firstReport, default: 0)
        try walker.defaulted(7, "firstHeld", &firstHeld, default: 0)
        try walker.defaulted(8, "toldForgotten", &toldForgotten, default: 0)
        try walker.defaulted(9, "forgottenFrom", &forgottenFrom, default: 0)
    }
}

extension RoomLifeEvent: WireMessage {
    public static var blank: RoomLifeEvent { RoomLifeEvent(kind: .blank, index: 0, after: 0, time: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "kind", &kind)
        try walker.shown(2, "index", &index)
        try walker.shown(3, "after", &after)
        try walker.shown(4, "time", &time)
        try walker.shown(5, "lostFrom", &lostFrom)
        try walker.shown(6, "lostTo", &lostTo)
        var number = life?.number
        try walker.optional(7, "life", &number)
        if W.isDecoding { life = number.map { Incarnation($0) } }
    }
}

extension RoomLifeEvent.Kind: WireEnum {
    public static var blank: Self { .created }
    public static var schemaName: String { "RoomLifeEventKind" }
    public var number: Int {
        switch self {
        case .created: 1
        case .reopened: 2
        case .closed: 3
        case .deleted: 4
        case .undeleted: 5
        case .held: 6
        }
    }
}

extension WebhookProgress: WireMessage {
    public static var blank: WebhookProgress { WebhookProgress(incarnation: Incarnation(0)) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = incarnation.number
        try walker.shown(1, "incarnation", &number)
        try walker.shown(2, "seq", &seq)
        try walker.shown(3, "time", &time)
        try walker.shown(4, "eventIndex", &eventIndex)
        try walker.optional(5, "forgotten", &forgotten)
        try walker.defaulted(6, "forgottenFrom", &forgottenFrom, default: 0)
        if W.isDecoding { incarnation = Incarnation(number) }
    }
}

/// A message as its history row holds it, and as it goes between nodes: what everybody sees, and what is the server's
/// own affair.
public struct StoredMessage: WireMessage, Hashable {
    public var message: Message

    public static var blank: StoredMessage { StoredMessage(message: .blank) }

    public init(message: Message) { self.message = message }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var fields = message.fields
        try fields.walk(&walker)
        try walker.defaulted(101, "webhook", &fields.webhook, default: true)
        if W.isDecoding { message = Message(fields) }
    }
}
