import ChatModel
import Consensus
import Wire

extension ReplicationMessage {
    /// As it travels: the payload of a frame of the bulk lane.
    public var encoded: [UInt8] { WireProtobuf.encode(WiredReplication(self)) }

    /// Throws `malformed`.
    public init(decoding bytes: [UInt8]) throws(ReplicationError) {
        do throws(ChatError) {
            self = try WireProtobuf.decode(WiredReplication.self, from: bytes, limits: true).message()
        } catch {
            throw ReplicationError(.malformed, "no message of a transfer: \(error.message)")
        }
    }
}

/// The kind of a message. Numbers are on the wire.
private enum Kind: String, WireEnum {
    case askSnapshot = "ASK_SNAPSHOT"
    case beginSnapshot = "BEGIN_SNAPSHOT"
    case snapshotChunk = "SNAPSHOT_CHUNK"
    case endSnapshot = "END_SNAPSHOT"
    case askDays = "ASK_DAYS"
    case days = "DAYS"
    case askHistory = "ASK_HISTORY"
    case history = "HISTORY"
    case abort = "ABORT"
    case complete = "COMPLETE"

    static var blank: Kind { .abort }

    var number: Int {
        switch self {
        case .askSnapshot: 1
        case .beginSnapshot: 2
        case .snapshotChunk: 3
        case .endSnapshot: 4
        case .askDays: 5
        case .days: 6
        case .askHistory: 7
        case .history: 8
        case .abort: 9
        case .complete: 10
        }
    }
}

/// A message with the fields of all kinds; what a kind does not use is not there.
private struct WiredReplication: WireMessage {
    var group: UInt32 = 0
    var transfer: UInt64 = 0
    var kind = Kind.blank
    /// The snapshot's, or the one that the source must have applied.
    var index: UInt64 = 0
    var term: UInt64 = 0
    /// Encoded as in the log.
    var membership: [UInt8] = []
    /// Chunk numbers: the next or only one, and where they end.
    var number: UInt32 = 0
    var end: UInt32 = 0
    var flag = false
    var bytes: [UInt8] = []
    var checksum: UInt64 = 0
    var days: [WiredDay] = []
    var day: Int64 = 0
    var cursor: [UInt8] = []
    var next: [UInt8]?
    var changedAfter: UInt64 = 0
    var offset: UInt64 = 0
    var total: UInt64 = 0
    var code = ""
    var reason = ""
    /// The store of the sender's data directory.
    var store: UInt64 = 0

    static var blank: WiredReplication { WiredReplication() }
    static var schemaName: String { "ReplicationMessage" }

    /// A cursor is a few numbers.
    private static let cursorBytesMax = 64

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "group", &group, .integers(0, Int64(UInt16.max)))
        try walker.required(2, "transfer", &transfer)
        try walker.required(3, "kind", &kind)
        try walker.shown(4, "index", &index)
        try walker.shown(5, "term", &term)
        try walker.shown(6, "membership", &membership)
        try walker.shown(7, "number", &number)
        try walker.shown(8, "end", &end)
        try walker.defaulted(9, "flag", &flag, default: false)
        try walker.shown(10, "bytes", &bytes, .bytes(TransferConfiguration.chunkBytesMax))
        try walker.shown(11, "checksum", &checksum)
        try walker.repeated(12, "days", &days, itemsMax: Limits.historyFilesPerShard)
        try walker.shown(13, "day", &day)
        try walker.shown(14, "cursor", &cursor, .bytes(Self.cursorBytesMax))
        try walker.optional(15, "next", &next, .bytes(Self.cursorBytesMax))
        try walker.shown(16, "changedAfter", &changedAfter)
        try walker.shown(17, "offset", &offset)
        try walker.shown(18, "total", &total)
        try walker.shown(19, "code", &code, .bytes(64))
        try walker.shown(20, "reason", &reason)
        try walker.shown(21, "store", &store)
    }

    init() {}

    init(_ message: ReplicationMessage) {
        group = UInt32(message.group.number)
        transfer = message.transfer
        switch message.body {
        case .askSnapshot(let at, let first, let last, let isRepeat):
            (kind, index, number, end, flag) = (.askSnapshot, at, first, last, isRepeat)
        case .beginSnapshot(let mark):
            (kind, index, term, membership) = (.beginSnapshot, mark.index, mark.term, mark.membership.encoded())
        case .snapshotChunk(let at, let chunk): (kind, number, bytes) = (.snapshotChunk, at, chunk)
        case .endSnapshot(let chunks, let sum): (kind, end, checksum) = (.endSnapshot, chunks, sum)
        case .askDays(let at): (kind, index) = (.askDays, at)
        case .days(let list): (kind, days) = (.days, list.map(WiredDay.init))
        case .askHistory(let question):
            (kind, day, cursor, offset) = (.askHistory, question.day, question.cursor, question.offset)
            (changedAfter, index) = (question.changedAfter, question.index)
        case .history(let part):
            (kind, day, cursor, offset) = (.history, part.day, part.cursor, part.offset)
            (total, checksum, bytes, next) = (part.total, part.checksum, part.bytes, part.next)
        case .abort(let error): (kind, code, reason) = (.abort, error.code.rawValue, error.message)
        case .complete(let ofStore, let upTo): (kind, store, index) = (.complete, ofStore, upTo)
        }
    }

    func message() throws(ChatError) -> ReplicationMessage {
        guard let group = UInt16(exactly: group) else { throw ChatError(.badParameter, "there is no group \(group)") }
        return ReplicationMessage(group: GroupID(group), transfer: transfer, try body())
    }

    private func body() throws(ChatError) -> ReplicationMessage.Body {
        switch kind {
        case .askSnapshot: return .askSnapshot(index: index, next: number, end: end, isRepeat: flag)
        case .beginSnapshot:
            guard let membership = GroupMembership(decoding: membership) else {
                throw ChatError(.badParameter, "a snapshot without a membership")
            }
            return .beginSnapshot(SnapshotMark(index: index, term: term, membership: membership))
        case .snapshotChunk: return .snapshotChunk(number: number, bytes)
        case .endSnapshot: return .endSnapshot(chunks: end, checksum: checksum)
        case .askDays: return .askDays(index: index)
        case .days: return .days(days.map(\.day))
        case .askHistory:
            return .askHistory(
                HistoryQuestion(day: day, cursor: cursor, changedAfter: changedAfter, index: index, offset: offset))
        case .history:
            return .history(
                HistoryPart(
                    day: day, cursor: cursor, offset: offset, total: total, checksum: checksum, bytes: bytes,
                    next: next))
        case .complete: return .complete(store: store, index: index)
        case .abort:
            // A reason that only a newer program knows is still the end.
            return .abort(ReplicationError(ReplicationError.Code(rawValue: code) ?? .source, reason))
        }
    }
}

private struct WiredDay: WireMessage {
    var day: HistoryDay

    init(_ day: HistoryDay) { self.day = day }

    static var blank: WiredDay { WiredDay(HistoryDay(day: 0, lastIndex: 0)) }
    static var schemaName: String { "HistoryDay" }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.shown(1, "day", &day.day)
        try walker.shown(2, "lastIndex", &day.lastIndex)
    }
}
