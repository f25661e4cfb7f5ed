/// How long the files of a message are kept: rooms with like lives share them, so that files go whole (PROTOCOL.md,
/// "History"). A room's own life is looked at on reading.
public enum HistoryLife: UInt8, Sendable, Hashable, CaseIterable, Comparable {
    /// As long as the node's setting says: of rooms without a life of their own.
    case standard = 0
    case day = 1
    case tenDays = 2
    case month = 3
    case year = 4
    case decade = 5

    /// The shortest that holds so many days; the longest for more than there are.
    public init(days: Int64) {
        self = Self.allCases.first { $0.days.map { days <= $0 } ?? false } ?? .decade
    }

    /// nil: the node's setting.
    public var days: Int64? {
        switch self {
        case .standard: nil
        case .day: 1
        case .tenDays: 10
        case .month: 30
        case .year: 366
        case .decade: 3650
        }
    }

    public static func < (a: HistoryLife, b: HistoryLife) -> Bool { a.rawValue < b.rawValue }
}
