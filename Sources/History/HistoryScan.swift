import ChatModel
import SQLite

/// Opens a file for reading; nil when there is none.
typealias FileOpener = (HistoryFile) throws(SQLiteError) -> DayReader?

/// A walk over a room's history through its files, in slices: it can be put aside after each and continued later,
/// so that a rare filter over a busy room does not keep others from reading.
struct HistoryScan: Sendable {
    /// Files still to be looked at, the next one last.
    private var files: [HistoryFile]
    private let order: HistoryQuery.Order
    private let incarnation: Incarnation
    private let cutoffs: HistoryCutoffs
    private let earliest: Timestamp
    private let latest: Timestamp?
    private let afterSeq: Int64
    private let beforeSeq: Int64
    /// The seqs of the current file that are left; nil: the file has not been begun.
    private var range: ClosedRange<Int64>?
    /// For a query that wants few types: runs of messages that have none of them are not looked at.
    private var skips: (types: TypeMask, walk: TypeRunWalk)?

    /// - Parameters:
    ///   - files: those that there are, in their order.
    ///   - filesMax: at most so many of them are looked at, the first in order.
    ///   - runs: the types that are known of runs of the shard's messages, for a query that wants few.
    init(
        _ query: HistoryQuery, files: [HistoryFile], cutoffs: HistoryCutoffs, filesMax: Int = .max,
        runs: TypeRuns? = nil
    ) {
        if let runs, let types = query.types {
            skips = (TypeMask(types), TypeRunWalk(query.incarnation, runs))
        }
        order = query.order
        incarnation = query.incarnation
        self.cutoffs = cutoffs
        switch query.order {
        case .ascending:
            earliest = query.startTime ?? Timestamp(.min)
            latest = nil
        case .descending:
            earliest = Timestamp(.min)
            latest = query.startTime
        }
        afterSeq = query.afterSeq.map { Int64(clamping: $0) } ?? -1
        beforeSeq = query.beforeSeq.map { Int64(clamping: $0) } ?? .max
        let (first, last) = (earliest.day, latest?.day ?? .max)
        let visible = files.filter { cutoffs.shows($0) && $0.day >= first && $0.day <= last }
        self.files = (query.order == .ascending ? visible.reversed() : visible).suffix(filesMax)
    }

    /// Shows rows to `visit` until it returns false, `rowsMax` were shown, or many files were looked at. Returns whether
    /// the walk is over.
    mutating func slice(
        rowsMax: Int, _ columns: DayReader.Columns = .all, open: FileOpener,
        _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        var (rowsLeft, filesLeft) = (rowsMax, ReadSlice.filesMax)
        while let file = files.last {
            guard filesLeft > 0 else { return false }
            guard let reader = try open(file) else {
                endFile()
                filesLeft -= 1
                continue
            }
            if range == nil { range = try seqs(of: file, reader) }
            guard let left = range, let current = part(of: left) else {
                endFile()
                filesLeft -= 1
                continue
            }
            // A part without messages is a step all the same.
            if skips != nil { rowsLeft -= 1 }
            var isWanted = true
            var last = current.lowerBound
            let isWhole = try reader.scan(incarnation, current, in: order, columns: columns) {
                (row) throws(SQLiteError) in
                last = row.seq
                rowsLeft -= 1
                skips?.walk.note(row.seq, row.type, in: order)
                isWanted = try visit(row)
                return isWanted && rowsLeft > 0
            }
            guard isWanted else { return true }
            range = rest(of: left, after: isWhole ? end(of: current) : last)
            if range == nil {
                endFile()
                filesLeft -= 1
            }
            if rowsLeft <= 0 { return files.isEmpty }
        }
        return true
    }

    private mutating func endFile() {
        files.removeLast()
        range = nil
    }

    private func part(of range: ClosedRange<Int64>) -> ClosedRange<Int64>? {
        guard let skips else { return range }
        return skips.walk.runs.part(of: range, in: order, of: incarnation, with: skips.types)
    }

    private func end(of range: ClosedRange<Int64>) -> Int64 {
        order == .ascending ? range.upperBound : range.lowerBound
    }

    private func rest(of range: ClosedRange<Int64>, after seq: Int64) -> ClosedRange<Int64>? {
        switch order {
        case .ascending: seq < range.upperBound ? (seq + 1)...range.upperBound : nil
        case .descending: seq > range.lowerBound ? range.lowerBound...(seq - 1) : nil
        }
    }

    /// The seqs of a file that the query may show; nil when there are none.
    private func seqs(of file: HistoryFile, _ reader: DayReader) throws(SQLiteError) -> ClosedRange<Int64>? {
        guard afterSeq < .max, beforeSeq > 0 else { return nil }
        var first = afterSeq + 1
        var last = beforeSeq == .max ? .max : beforeSeq - 1
        let earliest = max(earliest, cutoffs.of(file.life))
        if file.day == earliest.day { first = max(first, try reader.firstSeq(incarnation, atOrAfter: earliest)) }
        if let latest, file.day == latest.day {
            last = min(last, try reader.firstSeq(incarnation, atOrAfter: latest.adding(milliseconds: 1)) - 1)
        }
        if skips != nil {
            // Runs of which no message is here are not walked over.
            guard let here = try reader.seqs(of: incarnation) else { return nil }
            (first, last) = (max(first, here.lowerBound), min(last, here.upperBound))
        }
        return first <= last ? first...last : nil
    }
}
