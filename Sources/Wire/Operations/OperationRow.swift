import ChatModel

/// The declaration of an operation: a row of the table in Operations.swift.
struct OperationDeclaration: Sendable {
    enum Users: Sendable {
        case everybody
        /// Not anonymous members, who receive and read, and do nothing that others would notice (PROTOCOL.md, "Mutes").
        case members
    }

    /// The field's, in protobuf.
    let number: Int
    /// The key, in JSON.
    let name: StaticString
    let handling: OperationRow.Handling
    let rate: OperationRow.Rate
    let repetition: OperationRow.Repetition
    let users: Users

    init(
        _ number: Int, _ name: StaticString, _ handling: OperationRow.Handling, _ rate: OperationRow.Rate,
        _ repetition: OperationRow.Repetition, _ users: Users
    ) {
        (self.number, self.name, self.handling, self.rate) = (number, name, handling, rate)
        (self.repetition, self.users) = (repetition, users)
    }

    /// The same where it only asks, and changes nothing.
    var question: OperationDeclaration { OperationDeclaration(number, name, .question, .read, .harmless, users) }
}

extension FieldWalker {
    /// One operation of a choice between all of them.
    /// - Returns: 1 when it was there (when reading) or written, else 0.
    @inline(__always)
    mutating func choice<V: WireValue>(
        _ operation: OperationDeclaration, _ current: () -> V?, _ set: (V) -> Void
    ) throws(ChatError) -> Int {
        try choice(operation.number, operation.name, protobufName: nil, current, set) ? 1 : 0
    }
}

/// The facts of one request that whoever passes it on needs.
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

    init(_ operation: OperationDeclaration) {
        (handling, rate, repetition) = (operation.handling, operation.rate, operation.repetition)
        isOpenToAnonymous = operation.users == .everybody
    }

    init(_ operation: OperationDeclaration, _ body: some OperationBody, taps: Int64 = 0) {
        // Barrage and reads have nothing by which a repeat is known.
        let id = operation.repetition == .underItsID ? body.commandID : nil
        let isNamed = operation.handling != .taps || operation.repetition != .underItsID || id != nil
        (handling, rate, repetition) = (operation.handling, operation.rate, isNamed ? operation.repetition : .never)
        isOpenToAnonymous = operation.users == .everybody
        (room, clientID, contentBytes, self.taps) = (body.room, id, body.contentBytes, taps)
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
        case .send, .barrage, .amend, .tally, .upload, .queueSet, .queueSetMany, .queueTake, .queueClear: true
        default: false
        }
    }
}

/// The fields of an operation on a room.
protocol OperationBody: WireMessage {
    var room: RoomID { get }
    /// The `clientId` of a change.
    var commandID: String? { get }
    /// The weight of a change: the bytes of what it sets or shows.
    var contentBytes: Int { get }
}

/// The fields of a change that may have a `clientId`.
protocol ChangeBody: OperationBody {
    var clientID: String? { get }
}

extension ChangeBody {
    var commandID: String? { clientID }
}

extension OperationBody {
    var commandID: String? { nil }
    var contentBytes: Int { 0 }

    func bytes(_ texts: String?...) -> Int { texts.reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
}

extension MessageDraft {
    var contentBytes: Int {
        (ext?.utf8.count ?? 0) + mentions.reduce(0) { $0 + $1.text.utf8.count }
            + to.reduce(0) { $0 + $1.text.utf8.count } + body.textBytes
    }
}
