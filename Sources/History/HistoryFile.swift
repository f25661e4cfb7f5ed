import ChatModel

/// One of a shard's history files: the messages of a UTC day that are kept equally long. A room's messages of one day are
/// all in one file, so files in their order have each room's messages in the order of their seqs.
public struct HistoryFile: Sendable, Hashable, Comparable {
    /// Counted from 1970-01-01, UTC.
    public var day: Int64
    public var life: HistoryLife

    public init(day: Int64, life: HistoryLife = .standard) {
        self.day = day
        self.life = life
    }

    public static func < (a: HistoryFile, b: HistoryFile) -> Bool { (a.day, a.life) < (b.day, b.life) }

    // MARK: - As a number

    private static let span: Int64 = 1 << 32

    /// For other nodes, and for notes of what is missing: the day alone for the standard life, as programs before the
    /// others wrote it.
    public var number: Int64 { day + Int64(life.rawValue) * Self.span }

    /// nil when there is no such file.
    public init?(number: Int64) {
        let (shifted, overflow) = number.addingReportingOverflow(Self.span / 2)
        guard !overflow, shifted >= 0, let raw = UInt8(exactly: shifted / Self.span),
            let life = HistoryLife(rawValue: raw)
        else { return nil }
        self.init(day: shifted % Self.span - Self.span / 2, life: life)
        guard isNameable else { return nil }
    }

    // MARK: - As a name

    private static let end = ".sqlite"

    /// `history-2025-11-21.sqlite`, or `history-2025-11-21-30d.sqlite`.
    var name: String {
        let name = UTCDay.fileName(day)
        guard let days = life.days else { return name }
        return name.dropLast(Self.end.count) + "-\(days)d" + Self.end
    }

    /// nil for the names of other files.
    init?(name: String) {
        let found = HistoryLife.allCases.lazy.compactMap { life -> HistoryFile? in
            let end = life.days.map { "-\($0)d" + Self.end } ?? Self.end
            guard name.hasSuffix(end), let day = UTCDay.day(fileName: name.dropLast(end.count) + Self.end) else {
                return nil
            }
            return HistoryFile(day: day, life: life)
        }.first
        guard let found, found.name == name else { return nil }
        self = found
    }

    /// Whether a file can be named after its day.
    var isNameable: Bool { UTCDay.isNameable(day) }
}

/// From when on messages are visible.
struct HistoryCutoffs: Sendable {
    private let now: Timestamp
    private let standardDays: Int64
    /// The room's own bound.
    private let room: Timestamp

    /// - Parameter room: from when on the room shows messages; nil: as long as its files are kept.
    init(_ now: Timestamp, standardDays: Int64, room: Timestamp? = nil) {
        self.now = now
        self.standardDays = standardDays
        self.room = room ?? Timestamp(.min)
    }

    /// Older ones of such a file are not visible any more.
    func of(_ life: HistoryLife) -> Timestamp {
        let (span, overflow) = (life.days ?? standardDays)
            .multipliedReportingOverflow(by: Timestamp.millisecondsPerDay)
        return max(room, now.adding(milliseconds: overflow ? .min : -span))
    }

    /// Whether a file may have visible messages.
    func shows(_ file: HistoryFile) -> Bool { file.day >= of(file.life).day }
}
