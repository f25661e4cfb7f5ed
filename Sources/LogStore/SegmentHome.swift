import ChatModel
import Consensus
import SQLite

/// Version 3 of the log: a transaction of all groups is one record at the end of a segment, written by one call and
/// synced. `log.sqlite` keeps the store's identity, and its tables what has not been copied out of them yet.
///
/// A segment goes when none of its entries is needed any more, the oldest first. Entries that an idle group still needs there are
/// copied to the newest one, a slice with each transaction, once more than half of what the segments take is of no use:
/// so the log is bounded by what is needed, whoever needs it. Each segment begins with the state of all groups.
final class SegmentHome: LogHome {
    let configuration: LogStoreConfiguration
    private let store: UInt64
    private let table: LogTable
    /// Ascending, without gaps; the last one is being written.
    private var segments: [Segment]
    /// Files for the next segments, in the order in which they are used: the oldest content first, so that the numbers
    /// of those that are left have no gaps, whenever a crash comes.
    private var free: Fifo<SegmentFile>
    private var opened: OpenedSegments
    /// A file whose removal has failed. Until it is gone no other one is written anew, for the same reason.
    private var removed: SegmentFile?
    private var tableNeeds: SegmentNeeds
    private var tableHasRows: Bool
    /// A transaction of `log.sqlite` failed, as in `TableHome`.
    private var tableHasLeftovers = false
    /// The number of the next record.
    private var sequence: UInt64
    private var record = SegmentRecord()
    private let writer = AlignedWriter()
    private var prepared: (file: SegmentFile, segment: UInt32, start: Int)?
    private var moves: [Move] = []
    /// The last record failed, and what it left has not been written over.
    private var isInDoubt = false
    /// An entry that is to be copied can't be read. The next start tells.
    private var isCleaningStuck = false

    private struct Move {
        var group: GroupID
        var entries: [Entry]
        var places: [EntryPlace] = []
    }

    /// Copied in a transaction: about a millisecond, by which it may delay a save.
    private static let idleMoveBytes = 256 << 10
    private static let moveBytesMin = 16 << 10
    private static let moveBytesMax = 1 << 20
    /// Rows of the table that are deleted between two transactions.
    private static let clearedRows = 512
    /// Zeros that a new file gets between two transactions: less than a tenth of a millisecond.
    private static let fillBytes = 128 << 10
    /// Files that are kept for the next segments; what is beyond is removed.
    private static let freeFilesMax = 2

    init(
        _ configuration: LogStoreConfiguration, store: UInt64, table: LogTable, logs: [GroupID: GroupEntries],
        segments: [Segment] = [], free: [SegmentFile] = [], opened: OpenedSegments = OpenedSegments(),
        sequence: UInt64 = 1
    ) throws(SQLiteError) {
        self.configuration = configuration
        self.store = store
        self.table = table
        self.segments = segments
        self.free = Fifo(free)
        self.opened = opened
        self.sequence = sequence
        tableNeeds = SegmentNeeds()
        tableHasRows = try table.hasRows()
        for (group, log) in logs { add(log.allPlaces, of: group) }
        freeSegments()
    }

    // MARK: - Needs

    private var first: UInt32 { segments.first?.number ?? 1 }

    /// Changes the needs of each segment, and of the table, by the places that are there.
    private func forEachNeeds(
        of places: ArraySlice<EntryPlace>, _ change: (inout SegmentNeeds, ArraySlice<EntryPlace>) -> Void
    ) {
        var rest = places
        while let segment = rest.first?.segment {
            let run = rest.prefix { $0.segment == segment }
            if segment == 0 { change(&tableNeeds, run) } else { change(&segments[Int(segment - first)].needs, run) }
            rest = rest.dropFirst(run.count)
        }
    }

    private func add(_ places: ArraySlice<EntryPlace>, of group: GroupID) {
        forEachNeeds(of: places) { $0.add($1, of: group) }
    }

    private func remove(_ places: ArraySlice<EntryPlace>, of group: GroupID) {
        forEachNeeds(of: places) { $0.remove($1, of: group) }
    }

    /// The table goes before the first segment: its rows are those that this one's head does not tell.
    private func freeSegments() {
        while segments.count > 1, segments[0].needs.count == 0, !tableHasRows {
            free.append(segments.removeFirst().file)
        }
    }

