import ChatModel
import Consensus
import SQLite

/// Version 2 of the log: an entry is a row of `log.sqlite`. Written until the cluster's feature level brings segments.
final class TableHome: LogHome {
    let table: LogTable
    private let checkpointPages: Int
    /// Trimmed rows to delete when there is time.
    private var useless: Fifo<Int64>
    private var lastRow: Int64
    /// Those that the open transaction writes and deletes.
    private var preparedRow: Int64
    private var deleted = 0
    /// A failed transaction may have left frames behind the end of the write-ahead log. Before the next commit the log
    /// is emptied: they would look like transactions that were saved after a damaged one (see `WriteAheadLogCheck`).
    private var hasLeftovers = false
    private var isCheckpointed = false

    /// Rows that one idle transaction deletes: about a millisecond, by which it may delay a save.
    private static let idleSliceRows = 512

    init(_ table: LogTable, useless: [Int64], lastRow: Int64, checkpointPages: Int) {
        self.table = table
        self.useless = Fifo(useless)
        self.lastRow = lastRow
        preparedRow = lastRow
        self.checkpointPages = checkpointPages
    }

    var hasUpkeep: Bool { !useless.isEmpty }
    func startIsOver() {}

    var uselessEntries: Int { useless.count }

    func prepare(
        _ changes: inout [GroupID: GroupChange], _ logs: [GroupID: GroupEntries], isBare: Bool
    ) throws(SQLiteError) {
        if hasLeftovers { try removeLeftovers() }
        try table.database.begin()
        var entries = 0
        for group in Array(changes.keys) {
            guard var change = changes.removeValue(forKey: group) else { continue }
            for place in change.removed { try table.delete(row: place.start) }
            for entry in change.entries {
                preparedRow += 1
                try table.insert(entry, group: group, row: preparedRow)
                change.places.append(EntryPlace(row: preparedRow))
            }
            if change.isStateChanged || change.isNew { try table.write(change.state, group: group) }
            entries += change.entries.count
            changes[group] = change
        }
        // Twice as many as come in, so that the table does not grow under load; more when nothing comes in.
        guard !isBare else { return }
        let slice = entries == 0 ? Self.idleSliceRows : min(Self.idleSliceRows, max(16, 2 * entries))
        while deleted < slice, deleted < useless.count {
            try table.delete(row: useless[deleted])
            deleted += 1
        }
    }

    func commit() throws(SQLiteError) {
        isCheckpointed = false
        try table.database.commit()
    }

    func undo() throws(SQLiteError) {
        hasLeftovers = true
        preparedRow = lastRow
        deleted = 0
        try table.database.rollback()
    }

    private func removeLeftovers() throws(SQLiteError) {
        guard try table.database.checkpoint(.truncate).isComplete else {
            throw SQLiteError(code: .busy, message: "the write-ahead log cannot be emptied")
        }
        hasLeftovers = false
    }

    func adopt(_ group: GroupID, places: [EntryPlace], cut: [EntryPlace], trimmed: [EntryPlace]) {
        useless.append(contentsOf: trimmed.lazy.map(\.start))
    }

    func didAdopt(_ logs: [GroupID: GroupEntries]) {
        useless.removeFirst(deleted)
        deleted = 0
        lastRow = preparedRow
    }

    func touch(_ logs: [GroupID: GroupEntries]) throws(SQLiteError) {
        if hasLeftovers { try removeLeftovers() }
        try table.database.begin()
        try table.touch()
        try table.database.commit()
    }

    func entry(at place: EntryPlace, of group: GroupID) throws(SQLiteError) -> Entry? {
        try table.entry(row: place.start, group: group)
    }

    // MARK: - Checkpoints

    /// The write-ahead log keeps its length after a checkpoint, until the next commit.
    var isTidyDue: Bool { !isCheckpointed && table.database.writeAheadLogPages >= checkpointPages }

    func tidy() throws(SQLiteError) {
        _ = try table.database.checkpoint(.passive)
        isCheckpointed = true
    }

    /// From here on segments are written: programs that do not know them no longer open this log.
    func end() throws(SQLiteError) {
        if hasLeftovers { try removeLeftovers() }
        try table.database.transaction { () throws(SQLiteError) in try table.setVersion(LogTable.segmentsVersion) }
        guard try table.database.checkpoint(.truncate).isComplete else {
            throw SQLiteError(code: .busy, message: "the write-ahead log cannot be emptied")
        }
    }

    func close(isTrusted: Bool) {
        // Pages that could not be brought to the file stay in the write-ahead log.
        if isTrusted { do throws(SQLiteError) { _ = try table.database.checkpoint(.truncate) } catch {} }
        table.database.close()
    }
}
