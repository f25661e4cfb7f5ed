import ChatModel

/// The facts of one operation that whoever passes it on needs: a row of the table ``ClientOperation/row``.
public struct OperationRow: Sendable, Hashable {
    /// The part of the node that performs an operation, and how.
    public enum Handling: Sendable, Hashable {
        /// The gateway.
        case session
        case enter
        case exit
        /// Shown, and neither kept nor found again when it is repeated.
        case barrage
        /// The room's leader tells what it knows.
        case question
        /// The room's leader reads history.
        case reading
        /// A command in the room's log.
        case change
        /// Added up at the gateway, whose sums are commands in the room's log; with a `clientId` it is one by itself.
        case taps
    }

    /// Which rate an operation counts against (PROTOCOL.md, "Rates").
    public enum Rate: Sendable, Hashable {
        case read, change
        /// A read that has a rate of its own, too (PROTOCOL.md, "Search").
        case search
        /// Never refused for rate: a gateway reads only so much of one connection at a time.
        case barrage
        /// Requests and their taps (PROTOCOL.md, "Tallies").
        case taps
    }

    /// Whether a client may repeat the operation when its answer was lost.
    public enum Repetition: Sendable, Hashable {
        /// Nothing: the operation may have been performed.
        case never
        /// Ask again: a second time does nothing more.
        case harmless
        /// Ask again with the same `clientId`, if it has one (PROTOCOL.md, "Retry").
        case underItsID
    }

    public var handling: Handling
    public var rate: Rate
    public var repetition: Repetition
    /// Anonymous members receive and read, and do nothing that others would notice (PROTOCOL.md, "Mutes").
    public var isOpenToAnonymous: Bool
    /// nil for an operation on the session.
    public var room: RoomID?
    /// By which a repeat is known: one that was answered costs no rate (PROTOCOL.md, "Retry").
    public var clientID: String?
    /// The weight of a change (PROTOCOL.md, "Rates"): the bytes of its contents, decoded, whatever encoding it came in.
    public var contentBytes = 0
    /// How many taps it counts as.
    public var taps: Int64 = 0

    init(_ handling: Handling, _ rate: Rate, _ repetition: Repetition, isOpenToAnonymous: Bool) {
        self.handling = handling
        self.rate = rate
        self.repetition = repetition
        self.isOpenToAnonymous = isOpenToAnonymous
    }

    init(
        _ handling: Handling, _ rate: Rate, repetition: Repetition, isOpenToAnonymous: Bool,
        body: some OperationBody
    ) {
        self.init(handling, rate, repetition, isOpenToAnonymous: isOpenToAnonymous)
        room = body.room
        contentBytes = body.contentBytes
    }

    /// Answered from what the room's leader knows.
    static func question(_ body: some OperationBody, isOpenToAnonymous: Bool) -> OperationRow {
        OperationRow(.question, .read, repetition: .harmless, isOpenToAnonymous: isOpenToAnonymous, body: body)
    }

    /// Answered from history.
    static func reading(_ body: some OperationBody) -> OperationRow {
        OperationRow(.reading, .read, repetition: .harmless, isOpenToAnonymous: true, body: body)
    }

    /// A command, which no anonymous member gives.
    static func change(_ body: some OperationBody, _ clientID: String?) -> OperationRow {
        var row = OperationRow(.change, .change, repetition: .underItsID, isOpenToAnonymous: false, body: body)
        row.clientID = clientID
        return row
    }

    /// Taps, which no anonymous member gives. Only those with a `clientId` may be repeated.
    static func taps(_ body: some OperationBody, _ count: Int64, _ clientID: String?) -> OperationRow {
        var row = OperationRow(
            .taps, .taps, repetition: clientID == nil ? .never : .underItsID, isOpenToAnonymous: false, body: body)
        (row.clientID, row.taps) = (clientID, count)
        return row
    }

    /// Whether it only tells what is, and so must not be answered by a leader that has been replaced.
    public var mustBeCurrent: Bool {
        switch handling {
        case .enter, .question, .reading: true
        case .session, .exit, .barrage, .change, .taps: false
        }
    }
}

extension ClientOperation {
    /// Whether it needs the right to speak, which whoever is muted has lost (PROTOCOL.md, "Mutes").
    public var needsVoice: Bool {
        switch self {
        case .send, .barrage, .amend, .tally, .queueSet, .queueSetMany, .queueTake, .queueClear: true
        default: false
        }
    }
}

/// The fields of an operation on a room.
protocol OperationBody: WireMessage {
    var room: RoomID { get }
    /// The weight of a change: the bytes of what it sets or shows.
    var contentBytes: Int { get }
}

extension OperationBody {
    var contentBytes: Int { 0 }

    func bytes(_ texts: String?...) -> Int { texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
}

extension MessageDraft {
    var contentBytes: Int {
        (ext?.utf8.count ?? 0) + mentions.reduce(0) { $0 + $1.text.utf8.count }
            + to.reduce(0) { $0 + $1.text.utf8.count } + body.textBytes
    }
}
