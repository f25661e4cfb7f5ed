import ChatModel

extension RoomRecord: WireMessage {
    public static var blank: RoomRecord { RoomRecord(info: .blank, incarnation: Incarnation(0)) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = incarnation.number
        try walker.required(1, "info", &info)
        try walker.required(2, "incarnation", &number)
        try walker.shown(3, "lastSeq", &lastSeq)
        try walker.shown(4, "nextQueuePosition", &nextQueuePosition)
        try walker.repeated(5, "recentHigh", &recentHigh)
        try walker.optional(6, "emptySince", &emptySince)
        try walker.shown(7, "robots", &robots)
        try walker.repeated(8, "recentServerHigh", &recentServerHigh)
        try walker.repeated(9, "kicks", &kicks)
        try walker.optional(10, "everybodyOutAt", &everybodyOutAt)
        try walker.repeated(11, "lives", &lives.spans)
        try walker.optional(12, "historyFloor", &lives.floor)
        if W.isDecoding { incarnation = Incarnation(number) }
    }
}

extension RoomLives.Span: WireMessage {
    public static var blank: RoomLives.Span { RoomLives.Span(fromDay: 0, life: .standard) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var number = UInt32(life.rawValue)
        try walker.shown(1, "fromDay", &fromDay)
        try walker.shown(2, "life", &number)
        guard W.isDecoding else { return }
        guard let known = UInt8(exactly: number).flatMap(HistoryLife.init(rawValue:)) else {
            throw ChatError(.badParameter, "there is no life \(number)", field: "life")
        }
        life = known
    }
}

extension RecordedKick: WireMessage {
    public static var blank: RecordedKick { RecordedKick(.blank, at: .blank, .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "user", &user)
        try walker.required(2, "time", &time)
        try walker.required(3, "reason", &reason)
    }
}

extension DeletedRoomRecord: WireMessage {
    public static var blank: DeletedRoomRecord {
        DeletedRoomRecord(room: .blank, deletedAt: .blank, purgeAt: .blank)
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "room", &room)
        try walker.required(2, "deletedAt", &deletedAt)
        try walker.required(3, "purgeAt", &purgeAt)
    }
}

extension MemberRecord: WireMessage {
    public static var blank: MemberRecord { MemberRecord(role: .none, since: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "role", &role)
        try walker.shown(2, "muted", &muted)
        try walker.shown(3, "blacklisted", &blacklisted)
        try walker.optional(4, "tempMutedUntil", &tempMutedUntil)
        try walker.optional(5, "bannedUntil", &bannedUntil)
        try walker.optional(6, "savedProfile", &savedProfile)
        try walker.shown(7, "since", &since)
        try walker.optional(8, "barredAddress", &barredAddress)
    }
}

extension BarredAddress: WireMessage {
    public static var blank: BarredAddress { BarredAddress(hash: 0, until: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "hash", &hash)
        try walker.shown(2, "until", &until)
    }
}

/// A queue element and its place in the order.
struct PlacedElement: WireMessage {
    var element: QueueElement
    var position: Int64

    static var blank: PlacedElement { PlacedElement(element: .blank, position: 0) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "element", &element)
        try walker.shown(2, "position", &position)
    }
}

/// When a user last spoke.
struct SlowRecord: WireMessage {
    var time: Timestamp

    static var blank: SlowRecord { SlowRecord(time: .blank) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.required(1, "time", &time) }
}

extension RobotRecord: WireMessage {
    public static var blank: RobotRecord { RobotRecord(profile: Profile(), enteredAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "profile", &profile)
        try walker.shown(2, "enteredAt", &enteredAt)
    }
}

extension CommandMemory: WireMessage {
    public static var blank: CommandMemory { CommandMemory(result: .done, time: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "time", &time)
        try walker.required(2, "result", &result)
        try walker.shown(3, "index", &index)
        try walker.shown(4, "owner", &owner)
    }
}

