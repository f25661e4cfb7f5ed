import ChatModel
import SQLite

/// A search in a room's history, the newest message first, in turns on a reader thread. An index names messages that may fit;
/// where there is none, all of the room's do. Each is then looked at as it is now, so nothing is shown that has been recalled,
/// amended or filtered out, however old the index is.
struct SearchTask: Sendable {
    /// The connections of the thread on which a turn runs.
    struct Files {
        var day: FileOpener
        /// Throws where there is no index.
        var index: (_ file: HistoryFile, _ generation: UInt64) throws(SQLiteError) -> SearchIndexReader
        /// A file has more to look at than is done without its index.
        var ask: (_ file: HistoryFile) -> Void
        /// An index could not be read.
        var giveUp: (_ file: HistoryFile, _ generation: UInt64, SQLiteError) -> Void
    }

    /// A file that is being looked through.
    private struct Place {
        var file: HistoryFile
        /// The seqs that are left.
        var seqs: ClosedRange<Int64>
        /// Blocks after this one have been looked into.
        var block = Int64.max
        /// The block whose expression is known, and that.
        var asked: (block: Int64, expression: String)?
        /// The index is not asked any more: a block has too many places of the words. Messages that were amended may be in a
        /// later block than their neighbours, so all that are left are looked at.
        var isWide = false
    }

    private let query: SearchQuery
    private let limit: Int
    private let pattern: IndexPattern
    private let state: SearchState
    private let shownBytes: @Sendable ([UInt8]) -> Int
    private let reader: HistoryReader?
    private let cutoffs: HistoryCutoffs
    private let startTime: Timestamp
    /// Files still to be looked at, the next one last.
    private var files: [HistoryFile]
    private var place: Place?
    /// All messages from this seq on have been looked at.
    private var bound: Int64
    /// The bound and the number of files at the beginning.
    private let start: (bound: Int64, files: Int)
    private var rows: [HistoryRow] = []
    private var bytes = 0
    private var used = Duration.zero
    private var quotes: QuoteCheck
    /// The page, once all of its rows have been found; only quotes are to be checked then.
    private var page: SearchPage?

    /// Messages that are looked at before the clock is, and hits that are taken from an index together.
    private static let batch = 64

    init(
        _ query: SearchQuery, files: [HistoryFile], _ state: SearchState, _ configuration: StorageConfiguration,
        reader: HistoryReader?
    ) {
        self.query = query
        self.state = state
        self.reader = reader
        let cutoffs = configuration.cutoffs(room: query.visibleSince)
        let startTime = query.startTime ?? Timestamp(.min)
        (self.cutoffs, self.startTime) = (cutoffs, startTime)
        limit = min(max(query.limit, 1), Int(Limits.pageItems))
        pattern = query.pattern.index(query.incarnation)
        shownBytes = configuration.shownBytes
        bound = query.after.map { Int64(clamping: $0.beforeSeq) } ?? .max
        quotes = QuoteCheck(files: files, cutoffs: cutoffs, configuration)
        let (first, last) = (startTime.day, query.endTime?.day ?? .max)
        let newest = query.after?.file
        self.files = files.filter { file in
            cutoffs.shows(file) && file.day >= first && file.day <= last && newest.map { file <= $0 } != false
        }
        start = (bound, self.files.count)
    }

    /// Works for a turn; the page when it is done.
    mutating func turn(_ open: Files) throws(SQLiteError) -> SearchPage? {
        let configuration = state.configuration
        let began = configuration.now()
        if page == nil {
            var isOver = false
            // A page without a message has its place further back at least.
            while !isOver, !hasProgress || used + (configuration.now() - began) < configuration.sliceMax {
                if configuration.now() - began >= configuration.turnMax {
                    used += configuration.now() - began
                    return nil
                }
                isOver = try advance(open) || reader?.isGone == true
            }
            if page == nil { page = SearchPage(rows: rows, next: isOver || bound <= 0 ? nil : cursor(bound)) }
        }
        guard var page else { return nil }
        let isChecked = try quotes.slice(&page.rows, open: open.day)
        self.page = page
        return isChecked ? page : nil
    }

    private var hasProgress: Bool { bound < start.bound || files.count < start.files }

    private func cursor(_ seq: Int64) -> SearchCursor {
        SearchCursor(beforeSeq: UInt64(clamping: seq), file: files.last)
    }

    /// Looks at some messages; true when there are no more, or the page is full.
    private mutating func advance(_ open: Files) throws(SQLiteError) -> Bool {
        if place == nil { state.skip(&files, of: query.incarnation) }
        guard let file = files.last else { return true }
        guard let dayReader = try open.day(file) else {
            files.removeLast()
            place = nil
            return files.isEmpty
        }
        if place == nil { place = try begin(file, dayReader) }
        guard var place else {
            files.removeLast()
            return files.isEmpty
        }
        let (seqs, floor) = try candidates(&place, dayReader, open)
        for seq in seqs {
            guard let row = try fitting(seq, file, dayReader) else { continue }
            let shown = shownBytes(row.payload)
            if !rows.isEmpty, bytes + shown > Limits.pageBytes {
                page = SearchPage(rows: rows, next: cursor(seq + 1))
                return true
            }
            rows.append(row)
            bytes += shown
            if rows.count == limit {
                page = SearchPage(rows: rows, next: seq > 0 ? cursor(seq) : nil)
                return true
            }
        }
        bound = min(bound, floor)
        if floor > place.seqs.lowerBound {
            place.seqs = place.seqs.lowerBound...min(place.seqs.upperBound, floor - 1)
            self.place = place
        } else {
            self.place = nil
            files.removeLast()
        }
        return files.isEmpty
    }

