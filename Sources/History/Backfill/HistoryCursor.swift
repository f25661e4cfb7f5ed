import ChatModel
import Wire

/// A place in a day's history: behind one row of one of its two tables, messages first.
public struct HistoryCursor: Sendable, Hashable {
    enum Table: UInt32 {
        case messages = 1
        /// Recalls of messages that are not there.
        case tombstones = 2
    }

    var table: Table
    var incarnation: Incarnation
    var seq: UInt64

    init(_ table: Table, _ incarnation: Incarnation, seq: UInt64) {
        self.table = table
        self.incarnation = incarnation
        self.seq = seq
    }

    /// For the wire and the disk.
    public var encoded: [UInt8] { WireProtobuf.encode(WiredCursor(cursor: self)) }

    /// Throws `.malformed`.
    public init(decoding bytes: [UInt8]) throws(StorageError) {
        do throws(ChatError) {
            self = try WireProtobuf.decode(WiredCursor.self, from: bytes, limits: true).cursor
        } catch {
            throw StorageError(.malformed, "no place in a day's history: \(error.message)")
        }
    }
}

private struct WiredCursor: WireMessage {
    var cursor: HistoryCursor

    static var blank: WiredCursor { WiredCursor(cursor: HistoryCursor(.messages, Incarnation(0), seq: 0)) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var table = cursor.table.rawValue
        var incarnation = cursor.incarnation.number
        try walker.required(1, "table", &table)
        try walker.shown(2, "incarnation", &incarnation)
        try walker.shown(3, "seq", &cursor.seq)
        guard W.isDecoding else { return }
        guard let known = HistoryCursor.Table(rawValue: table) else {
            throw ChatError(.badParameter, "there is no table \(table)")
        }
        cursor.table = known
        cursor.incarnation = Incarnation(incarnation)
    }
}