extension RememberedResult: WireMessage {
    public static var blank: RememberedResult { .done }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(1, "done", { if case .done = current { Empty() } else { nil } }, { _ in self = .done })
            ? 1 : 0
        try seen +=
            walker.choice(2, "room", { if case .room(let it) = current { it } else { nil } }, { self = .room($0) })
            ? 1 : 0
        try seen += walker.choice(3, "posted", { PostedResult(current) }, { self = $0.remembered }) ? 1 : 0
        try seen +=
            walker.choice(
                4, "member", { if case .member(let it) = current { it } else { nil } }, { self = .member($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                5, "element", { if case .element(let it) = current { it } else { nil } }, { self = .element($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                6, "taken", { if case .taken(let it) = current { it } else { nil } }, { self = .taken($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                7, "missing", { if case .missing(let it) = current { MissingPlaces(bits: it) } else { nil } },
                { self = .missing($0.bits) }) ? 1 : 0
        try seen +=
            walker.choice(
                8, "pinned", { if case .pinned(let it) = current { StoredPins(pinned: it) } else { nil } },
                { self = .pinned($0.pinned) }) ? 1 : 0
        try seen +=
            walker.choice(
                9, "amended",
                { if case .amended(let it) = current { AmendedMessage(messageID: it) } else { nil } },
                { self = .amended(messageID: $0.messageID) }) ? 1 : 0
        try seen +=
            walker.choice(
                11, "tally", { if case .tally(let it) = current { it } else { nil } }, { self = .tally($0) }) ? 1 : 0
        try seen +=
            walker.choice(13, "poll", { if case .poll(let it) = current { it } else { nil } }, { self = .poll($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                14, "upload", { if case .upload(let it) = current { it } else { nil } }, { self = .upload($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                16, "decided",
                { if case .decided(let it) = current { DecidedMessage(messageID: it) } else { nil } },
                { self = .decided(messageID: $0.messageID) }) ? 1 : 0
        try seen +=
            walker.choice(
                20, "imported", { if case .imported(let it) = current { it } else { nil } }, { self = .imported($0) })
            ? 1 : 0
        if W.isDecoding, seen != 1 { throw .missing("result") }
    }
}

/// `RememberedResult.pinned` and `CommandResult.pinned`.
struct StoredPins: WireMessage {
    var pinned: [PinnedMessage]

    static var blank: StoredPins { StoredPins(pinned: []) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var pins = W.isDecoding ? [] : pinned.map(StoredPin.init)
        try walker.repeated(1, "pinned", &pins)
        if W.isDecoding { pinned = pins.map(\.pinned) }
    }
}

/// `RememberedResult.amended` and `CommandResult.amendedBefore`.
struct AmendedMessage: WireMessage {
    var messageID: String

    static var blank: AmendedMessage { AmendedMessage(messageID: "") }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "messageId", &messageID)
    }
}

/// `RememberedResult.missing`.
struct MissingPlaces: WireMessage {
    var bits: [UInt8]

    static var blank: MissingPlaces { MissingPlaces(bits: []) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) { try walker.shown(1, "bits", &bits) }
}

extension CommandResult: WireMessage {
    public static var blank: CommandResult { .done }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        let current = self
        var seen = 0
        try seen +=
            walker.choice(1, "done", { if case .done = current { Empty() } else { nil } }, { _ in self = .done })
            ? 1 : 0
        try seen +=
            walker.choice(2, "room", { if case .room(let it) = current { it } else { nil } }, { self = .room($0) })
            ? 1 : 0
        try seen += walker.choice(3, "posted", { PostedResult(current) }, { self = $0.result }) ? 1 : 0
        try seen +=
            walker.choice(
                4, "member", { if case .member(let it) = current { it } else { nil } }, { self = .member($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                5, "element", { if case .element(let it) = current { it } else { nil } }, { self = .element($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                6, "missing", { if case .missing(let it) = current { MissingResult(missing: it) } else { nil } },
                { self = .missing($0.missing) }) ? 1 : 0
        try seen +=
            walker.choice(
                7, "refused", { if case .refused(let it) = current { it } else { nil } }, { self = .refused($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                8, "pinned", { if case .pinned(let it) = current { StoredPins(pinned: it) } else { nil } },
                { self = .pinned($0.pinned) }) ? 1 : 0
        try seen +=
            walker.choice(
                9, "amended", { if case .amended(let it) = current { StoredMessage(message: it) } else { nil } },
                { self = .amended($0.message) }) ? 1 : 0
        try seen +=
            walker.choice(
                10, "amendedBefore",
                { if case .amendedBefore(let it) = current { AmendedMessage(messageID: it) } else { nil } },
                { self = .amendedBefore(messageID: $0.messageID) }) ? 1 : 0
        try seen +=
            walker.choice(
                11, "tally", { if case .tally(let it) = current { it } else { nil } }, { self = .tally($0) }) ? 1 : 0
        try seen +=
            walker.choice(
                12, "tapped", { if case .tapped(let it) = current { TapTotals(results: it) } else { nil } },
                { self = .tapped($0.results) }) ? 1 : 0
        try seen +=
            walker.choice(13, "poll", { if case .poll(let it) = current { it } else { nil } }, { self = .poll($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                14, "upload", { if case .upload(let it) = current { it } else { nil } }, { self = .upload($0) })
            ? 1 : 0
        try seen +=
            walker.choice(
                16, "decidedBefore",
                { if case .decidedBefore(let it) = current { DecidedMessage(messageID: it) } else { nil } },
                { self = .decidedBefore(messageID: $0.messageID) }) ? 1 : 0
        try seen +=
            walker.choice(
                17, "held", { if case .held(let it) = current { HeldID(heldID: it) } else { nil } },
                { self = .held(heldID: $0.heldID) }) ? 1 : 0
        try seen +=
            walker.choice(
                18, "decided", { if case .decided(let it) = current { StoredMessage(message: it) } else { nil } },
                { self = .decided($0.message) }) ? 1 : 0
        try seen +=
            walker.choice(
                20, "imported", { if case .imported(let it) = current { it } else { nil } }, { self = .imported($0) })
            ? 1 : 0
        if W.isDecoding, seen != 1 { throw .missing("result") }
    }
}

/// `CommandResult.tapped`, and what a lane is told of its window.
public struct TapTotals: WireMessage, Hashable {
    public var results: [Int64]

    public static var blank: TapTotals { TapTotals(results: []) }

    public init(results: [Int64]) { self.results = results }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.repeated(1, "results", &results)
    }
}

/// `CommandResult.posted` and `RememberedResult.posted`.
struct PostedResult: WireMessage {
    var messageID = ""
    var place = MessagePlace.outside
    var time = Timestamp.blank
    var priority = Priority.normal
    var delivered: Int64?

    static var blank: PostedResult { PostedResult() }

    private init() {}

    init?(_ result: CommandResult) {
        guard case .posted(let messageID, let place, let time, let priority, let delivered) = result else {
            return nil
        }
        (self.messageID, self.place, self.time, self.priority) = (messageID, place, time, priority)
        self.delivered = delivered
    }

    init?(_ remembered: RememberedResult) {
        guard case .posted(let messageID, let place, let time, let priority, let delivered) = remembered else {
            return nil
        }
        (self.messageID, self.place, self.time, self.priority) = (messageID, place, time, priority)
        self.delivered = delivered
    }

    var remembered: RememberedResult {
        .posted(messageID: messageID, place: place, time: time, priority: priority, delivered: delivered)
    }

    var result: CommandResult {
        .posted(messageID: messageID, place: place, time: time, priority: priority, delivered: delivered)
    }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "messageId", &messageID)
        try place.walk(&walker, seq: 2, after: 3)
        try walker.shown(4, "time", &time)
        try walker.shown(5, "priority", &priority)
        try walker.optional(6, "delivered", &delivered)
    }
}
