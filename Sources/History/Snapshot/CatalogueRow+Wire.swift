import ChatModel
import Wire

/// The unit of a snapshot's stream. Field numbers are on the wire.
struct SnapshotRecord: WireMessage {
    /// First: as of which log entry the rows are.
    var index: UInt64?
    var row: CatalogueRow?
    /// Last: how many rows there were.
    var rowCount: UInt64?

    static var blank: SnapshotRecord { SnapshotRecord() }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.optional(1, "index", &index)
        var wired = row.map(WiredCatalogueRow.init)
        try walker.optional(2, "row", &wired)
        if W.isDecoding { row = wired?.row }
        try walker.optional(3, "rowCount", &rowCount)
    }
}

private struct WiredCatalogueRow: WireMessage {
    var row: CatalogueRow

    static var blank: WiredCatalogueRow {
        WiredCatalogueRow(
            row: CatalogueRow(room: .blank, incarnation: Incarnation(0), kind: 0, key: "", value: [], index: 0))
    }

    init(row: CatalogueRow) { self.row = row }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var kind = UInt32(row.kind)
        var incarnation = row.incarnation.number
        var value = row.value ?? []
        try walker.required(1, "room", &row.room)
        try walker.shown(2, "kind", &kind, .integers(0, Int64(UInt8.max)))
        try walker.shown(3, "key", &row.key)
        try walker.shown(4, "incarnation", &incarnation)
        try walker.shown(5, "index", &row.index)
        try walker.optional(6, "deadline", &row.deadline)
        try walker.shown(7, "value", &value)
        guard W.isDecoding else { return }
        guard let known = UInt8(exactly: kind) else {
            throw ChatError(.badParameter, "there is no kind \(kind) of row")
        }
        row.kind = known
        row.incarnation = Incarnation(incarnation)
        row.value = value
    }
}