    private var isCleaningDue: Bool {
        if isCleaningStuck { return false }
        if tableNeeds.count > 0 { return true }
        guard segments.count > 1, !tableHasRows else { return false }
        var (used, needed) = (0, 0)
        for segment in segments {
            used += segment.used
            needed += segment.needs.bytes
        }
        return used > 2 * needed + 4 * configuration.segmentBytes
    }

    /// Also the first segment, without which the table can't go.
    var hasUpkeep: Bool { (tableHasRows && segments.isEmpty) || isCleaningDue }

    // MARK: - Transactions

    func prepare(
        _ changes: inout [GroupID: GroupChange], _ logs: [GroupID: GroupEntries], isBare: Bool
    ) throws(SQLiteError) {
        try write(&changes, logs, isBare: isBare)
        // Nothing to make durable.
        if record.isEmpty { prepared = nil }
    }

    private func write(
        _ changes: inout [GroupID: GroupChange], _ logs: [GroupID: GroupEntries], isBare: Bool
    ) throws(SQLiteError) {
        record.reset()
        moves = []
        let target: (file: SegmentFile, segment: UInt32, start: Int)
        if let last = segments.last, last.used < configuration.segmentBytes - configuration.segmentBytes / 16 {
            target = (last.file, last.number, last.used)
        } else {
            target = (try nextFile(), (segments.last?.number ?? 0) + 1, 0)
            record.appendHead(oldest: segments.first?.number ?? target.segment, logs)
        }
        prepared = target
        for group in Array(changes.keys) {
            guard var change = changes.removeValue(forKey: group) else { continue }
            defer { changes[group] = change }
            guard change.isAny else { continue }
            change.places = record.append(change, of: group, segment: target.segment, start: target.start)
        }
        if !isBare, isCleaningDue {
            let bytes = record.bytes.count
            let share = changes.isEmpty ? Self.idleMoveBytes : min(Self.moveBytesMax, max(Self.moveBytesMin, 2 * bytes))
            chooseMoves(bytesMax: share, changes, logs)
            // Nothing would ever change about it.
            if moves.isEmpty, changes.isEmpty { isCleaningStuck = true }
            for place in moves.indices {
                moves[place].places = record.append(
                    moved: moves[place].entries, of: moves[place].group, segment: target.segment, start: target.start)
            }
        }
        record.seal(store: store, segment: target.segment, sequence: sequence)
    }

    /// Entries of the oldest place, in the order of the groups, that are needed after this transaction too.
    private func chooseMoves(bytesMax: Int, _ changes: [GroupID: GroupChange], _ logs: [GroupID: GroupEntries]) {
        let isTable = tableNeeds.count > 0
        let needs = isTable ? tableNeeds : segments[0].needs
        let source = isTable ? 0 : segments[0].number
        var bytes = 0
        for group in needs.groups.keys.sorted() {
            guard let log = logs[group] else { continue }
            var move = Move(group: group, entries: [])
            defer { if !move.entries.isEmpty { moves.append(move) } }
            let change = changes[group]
            var index = log.firstIndex
            for place in log.allPlaces {
                defer { index += 1 }
                guard place.segment == source, change?.keeps(index) ?? true else { continue }
                var found: Entry?
                do throws(SQLiteError) { found = try entry(at: place, of: group) } catch {}
                guard let entry = found, entry.index == index else {
                    isCleaningStuck = true
                    return
                }
                move.entries.append(entry)
                bytes += SegmentRecord.entryHeaderBytes + entry.payload.count
                if bytes >= bytesMax { return }
            }
        }
    }

    func commit() throws(SQLiteError) {
        guard let prepared else { return }
        isInDoubt = true
        try writer.write(record.bytes, to: prepared.file.file, at: prepared.start)
        isInDoubt = false
        sequence += 1
        if prepared.start == 0 {
            free.removeFirst()
            prepared.file.segment = prepared.segment
            prepared.file.filled = nil
            segments.append(Segment(number: prepared.segment, file: prepared.file, used: 0))
        }
        segments[segments.count - 1].used = prepared.start + record.bytes.count
        self.prepared = nil
    }

