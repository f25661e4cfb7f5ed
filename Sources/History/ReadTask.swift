import ChatModel
import SQLite

/// A read that runs in slices on a reader thread.
protocol ReadTask: Sendable {
    associatedtype Value: Sendable
    /// Does a bounded part of the work; the value when it is done.
    mutating func slice(open: FileOpener) throws(SQLiteError) -> Value?
}

enum ReadSlice {
    /// About two milliseconds of looking at rows.
    static let rowsMax = 2_048
    /// The most rows that are read with their messages, each of which may have 32 KB and more.
    static let payloadRowsMax = 32
    /// The most files that are looked at in vain.
    static let filesMax = 32
    /// Reads of nobody's any more that are dropped at a time.
    static let skippedMax = 256
}

/// A page of history. It ends with its limit of rows, or before a message that would make it longer than a reply may be.
struct PageTask: ReadTask {
    private let query: HistoryQuery
    private let limit: Int
    private let shownBytes: @Sendable ([UInt8]) -> Int
    private let reader: HistoryReader?
    /// Rows that are looked at and not wanted are read without their messages.
    private let columns: DayReader.Columns
    private var scan: HistoryScan
    private var quotes: QuoteCheck
    private var rows: [HistoryRow] = []
    private var bytes = 0
    /// Whether more rows follow the page, once all of its own have been found.
    private var more: Bool?

    init(
        _ query: HistoryQuery, files: [HistoryFile], _ configuration: StorageConfiguration, reader: HistoryReader?,
        runs: TypeRuns?
    ) {
        let cutoffs = configuration.cutoffs(room: query.visibleSince)
        self.query = query
        shownBytes = configuration.shownBytes
        quotes = QuoteCheck(files: files, cutoffs: cutoffs, configuration)
        self.reader = reader
        limit = min(max(query.limit, 1), Int(Limits.pageItems))
        columns = query.withoutPayload || query.types != nil || query.sender != nil ? .withoutPayload : .all
        scan = HistoryScan(query, files: files, cutoffs: cutoffs, runs: runs)
    }

    mutating func slice(open: FileOpener) throws(SQLiteError) -> StoredPage? {
        if let more {
            guard try quotes.slice(&rows, open: open) else { return nil }
            return StoredPage(rows: rows, more: more)
        }
        var (found, bytes, more) = (rows, bytes, false)
        let rowsMax = columns == .all ? ReadSlice.payloadRowsMax : ReadSlice.rowsMax
        let isOver = try scan.slice(rowsMax: rowsMax, columns, open: open) {
            [query, limit, columns, reader, shownBytes] (row) throws(SQLiteError) in
            if reader?.isGone == true { return false }
            if let types = query.types, !types.contains(row.type) { return true }
            if let sender = query.sender, row.sender?.utf8.elementsEqual(sender.utf8) != true { return true }
            if found.count == limit {
                more = true
                return false
            }
            let isWhole = columns == .all || query.withoutPayload
            guard let one = isWhole ? try row.row(withPayload: !query.withoutPayload) : try row.whole() else {
                return true
            }
            if !query.withoutPayload {
                bytes += shownBytes(one.payload)
                if bytes > Limits.pageBytes, !found.isEmpty {
                    more = true
                    return false
                }
            }
            found.append(one)
            return true
        }
        (rows, self.bytes) = (found, bytes)
        guard isOver else { return nil }
        if query.withoutPayload { return StoredPage(rows: rows, more: more) }
        self.more = more
        guard try quotes.slice(&rows, open: open) else { return nil }
        return StoredPage(rows: rows, more: more)
    }
}

/// One message, looked for in the newest file first.
struct MessageTask: ReadTask {
    let incarnation: Incarnation
    let seq: UInt64
    /// With what it holds besides.
    let withCopies: Bool
    private let cutoffs: HistoryCutoffs
    /// Still to be looked at, the newest last.
    private var files: [HistoryFile]
    private var quotes: QuoteCheck
    private var found: HistoryRow?

    init(
        _ incarnation: Incarnation, seq: UInt64, withCopies: Bool, files: [HistoryFile], cutoffs: HistoryCutoffs,
        _ configuration: StorageConfiguration
    ) {
        (self.incarnation, self.seq, self.withCopies, self.cutoffs) = (incarnation, seq, withCopies, cutoffs)
        self.files = files.filter(cutoffs.shows)
        quotes = QuoteCheck(files: files, cutoffs: cutoffs, configuration)
    }