    /// The part of a file that is asked for; nil when there is none.
    private func begin(_ file: HistoryFile, _ dayReader: DayReader) throws(SQLiteError) -> Place? {
        guard let all = try dayReader.seqs(of: query.incarnation), all.lowerBound < bound else { return nil }
        var (first, last) = (all.lowerBound, bound == .max ? all.upperBound : min(all.upperBound, bound - 1))
        let earliest = earliest(in: file)
        if file.day == earliest.day {
            first = max(first, try dayReader.firstSeq(query.incarnation, atOrAfter: earliest))
        }
        if let latest = query.endTime, file.day == latest.day {
            last = min(
                last, try dayReader.firstSeq(query.incarnation, atOrAfter: latest.adding(milliseconds: 1)) - 1)
        }
        return first <= last ? Place(file: file, seqs: first...last) : nil
    }

    /// Seqs of messages that may fit, the newest first, and the seq from which on there are no others.
    private func candidates(
        _ place: inout Place, _ dayReader: DayReader, _ open: Files
    ) throws(SQLiteError) -> (seqs: [Int64], floor: Int64) {
        // Before the index is looked into: what is put there meanwhile is found twice then, and never not.
        let view = state.view(place.file, query.incarnation, place.seqs)
        if view.isComplete, !place.isWide {
            var attempt = place
            do throws(SQLiteError) {
                let index = try open.index(place.file, view.generation)
                guard let found = try indexed(&attempt, index, dayReader) else {
                    place.isWide = true
                    return try scanned(place, dayReader)
                }
                let former = place.block
                place = attempt
                guard !view.waiting.isEmpty else { return found }
                let all = Set(found.seqs).union(view.waiting.filter { $0 >= found.floor }).sorted(by: >)
                // The index may be far behind: then its turn is short as well.
                guard all.count > 2 * Self.batch else { return (all, found.floor) }
                place.block = former
                return (Array(all.prefix(Self.batch)), all[Self.batch - 1])
            } catch {
                // The rows are there, whatever has become of their index.
                open.giveUp(place.file, view.generation, error)
            }
        } else if !view.isAsked, place.seqs.count > state.configuration.unindexedMax {
            open.ask(place.file)
        }
        return try scanned(place, dayReader)
    }

    /// - Returns: nil when a block is too wide.
    private func indexed(
        _ place: inout Place, _ index: SearchIndexReader, _ dayReader: DayReader
    ) throws(SQLiteError) -> (seqs: [Int64], floor: Int64)? {
        var found: [Int64] = []
        let began = state.configuration.now()
        for block in try index.blocks(upTo: place.block) {
            if place.asked?.block != block.number {
                place.asked = try index.expression(pattern, in: block.number).map { (block.number, $0) }
            }
            guard let expression = place.asked?.expression else { return nil }
            let some = try index.seqs(expression, in: block.number, place.seqs, limit: Self.batch - found.count)
            found += some
            if found.count >= Self.batch, let last = some.last {
                place.block = block.number
                return (found, last)
            }
            place.block = block.number - 1
            if state.configuration.now() - began >= state.configuration.turnMax {
                let first = try dayReader.firstSeq(query.incarnation, atOrAfter: block.firstTime)
                return (found, max(place.seqs.lowerBound, first))
            }
        }
        return (found, place.seqs.lowerBound)
    }

    private func scanned(_ place: Place, _ dayReader: DayReader) throws(SQLiteError) -> (seqs: [Int64], floor: Int64) {
        var (found, left, floor): ([Int64], Int, Int64) = ([], Self.batch, place.seqs.lowerBound)
        let isWhole = try dayReader.scan(query.incarnation, place.seqs, in: .descending, columns: .withoutPayload) {
            row in
            left -= 1
            floor = row.seq
            if isAsked(type: row.type, sender: row.sender) { found.append(row.seq) }
            return left > 0
        }
        return (found, isWhole ? place.seqs.lowerBound : floor)
    }

    // MARK: - A message

    /// The oldest messages of a file that are shown.
    private func earliest(in file: HistoryFile) -> Timestamp { max(startTime, cutoffs.of(file.life)) }

    private func isAsked(type: Int, sender: String?) -> Bool {
        if let types = query.types, !types.contains(type) { return false }
        guard let wanted = query.sender else { return true }
        return sender?.utf8.elementsEqual(wanted.utf8) == true
    }

    private func fitting(_ seq: Int64, _ file: HistoryFile, _ dayReader: DayReader) throws(SQLiteError) -> HistoryRow? {
        guard let row = try dayReader.row(query.incarnation, seq: seq), !row.recalled, row.time >= earliest(in: file),
            isAsked(type: row.type, sender: row.sender), query.pattern.matches(state.configuration.text(row.payload))
        else { return nil }
        return row
    }
}
