import ChatModel
import Wire

/// One row of history, or the recall of one that is not there, as it travels. Field numbers are on the wire.
struct HistoryRecord: WireMessage {
    var row: HistoryRow?
    /// Its `day` does not travel: it is the chunk's.
    var erasure: Erasure?

    static var blank: HistoryRecord { HistoryRecord() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var wiredRow = row.map(WiredHistoryRow.init)
        try walker.optional(1, "row", &wiredRow)
        var wiredErasure = erasure.map(WiredErasure.init)
        try walker.optional(2, "erasure", &wiredErasure)
        guard W.isDecoding else { return }
        (row, erasure) = (wiredRow?.row, wiredErasure?.erasure)
        if (row == nil) == (erasure == nil) { throw ChatError(.malformed, "there must be one of row and erasure") }
    }
}

private struct WiredHistoryRow: WireMessage {
    var row: HistoryRow

    static var blank: WiredHistoryRow {
        WiredHistoryRow(
            row: HistoryRow(
                incarnation: Incarnation(0), seq: 0, index: 0, time: Timestamp(0), type: 0, sender: nil, command: nil,
                payload: []))
    }

    init(row: HistoryRow) { self.row = row }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var incarnation = row.incarnation.number
        var type = Int64(row.type)
        var (high, low) = (row.command?.high, row.command?.low)
        try walker.shown(1, "incarnation", &incarnation)
        try walker.shown(2, "seq", &row.seq)
        try walker.shown(3, "index", &row.index)
        try walker.shown(4, "time", &row.time)
        try walker.shown(5, "type", &type)
        try walker.defaulted(6, "recalled", &row.recalled, default: false)
        try walker.optional(7, "commandHigh", &high)
        try walker.optional(8, "commandLow", &low)
        try walker.optional(9, "sender", &row.sender)
        try walker.shown(10, "payload", &row.payload)
        try walker.optional(11, "copies", &row.copies)
        guard W.isDecoding else { return }
        row.incarnation = Incarnation(incarnation)
        row.type = Int(clamping: type)
        row.command = if let high, let low { CommandKey(high: high, low: low) } else { nil }
    }
}

private struct WiredErasure: WireMessage {
    var erasure: Erasure

    static var blank: WiredErasure {
        WiredErasure(erasure: Erasure(incarnation: Incarnation(0), seq: 0, day: 0, index: 0))
    }

    init(erasure: Erasure) { self.erasure = erasure }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var incarnation = erasure.incarnation.number
        try walker.shown(1, "incarnation", &incarnation)
        try walker.shown(2, "seq", &erasure.seq)
        try walker.shown(3, "index", &erasure.index)
        try walker.optional(4, "replacement", &erasure.replacement)
        if W.isDecoding { erasure.incarnation = Incarnation(incarnation) }
    }
}
