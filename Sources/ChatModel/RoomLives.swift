/// How long a room's messages have been kept, and are: its own `historyDays` changes (PROTOCOL.md, "History").
public struct RoomLives: Sendable, Hashable {
    /// The life of the messages of a day and of later ones.
    public struct Span: Sendable, Hashable {
        /// UTC, counted from 1970-01-01. The first span of a room that was created with a life holds for all days.
        public var fromDay: Int64
        public var life: HistoryLife

        public init(fromDay: Int64, life: HistoryLife) {
            self.fromDay = fromDay
            self.life = life
        }
    }

    /// In the order of their days.
    public var spans: [Span] = []
    /// Older messages are gone, whatever life the room has now: raising it revives nothing.
    public var floor: Timestamp?

    /// Changes on so many days are remembered; those that no file is left of are forgotten.
    public static let spansMax = 64

    public init() {}

    /// The files that messages of the day are in.
    public func life(on day: Int64) -> HistoryLife { Self.life(on: day, of: spans) }

    /// The same, of ``spans`` alone.
    public static func life(on day: Int64, of spans: [Span]) -> HistoryLife {
        spans.last { $0.fromDay <= day }?.life ?? .standard
    }

    /// The life of a room that is being created.
    public mutating func begin(_ days: Int64) { spans = [Span(fromDay: 0, life: HistoryLife(days: days))] }

    /// Another life, for files from the next day on: all messages of a day are in one file.
    /// - Parameters:
    ///   - former: days that messages were kept until now.
    /// - Throws: `conflict` when too many changes are remembered.
    public mutating func change(from former: Int64, to days: Int64, at time: Timestamp) throws(ChatError) {
        guard days != former else { return }
        let (today, life) = (time.day, HistoryLife(days: days))
        let oldest = today - (HistoryLife.decade.days ?? 0)
        var kept = spans.filter { $0.fromDay <= today }
        if let first = kept.lastIndex(where: { $0.fromDay <= oldest }) { kept.removeFirst(first) }
        if (kept.last?.life ?? .standard) != life { kept.append(Span(fromDay: today + 1, life: life)) }
        guard kept.count <= Self.spansMax else {
            throw ChatError(.conflict, "historyDays was changed on \(Self.spansMax) days", field: "historyDays")
        }
        spans = kept
        let visible = time.adding(milliseconds: -min(former, days) * Timestamp.millisecondsPerDay)
        floor = max(floor ?? visible, visible)
    }
}

extension RoomRecord {
    /// From when on messages are visible.
    /// - Parameter standardDays: of rooms without a life of their own.
    public func visibleSince(_ now: Timestamp, standardDays: Int64) -> Timestamp {
        let since = now.adding(milliseconds: -(info.historyDays ?? standardDays) * Timestamp.millisecondsPerDay)
        return max(since, lives.floor ?? since)
    }
}
