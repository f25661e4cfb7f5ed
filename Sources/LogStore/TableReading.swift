import Consensus
import SQLite

/// All rows of the table, verified.
struct TableReading {
    private(set) var logs: [GroupID: GroupEntries] = [:]
    /// Rows that were trimmed but not deleted yet.
    private(set) var useless: [Int64] = []
    private(set) var lastRow: Int64 = 0

    init(_ table: LogTable) throws {
        try readStates(table)
        try readEntries(table)
    }

    private mutating func readStates(_ table: LogTable) throws {
        let statement = try table.database.prepare("SELECT number, checksum, state FROM consensus_group")
        while try statement.step() {
            let bytes = statement.bytes(2)
            guard let number = UInt16(exactly: statement.int64(0)), statement.int64(1) == Int64(CRC32C.of(bytes)),
                let state = GroupState(encoded: bytes)
            else { throw LogDamage("the state of group \(statement.int64(0)) does not match its checksum") }
            let log = GroupEntries()
            log.state = state
            logs[GroupID(number)] = log
        }
    }

    private static func forEachRow(_ table: LogTable, _ body: (Int64, EntryHeader) throws -> Void) throws {
        let statement = try table.database.prepare(
            "SELECT id, group_number, log_index, term, kind, checksum, payload FROM entry ORDER BY id")
        while try statement.step() {
            let row = statement.int64(0)
            guard let header = EntryHeader(statement, firstColumn: 1) else {
                throw LogDamage("row \(row) does not match its checksum")
            }
            try body(row, header)
        }
    }

    private mutating func readEntries(_ table: LogTable) throws {
        // The rows of one group mostly stand together; this spares looking it up for each.
        var current: (group: GroupID, log: GroupEntries)?
        try Self.forEachRow(table) { row, header in
            lastRow = row
            let log: GroupEntries
            if let current, current.group == header.group {
                log = current.log
            } else {
                // A group's first save writes its state, so entries without one have lost it.
                guard let found = logs[header.group] else {
                    throw LogDamage("group \(header.group.number) has entries and no state")
                }
                log = found
                current = (header.group, found)
            }
            if header.index <= log.state.trimmed.index {
                useless.append(row)
                return
            }
            guard header.index == log.lastIndex + 1 else {
                throw LogDamage(
                    "group \(header.group.number) continues with entry \(header.index) after \(log.lastIndex)")
            }
            guard header.term >= log.term(at: log.lastIndex) ?? 0 else {
                throw LogDamage("the term falls at entry \(header.index) of group \(header.group.number)")
            }
            log.append(EntryPlace(row: row), index: header.index, term: header.term, kind: header.kind)
        }
    }

    /// The rows alone: those that the segments of a converted log may still need.
    static func rows(of table: LogTable) throws -> [(group: GroupID, header: EntryHeader, row: Int64)] {
        var rows: [(group: GroupID, header: EntryHeader, row: Int64)] = []
        try forEachRow(table) { row, header in rows.append((header.group, header, row)) }
        return rows
    }
}
