import ChatModel

/// The reports of a room's messages (PROTOCOL.md, "Reports"), the oldest first: at most `Limits.reportsPerRoom`.
struct ReportTable: Sendable {
    /// When an excerpt ends.
    struct Deadline: Sendable, Hashable, Comparable {
        var time: Timestamp
        var index: UInt64

        static func < (a: Deadline, b: Deadline) -> Bool { (a.time, a.index) < (b.time, b.index) }
    }

    /// A message and who has reported it: there is one report of both at most.
    private struct Place: Sendable, Hashable {
        var seq: UInt64
        var user: UserID
    }

    private(set) var reports: [UInt64: MessageReport] = [:]
    private var order = SortedList<UInt64>()
    private(set) var deadlines = SortedList<Deadline>()
    private var places: Set<Place> = []
    /// The reports of each message, and the latest one of each user.
    private var indexes: [UInt64: [UInt64]] = [:]
    private var latest: [UserID: UInt64] = [:]

    init() {}

    init(_ reports: some Sequence<MessageReport>) {
        for report in reports { set(report) }
    }

    subscript(index: UInt64) -> MessageReport? { reports[index] }

    var count: Int { reports.count }
    var oldest: UInt64? { order.first }
    var newest: UInt64? { order.last }
    /// When the next excerpt ends.
    var nextDeadline: Timestamp? { deadlines.first?.time }

    /// Adds a report, or writes it anew.
    mutating func set(_ report: MessageReport) {
        remove(report.index)
        reports[report.index] = report
        order.insert(report.index)
        if let time = report.deadline { deadlines.insert(Deadline(time: time, index: report.index)) }
        places.insert(Place(seq: report.seq, user: report.reporter.user))
        indexes[report.seq, default: []].append(report.index)
        let user = report.reporter.user
        latest[user] = max(latest[user] ?? 0, report.index)
    }

    mutating func remove(_ index: UInt64) {
        guard let report = reports.removeValue(forKey: index) else { return }
        order.remove(index)
        if let time = report.deadline { deadlines.remove(Deadline(time: time, index: index)) }
        places.remove(Place(seq: report.seq, user: report.reporter.user))
        indexes[report.seq]?.removeAll { $0 == index }
        if indexes[report.seq]?.isEmpty == true { indexes[report.seq] = nil }
        if latest[report.reporter.user] == index { latest[report.reporter.user] = nil }
    }

    func has(_ seq: UInt64, by user: UserID) -> Bool { places.contains(Place(seq: seq, user: user)) }

    /// In the order in which they came.
    func indexes(of seq: UInt64) -> [UInt64] { (indexes[seq] ?? []).sorted() }

    /// When the user reported last, as far as that is known.
    func latest(by user: UserID) -> Timestamp? { latest[user].flatMap { reports[$0]?.time } }

    /// Those behind it, the oldest first.
    func after(_ index: UInt64, countMax: Int) -> [MessageReport] {
        var found: [MessageReport] = []
        order.ascend(skipping: { $0 <= index }) { next in
            guard found.count < countMax, let report = reports[next] else { return false }
            found.append(report)
            return true
        }
        return found
    }
}