    /// The next record begins at the same place, over the rest of the failed one.
    func undo() throws(SQLiteError) {
        prepared = nil
        moves = []
    }

    func adopt(_ group: GroupID, places: [EntryPlace], cut: [EntryPlace], trimmed: [EntryPlace]) {
        add(places[...], of: group)
        remove(cut[...], of: group)
        remove(trimmed[...], of: group)
    }

    func didAdopt(_ logs: [GroupID: GroupEntries]) {
        for move in moves {
            guard let log = logs[move.group] else { continue }
            let former = zip(move.entries, move.places).map { log.move($0.index, to: $1) }
            remove(former[...], of: move.group)
            add(move.places[...], of: move.group)
        }
        moves = []
        freeSegments()
    }

    func touch(_ logs: [GroupID: GroupEntries]) throws(SQLiteError) {
        var none: [GroupID: GroupChange] = [:]
        try write(&none, logs, isBare: true)
        try commit()
        freeSegments()
    }

    func entry(at place: EntryPlace, of group: GroupID) throws(SQLiteError) -> Entry? {
        if place.isInTable { return try table.entry(row: place.start, group: group) }
        if let entry = opened.entry(at: place, of: group) { return entry }
        let file = segments[Int(place.segment - first)].file.file
        return try file.readAll(Int(place.length), at: Int(place.start)).flatMap { SegmentRecord.entry($0, of: group) }
    }

    func startIsOver() { opened = OpenedSegments() }

    // MARK: - Files

    /// The file of the next segment: always the same one until a record in it has been committed.
    private func nextFile() throws(SQLiteError) -> SegmentFile {
        try finishRemoval()
        if free.isEmpty { try makeFile() }
        return free[0]
    }

    private func finishRemoval() throws(SQLiteError) {
        guard let file = removed else { return }
        try PlainFile.remove(file.file.path, vfs: configuration.vfs)
        removed = nil
    }

    private func makeFile() throws(SQLiteError) {
        let taken = Set(segments.map(\.file.number))
        let number = (0...).first { !taken.contains($0) } ?? 0
        let file = try SegmentFile(number, configuration)
        file.reserve(configuration.segmentBytes)
        free.append(file)
    }

    /// The next file is new, and nothing has been written to it: zeros would destroy a record whose commit failed.
    private var isFillDue: Bool { free.first?.filled != nil && !isInDoubt }

    private var isSpareDue: Bool {
        free.isEmpty && segments.last.map { $0.used > configuration.segmentBytes / 2 } ?? false
    }
    private var isTableDone: Bool { tableHasRows && tableNeeds.count == 0 && !segments.isEmpty }
    private var hasTooMany: Bool { removed != nil || (free.count > Self.freeFilesMax && !isInDoubt) }

    var isTidyDue: Bool { isTableDone || isSpareDue || isFillDue || hasTooMany }

    func tidy() throws(SQLiteError) {
        if isTableDone {
            try clearTable()
            freeSegments()
        } else if isSpareDue {
            try makeFile()
        } else if isFillDue {
            free[0].fill(Self.fillBytes, of: configuration.segmentBytes)
        } else if hasTooMany {
            try finishRemoval()
            guard free.count > Self.freeFilesMax, let file = free.popFirst() else { return }
            file.file.close()
            removed = file
            try finishRemoval()
        }
    }

    private func clearTable() throws(SQLiteError) {
        if tableHasLeftovers { try emptyTableLog() }
        do throws(SQLiteError) {
            if try table.clear(rowsMax: Self.clearedRows) { return }
            try table.database.execute("VACUUM")
        } catch {
            tableHasLeftovers = true
            throw error
        }
        tableHasRows = false
        try emptyTableLog()
    }

    private func emptyTableLog() throws(SQLiteError) {
        guard try table.database.checkpoint(.truncate).isComplete else {
            throw SQLiteError(code: .busy, message: "the write-ahead log cannot be emptied")
        }
        tableHasLeftovers = false
    }

    var uselessEntries: Int { 0 }

    func close(isTrusted: Bool) {
        writer.close()
        for file in segments.map(\.file) + free { file.file.close() }
        if isTrusted { do throws(SQLiteError) { try emptyTableLog() } catch {} }
        table.database.close()
    }
}
