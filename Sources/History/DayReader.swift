import ChatModel
import SQLite

/// A reading connection to one day's history. Used by one reader thread only.
///
/// A row is one of its own or in a block, and may go from the latter to the former at any time: whatever looks at both does so
/// on one state of the file.
final class DayReader {
    let database: Database
    private let bound: Statement
    private let last: Statement
    private var scans: [Scan: Statement] = [:]
    private let one: Statement
    private let state: Statement
    private let copies: Statement
    private var foundBlocks: BlockReader?
    private let vfs: String?

    /// The columns of each row that are read.
    enum Columns: String, CaseIterable {
        case all = "incarnation, seq, log_index, time, type, recalled, command_high, command_low, sender, payload"
        /// The payload is then empty: its pages are not read.
        case withoutPayload =
            "incarnation, seq, log_index, time, type, recalled, command_high, command_low, sender, NULL"
        /// In place of the payload the number of its bytes: its pages are not read either.
        case payloadLength =
            "incarnation, seq, log_index, time, type, recalled, command_high, command_low, sender, length(payload)"
    }

    private struct Scan: Hashable {
        var order: HistoryQuery.Order
        var columns: Columns
    }

    init(path: String, vfs: String?) throws(SQLiteError) {
        self.vfs = vfs
        var options = DatabaseOptions()
        options.readOnly = true
        // Only the writing connection may checkpoint (see `DatabaseOptions.checkpointPages`).
        options.leavesWriteAheadLogOnClose = true
        options.busyTimeoutMilliseconds = 1_000
        options.cacheKilobytes = 256
        options.vfs = vfs
        let database = try Database(path: path, options: options)
        do throws(SQLiteError) {
            self.database = database
            bound = try database.prepare(
                "SELECT seq, time FROM message WHERE incarnation = ? AND seq >= ? ORDER BY seq LIMIT 1")
            last = try database.prepare("SELECT seq FROM message WHERE incarnation = ? ORDER BY seq DESC LIMIT 1")
            for order in HistoryQuery.Order.allCases {
                for columns in Columns.allCases {
                    scans[Scan(order: order, columns: columns)] = try database.prepare(
                        """
                        SELECT \(columns.rawValue) FROM message WHERE incarnation = ? AND seq BETWEEN ? AND ?
                        ORDER BY seq \(order == .ascending ? "ASC" : "DESC")
                        """)
                }
            }
            one = try database.prepare("SELECT \(Columns.all.rawValue) FROM message WHERE incarnation = ? AND seq = ?")
            state = try database.prepare("SELECT time, recalled FROM message WHERE incarnation = ? AND seq = ?")
            copies = try database.prepare("SELECT payload FROM copies WHERE incarnation = ? AND seq = ?")
            foundBlocks = try BlockReader(database, vfs: vfs)
        } catch {
            database.close()
            throw error
        }
    }

    func close() {
        foundBlocks?.close()
        database.close()
    }

    /// The blocks of the state that is being read; nil: the file has none. The writing connection brings the table when the cluster's
    /// level does, so until then it is looked for each time.
    func blocks() throws(SQLiteError) -> BlockReader? {
        if foundBlocks == nil { foundBlocks = try BlockReader(database, vfs: vfs) }
        return foundBlocks
    }

    /// The first seq of a row at or after `time`; one after the last seq when all rows are older. Found by halving,
    /// since times do not fall while seqs grow.
    func firstSeq(_ incarnation: Incarnation, atOrAfter time: Timestamp) throws(SQLiteError) -> Int64 {
        try database.readTransaction { () throws(SQLiteError) in
            guard let last = try lastSeq(of: incarnation) else { return 0 }
            var high = last.addingReportingOverflow(1).partialValue
            var low: Int64 = 0
            while low < high {
                let middle = low + (high - low) / 2
                guard let row = try first(incarnation, from: middle) else { return high }
                if row.time >= time { high = middle } else { low = row.seq + 1 }
            }
            return low
        }
    }

    /// The first row at or after a seq.
    private func first(
        _ incarnation: Incarnation, from seq: Int64
    ) throws(SQLiteError) -> (seq: Int64, time: Timestamp)? {
        let inBlock = try blocks()?.first(incarnation, from: seq)
        bound.bind(bits: incarnation.number, 1)
        bound.bind(2, seq)
        defer { bound.reset() }
        let own = try bound.step() ? (seq: bound.int64(0), time: Timestamp(bound.int64(1))) : nil
        guard let inBlock else { return own }
        if let own, own.seq <= Int64(clamping: inBlock.seq) { return own }
        return (Int64(clamping: inBlock.seq), inBlock.time)
    }

