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

    /// The answer of an index.
    private enum Answer {
        /// Messages that may fit, the newest first; there are no others from `floor` on.
        case found([Int64], floor: Int64)
        /// A block does not tell which of these may fit: all do.
        case all(ClosedRange<Int64>)
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
    private var place: SearchPlace?
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
                isOver = try advance(open, until: began + configuration.turnMax) || reader?.isGone == true
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
    /// - Parameter end: of the turn. One message at least is looked at, or one block.
    private mutating func advance(
        _ open: Files, until end: ContinuousClock.Instant
    ) throws(SQLiteError) -> Bool {
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
        var found: SearchCandidates
        if let left = place.left {
            found = left
            place.left = nil
        } else {
            found = try candidates(&place, dayReader, open, until: end)
        }
        while let seq = found.seqs.popFirst() {
            if let row = try fitting(seq, file, dayReader), take(row, seq) { return true }
            // Long messages take longer than a turn.
            guard !found.seqs.isEmpty, state.configuration.now() >= end else { continue }
            bound = min(bound, seq)
            place.left = found
            self.place = place
            return false
        }
        bound = min(bound, found.floor)
        if found.floor > place.seqs.lowerBound {
            place.seqs = place.seqs.lowerBound...min(place.seqs.upperBound, found.floor - 1)
            self.place = place
        } else {
            self.place = nil
            files.removeLast()
        }
        return files.isEmpty
    }

    /// Puts a message into the page; true when that is full.
    private mutating func take(_ row: HistoryRow, _ seq: Int64) -> Bool {
        let shown = shownBytes(row.payload)
        if !rows.isEmpty, bytes + shown > Limits.pageBytes {
            page = SearchPage(rows: rows, next: cursor(seq + 1))
            return true
        }
        rows.append(row)
        bytes += shown
        guard rows.count == limit else { return false }
        page = SearchPage(rows: rows, next: seq > 0 ? cursor(seq) : nil)
        return true
    }

    /// The part of a file that is asked for; nil when there is none.
    private func begin(_ file: HistoryFile, _ dayReader: DayReader) throws(SQLiteError) -> SearchPlace? {
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
        return first <= last ? SearchPlace(file: file, seqs: first...last) : nil
    }

    /// The next messages that may fit.
    private func candidates(
        _ place: inout SearchPlace, _ dayReader: DayReader, _ open: Files, until end: ContinuousClock.Instant
    ) throws(SQLiteError) -> SearchCandidates {
        // Before the index is looked into: what is put there meanwhile is found twice then, and never not.
        let view = state.view(place.file, query.incarnation, place.seqs, known: place.generation)
        if view.isComplete {
            place.take(view)
            switch ask(&place, view.generation, dayReader, open, until: end) {
            case .found(let seqs, floor: let floor)?: return place.addWaiting(to: seqs, floor: floor)
            case .all(let seqs)?: return try scanned(seqs, dayReader)
            case nil: break
            }
        } else if !view.isAsked, place.seqs.count > state.configuration.unindexedMax {
            open.ask(place.file)
        }
        return try scanned(place.seqs, dayReader)
    }

    /// Nil when the index can't be read: the rows are there, whatever has become of it.
    private func ask(
        _ place: inout SearchPlace, _ generation: UInt64, _ dayReader: DayReader, _ open: Files,
        until end: ContinuousClock.Instant
    ) -> Answer? {
        var attempt = place
        do throws(SQLiteError) {
            let index = try open.index(place.file, generation)
            let answer = try indexed(&attempt, index, dayReader, until: end)
            place = attempt
            return answer
        } catch {
            open.giveUp(place.file, generation, error)
            return nil
        }
    }

    private func indexed(
        _ place: inout SearchPlace, _ index: SearchIndexReader, _ dayReader: DayReader,
        until end: ContinuousClock.Instant
    ) throws(SQLiteError) -> Answer {
        let configuration = state.configuration
        var found: [Int64] = []
        // The last block that has been looked into as a whole.
        var former: SearchIndexReader.Block?
        for block in try index.blocks(upTo: place.block) {
            place.block = block.number
            if place.asked?.block != block.number {
                let expression = try index.expression(
                    pattern, in: block.number, placesMax: configuration.placesMax)
                place.asked = (block: block.number, expression: expression)
            }
            if let expression = place.asked?.expression {
                let some = try index.seqs(
                    expression, in: block.number, place.seqs, limit: Self.batch - found.count,
                    isOver: { configuration.now() >= end })
                found += some.seqs
                if !some.isWhole, let last = found.last { return .found(found, floor: last) }
            } else if let former {
                // The messages of later blocks come first.
                return .found(found, floor: try floor(of: former, place, dayReader))
            } else {
                let floor = try floor(of: block, place, dayReader)
                if floor <= place.seqs.upperBound { return .all(floor...place.seqs.upperBound) }
                // All of its messages have been looked at.
            }
            (former, place.block) = (block, block.number - 1)
            if configuration.now() >= end {
                return .found(found, floor: try floor(of: block, place, dayReader))
            }
        }
        return .found(found, floor: place.seqs.lowerBound)
    }

    /// All messages from this seq on are in a block or a later one, and all others in earlier ones.
    private func floor(
        of block: SearchIndexReader.Block, _ place: SearchPlace, _ dayReader: DayReader
    ) throws(SQLiteError) -> Int64 {
        max(place.seqs.lowerBound, try dayReader.firstSeq(query.incarnation, atOrAfter: block.firstTime))
    }

    /// The newest of the room's messages, as far as the query asks for them.
    private func scanned(_ seqs: ClosedRange<Int64>, _ dayReader: DayReader) throws(SQLiteError) -> SearchCandidates {
        var (found, left, floor): ([Int64], Int, Int64) = ([], Self.batch, seqs.lowerBound)
        let isWhole = try dayReader.scan(query.incarnation, seqs, in: .descending, columns: .withoutPayload) { row in
            left -= 1
            floor = row.seq
            if isAsked(type: row.type, sender: row.sender) { found.append(row.seq) }
            return left > 0
        }
        return SearchCandidates(seqs: found[...], floor: isWhole ? seqs.lowerBound : floor)
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
