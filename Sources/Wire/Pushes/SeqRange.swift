import ChatModel

/// Seqs of a room from the first to the last, both included: a pair of numbers in JSON.
public struct SeqRange: Sendable, Hashable {
    public var from: UInt64
    public var to: UInt64

    public init(from: UInt64, to: UInt64) {
        self.from = from
        self.to = to
    }

    public init(_ range: ClosedRange<UInt64>) { self.init(from: range.lowerBound, to: range.upperBound) }
}

extension SeqRange: WireMessage {
    public static var blank: SeqRange { SeqRange(from: 0, to: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "from", &from)
        try walker.shown(2, "to", &to)
    }

    public func writeJSON(to writer: inout JSONWriter) throws(ChatError) {
        try writer.appendArray(count: 2) { writer, index throws(ChatError) in
            (index == 0 ? from : to).writeJSON(to: &writer)
        }
    }

    public static func readJSON(_ value: JSONValue) throws(ChatError) -> SeqRange {
        var numbers: [UInt64] = []
        try value.forEachItem { item throws(ChatError) in
            guard numbers.count < 2 else { throw .wrongType("a pair") }
            numbers.append(try item.uint64())
        }
        guard let from = numbers.first, let to = numbers.dropFirst().first else { throw .wrongType("a pair") }
        return SeqRange(from: from, to: to)
    }
}

/// Why a session did not receive messages.
public enum GapCause: String, WireEnum, Hashable {
    /// The session was too slow to take them.
    case slow = "SLOW"
    /// The room said more than a viewer is shown.
    case budget = "BUDGET"

    public static var blank: GapCause { .slow }
    public var number: Int {
        switch self {
        case .slow: 1
        case .budget: 2
        }
    }

    /// Only clients read causes. A cause of a later version is taken for BUDGET, with which a client does nothing
    /// unasked; the gap itself must be told.
    public static func readJSON(_ value: JSONValue) throws(ChatError) -> GapCause {
        GapCause(exactly: try value.string()) ?? .budget
    }
    public static func readProtobuf(_ value: ProtobufValue) throws(ChatError) -> GapCause {
        try value.varint() == UInt64(GapCause.slow.number) ? .slow : .budget
    }
}

/// The status of a room that the session is in.
public enum RoomStatus: String, WireEnum, Hashable {
    /// The room's owner is away.
    case lost = "LOST"
    /// It is back: nothing to do, no hole.
    case entered = "ENTERED"
    /// It will not come back for this session.
    case failed = "FAILED"

    public static var blank: RoomStatus { .lost }
    public var number: Int {
        switch self {
        case .lost: 1
        case .entered: 2
        case .failed: 3
        }
    }
}