    /// The seqs that a room has in the file, as a range; nil when it has none.
    func seqs(of life: Incarnation) throws(SQLiteError) -> ClosedRange<Int64>? {
        try database.readTransaction { () throws(SQLiteError) in
            guard let last = try lastSeq(of: life), let first = try first(life, from: .min)?.seq else { return nil }
            return first <= last ? first...last : nil
        }
    }

    private func lastSeq(of life: Incarnation) throws(SQLiteError) -> Int64? {
        let inBlock = try blocks()?.lastSeq(life)
        last.bind(bits: life.number, 1)
        defer { last.reset() }
        guard try last.step() else { return inBlock }
        return max(last.int64(0), inBlock ?? .min)
    }

    /// Walks over rows with seqs in `range` until `visit` returns false. Returns whether it has seen all of them.
    func scan(
        _ incarnation: Incarnation, _ range: ClosedRange<Int64>, in order: HistoryQuery.Order, columns: Columns,
        _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        guard let statement = scans[Scan(order: order, columns: columns)] else { return true }
        statement.bind(bits: incarnation.number, 1)
        statement.bind(2, range.lowerBound)
        statement.bind(3, range.upperBound)
        return try walk(
            statement, { $0.walk(incarnation, range, in: order) }, in: order, isWanted: { range.contains($0.seq) },
            visit)
    }

    /// Walks over rows of their own and those of blocks in one order until `visit` returns false. Returns whether it has seen
    /// all of them.
    ///
    /// - Parameters:
    ///   - rows: with the columns of `Columns`, and maybe more.
    ///   - walkBlocks: begins the walk over the blocks with such rows.
    ///   - isWanted: for rows of blocks; `rows` has no others.
    func walk(
        _ rows: Statement, _ walkBlocks: (BlockReader) -> Statement, in order: HistoryQuery.Order,
        isWanted: (Place) -> Bool, _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        try database.readTransaction { () throws(SQLiteError) in
            let blocks = try blocks()
            let walkedBlocks = blocks.map(walkBlocks)
            defer {
                rows.reset()
                walkedBlocks?.reset()
            }
            var hasBlock = try walkedBlocks?.step() ?? false
            var hasRow = try rows.step()
            while hasRow || hasBlock {
                if hasBlock, let walkedBlocks, let blocks {
                    let start = Place(life: walkedBlocks.int64(0), seq: walkedBlocks.int64(1))
                    let isFirst = !hasRow || (start < Place(of: rows)) == (order == .ascending)
                    if isFirst {
                        let block = try blocks.block(walkedBlocks)
                        guard try visitRows(of: block, in: order, isWanted, visit) else { return false }
                        hasBlock = try walkedBlocks.step()
                        continue
                    }
                }
                guard try visit(RowView(source: .own(rows, self))) else { return false }
                hasRow = try rows.step()
            }
            return true
        }
    }

    private func visitRows(
        of block: StoredBlock, in order: HistoryQuery.Order, _ isWanted: (Place) -> Bool,
        _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        let count = block.heads.rows.count
        for step in 0..<count {
            let number = order == .ascending ? step : count - 1 - step
            let view = RowView(source: .block(block, number))
            guard isWanted(Place(life: block.life, seq: view.seq)) else { continue }
            guard try visit(view) else { return false }
        }
        return true
    }

