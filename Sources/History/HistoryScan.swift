import ChatModel
import SQLite

/// Opens a day's file for reading; nil when there is none.
typealias DayOpener = (Int64) throws(SQLiteError) -> DayReader?

/// A walk over a room's history through the day files, in slices: it can be put aside after each and continued later,
/// so that a rare filter over a busy room does not keep others from reading.
struct HistoryScan: Sendable {
    /// Days still to be looked at, the next one last.
    private var days: [Int64]
    private let order: HistoryQuery.Order
    private let incarnation: Incarnation
    private let earliest: Timestamp
    private let latest: Timestamp?
    private let afterSeq: Int64
    private let beforeSeq: Int64
    /// The seqs of the current day that are left; nil: the day has not been begun.
    private var range: ClosedRange<Int64>?

    /// - Parameters:
    ///   - days: the days that have files.
    ///   - cutoff: the oldest time that is visible.
    init(_ query: HistoryQuery, days: [Int64], cutoff: Timestamp) {
        order = query.order
        incarnation = query.incarnation
        switch query.order {
        case .ascending:
            earliest = max(query.startTime ?? cutoff, cutoff)
            latest = nil
        case .descending:
            earliest = cutoff
            latest = query.startTime
        }
        afterSeq = query.afterSeq.map { Int64(clamping: $0) } ?? -1
        beforeSeq = query.beforeSeq.map { Int64(clamping: $0) } ?? .max
        let (first, last) = (earliest.day, latest?.day ?? .max)
        let visible = days.filter { $0 >= first && $0 <= last }
        self.days = query.order == .ascending ? visible.sorted(by: >) : visible.sorted()
    }

    /// Shows rows to `visit` until it returns false or `rowsMax` were shown. Returns whether the walk is over.
    mutating func slice(
        rowsMax: Int, _ columns: DayReader.Columns = .all, open: DayOpener,
        _ visit: (RowView) throws(SQLiteError) -> Bool
    ) throws(SQLiteError) -> Bool {
        var rowsLeft = rowsMax
        while let day = days.last {
            guard let reader = try open(day) else {
                endDay()
                continue
            }
            if range == nil { range = try seqs(of: day, reader) }
            guard let current = range else {
                endDay()
                continue
            }
            var isWanted = true
            var last = current.lowerBound
            let isWhole = try reader.scan(incarnation, current, in: order, columns: columns) {
                (row) throws(SQLiteError) in
                last = row.seq
                rowsLeft -= 1
                isWanted = try visit(row)
                return isWanted && rowsLeft > 0
            }
            guard isWanted else { return true }
            range = isWhole ? nil : rest(of: current, after: last)
            if range == nil { endDay() }
            if rowsLeft <= 0 { return days.isEmpty }
        }
        return true
    }

    private mutating func endDay() {
        days.removeLast()
        range = nil
    }

    private func rest(of range: ClosedRange<Int64>, after seq: Int64) -> ClosedRange<Int64>? {
        switch order {
        case .ascending: seq < range.upperBound ? (seq + 1)...range.upperBound : nil
        case .descending: seq > range.lowerBound ? range.lowerBound...(seq - 1) : nil
        }
    }

    /// The seqs of a day that the query may show; nil when there are none.
    private func seqs(of day: Int64, _ reader: DayReader) throws(SQLiteError) -> ClosedRange<Int64>? {
        guard afterSeq < .max, beforeSeq > 0 else { return nil }
        var first = afterSeq + 1
        var last = beforeSeq == .max ? .max : beforeSeq - 1
        if day == earliest.day { first = max(first, try reader.firstSeq(incarnation, atOrAfter: earliest)) }
        if let latest, day == latest.day {
            last = min(last, try reader.firstSeq(incarnation, atOrAfter: latest.adding(milliseconds: 1)) - 1)
        }
        return first <= last ? first...last : nil
    }
}