    mutating func slice(open: FileOpener) throws(SQLiteError) -> HistoryRow?? {
        if found == nil {
            var filesLeft = ReadSlice.filesMax
            while found == nil, let file = files.popLast() {
                let seq = Int64(clamping: seq)
                if let reader = try open(file), var row = try reader.row(incarnation, seq: seq) {
                    guard row.time >= cutoffs.of(file.life) else { return .some(nil) }
                    if withCopies, !row.recalled { row.copies = try reader.copies(incarnation, seq: seq) }
                    found = row
                }
                filesLeft -= 1
                if filesLeft == 0 { break }
            }
        }
        guard let found else { return files.isEmpty ? .some(nil) : nil }
        var rows = [found]
        let isChecked = try quotes.slice(&rows, open: open)
        self.found = rows[0]
        return isChecked ? .some(rows[0]) : nil
    }
}

/// The end of a room's history: its newest rows, then the commands of the last minutes before the newest message that the
/// room's own row knows. Log entries that are applied to the room afterwards are stamped later than that, however much
/// later they are applied, and judge by their stamps whether a command is a repeat.
struct TailTask: ReadTask {
    struct Tail: Sendable {
        var rows: [HistoryRow] = []
        /// Newest first.
        var commands: [RememberedCommand] = []

        /// Adds commands of messages whose rows were not found.
        mutating func add(_ kept: [RememberedCommand]) {
            guard !kept.isEmpty else { return }
            let found = Set(commands.map(\.seq))
            commands = (commands + kept.filter { !found.contains($0.seq) }).sorted { $0.seq > $1.seq }
        }
    }

    /// A room that has said nothing for longer comes without older messages: whoever wants them reads history.
    private static let filesMax = 64

    private let rowsMax: Int
    private let roomIndex: UInt64
    private let memorySeconds: Int64
    private let earliest: Timestamp
    private let kept: [RememberedCommand]
    private var commandsSince: Timestamp?
    private var scan: HistoryScan
    private var commandScan: HistoryScan
    private var hasRows: Bool
    private var hasCommands = false
    /// nil: the rows are not for anybody to read.
    private var quotes: QuoteCheck?
    private var tail = Tail()

    /// - Parameters:
    ///   - roomIndex: of the log entry that changed the room's own row last; rows of later ones may be here already.
    ///   - memorySeconds: for how long a command is remembered.
    ///   - kept: commands of messages whose rows may be missing (`CommandRows`), in any order.
    ///   - quotes: for rows that are shown.
    ///   - earliest: of commands of `kept`.
    init(
        _ incarnation: Incarnation, files: [HistoryFile], cutoffs: HistoryCutoffs, earliest: Timestamp, rowsMax: Int,
        roomIndex: UInt64,
        memorySeconds: Int64, kept: [RememberedCommand], quotes: QuoteCheck? = nil
    ) {
        self.quotes = quotes
        let query = HistoryQuery(incarnation: incarnation)
        self.rowsMax = rowsMax
        self.roomIndex = roomIndex
        self.memorySeconds = memorySeconds
        self.earliest = earliest
        self.kept = kept
        scan = HistoryScan(query, files: files, cutoffs: cutoffs, filesMax: Self.filesMax)
        commandScan = HistoryScan(query, files: files, cutoffs: cutoffs, filesMax: Self.filesMax)
        hasRows = rowsMax <= 0
    }

    mutating func slice(open: FileOpener) throws(SQLiteError) -> Tail? {
        var tail = self.tail
        if !hasRows {
            hasRows = try scan.slice(rowsMax: ReadSlice.payloadRowsMax, open: open) {
                [rowsMax] (row) throws(SQLiteError) in
                tail.rows.append(try row.row())
                return tail.rows.count < rowsMax
            }
            if hasRows { tail.rows.reverse() }
            self.tail = tail
            return nil
        }
        if hasCommands { return try checkedTail(open: open) }
        var since = commandsSince
        let isOver = try commandScan.slice(rowsMax: ReadSlice.rowsMax, .withoutPayload, open: open) {
            [roomIndex, memorySeconds] row in
            if since == nil, row.index <= roomIndex { since = row.time.adding(seconds: -memorySeconds) }
            if let since, row.time < since { return false }
            if let key = row.command {
                tail.commands.append(RememberedCommand(key: key, seq: UInt64(clamping: row.seq), time: row.time))
            }
            return true
        }
        (self.tail, commandsSince) = (tail, since)
        guard isOver else { return nil }
        let first = max(earliest, since ?? earliest)
        tail.add(kept.filter { $0.time >= first })
        self.tail = tail
        hasCommands = true
        return try checkedTail(open: open)
    }

    private mutating func checkedTail(open: FileOpener) throws(SQLiteError) -> Tail? {
        guard var quotes else { return tail }
        let isOver = try quotes.slice(&tail.rows, open: open)
        self.quotes = quotes
        return isOver ? tail : nil
    }
}