    func row(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> HistoryRow? {
        try database.readTransaction { () throws(SQLiteError) in
            guard let (block, number) = try blockRow(incarnation, seq: seq) else {
                return try ownRow(incarnation, seq: seq)
            }
            return try block.row(number)
        }
    }

    /// The row's block, and its place in it; nil when it is in none.
    private func blockRow(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> (StoredBlock, Int)? {
        guard let block = try blocks()?.block(incarnation, around: seq),
            let number = block.heads.number(of: UInt64(clamping: seq))
        else { return nil }
        return (block, number)
    }

    fileprivate func ownRow(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> HistoryRow? {
        one.bind(bits: incarnation.number, 1)
        one.bind(2, seq)
        defer { one.reset() }
        return try one.step() ? RowView(source: .own(one, self)).row() : nil
    }

    /// Whether a message is recalled, and its time; nil when there is none.
    func state(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> (time: Timestamp, recalled: Bool)? {
        try database.readTransaction { () throws(SQLiteError) in
            if let (block, number) = try blockRow(incarnation, seq: seq) {
                return (block.heads.rows[number].time, false)
            }
            state.bind(bits: incarnation.number, 1)
            state.bind(2, seq)
            defer { state.reset() }
            return try state.step() ? (Timestamp(state.int64(0)), state.int64(1) != 0) : nil
        }
    }

    /// The further content of a message; nil when there is none.
    func copies(_ incarnation: Incarnation, seq: Int64) throws(SQLiteError) -> [UInt8]? {
        copies.bind(bits: incarnation.number, 1)
        copies.bind(2, seq)
        defer { copies.reset() }
        return try copies.step() ? copies.bytes(0) : nil
    }
}

extension DayReader {
    /// The place of a row in its file.
    struct Place: Sendable, Hashable, Comparable {
        var life: Int64
        var seq: Int64

        static let start = Place(life: .min, seq: -1)

        init(life: Int64, seq: Int64) { (self.life, self.seq) = (life, seq) }

        /// The place of the row under a cursor.
        fileprivate init(of rows: Statement) { self.init(life: rows.int64(0), seq: rows.int64(1)) }

        static func < (a: Place, b: Place) -> Bool { (a.life, a.seq) < (b.life, b.seq) }
    }
}

/// The row that a walk is at, read column by column as needed.
struct RowView {
    fileprivate enum Source {
        case own(Statement, DayReader)
        case block(StoredBlock, Int)
    }

    fileprivate let source: Source

    fileprivate init(source: Source) { self.source = source }

    /// The row with its payload, where the walk is one without.
    func whole() throws(SQLiteError) -> HistoryRow? {
        switch source {
        case .own(_, let reader): try reader.ownRow(incarnation, seq: seq)
        case .block(let block, let number): try block.row(number)
        }
    }

    /// The statement of a row of its own, for columns beyond those that all have.
    var statement: Statement? {
        if case .own(let statement, _) = source { statement } else { nil }
    }

    var incarnation: Incarnation { Incarnation(UInt64(bitPattern: life)) }

    var life: Int64 {
        switch source {
        case .own(let statement, _): statement.int64(0)
        case .block(let block, _): block.life
        }
    }

    var seq: Int64 {
        switch source {
        case .own(let statement, _): statement.int64(1)
        case .block(let block, let number): Int64(clamping: block.heads.rows[number].seq)
        }
    }

    var index: UInt64 {
        switch source {
        case .own(let statement, _): UInt64(clamping: statement.int64(2))
        case .block(let block, let number): block.heads.rows[number].index
        }
    }

    var time: Timestamp {
        switch source {
        case .own(let statement, _): Timestamp(statement.int64(3))
        case .block(let block, let number): block.heads.rows[number].time
        }
    }

    var type: Int {
        switch source {
        case .own(let statement, _): Int(statement.int64(4))
        case .block(let block, let number): block.heads.rows[number].type
        }
    }

    var sender: String? {
        switch source {
        case .own(let statement, _): statement.optionalText(8)
        case .block(let block, let number): block.sender(number)
        }
    }

    /// The bytes of the payload, in a walk with `.payloadLength`.
    var payloadLength: Int {
        switch source {
        case .own(let statement, _): Int(statement.int64(9))
        case .block(let block, let number): block.heads.rows[number].payload.count
        }
    }

    var command: CommandKey? {
        switch source {
        case .own(let statement, _):
            statement.isNull(6) ? nil : CommandKey(high: statement.bits(6), low: statement.bits(7))
        case .block(let block, let number): block.heads.rows[number].command
        }
    }

    /// The row, with its payload as far as the walk reads that.
    func row(withPayload: Bool = true) throws(SQLiteError) -> HistoryRow {
        switch source {
        case .own(let statement, _):
            HistoryRow(
                incarnation: incarnation, seq: UInt64(clamping: seq), index: index, time: time, type: type,
                sender: sender,
                command: command, payload: statement.bytes(9), recalled: statement.int64(5) != 0)
        case .block(let block, let number):
            withPayload ? try block.row(number) : block.bare(number)
        }
    }
}
