import ChatModel

/// Answer of GET …/reports.
public struct ReportsResult: WireMessage, Hashable {
    /// The oldest first.
    public var reports: [MessageReport]
    /// The cursor of the next page; absent on the last.
    public var next: String?

    public static var blank: ReportsResult { ReportsResult(reports: []) }

    public init(reports: [MessageReport], next: String? = nil) {
        self.reports = reports
        self.next = next
    }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "reports", &reports)
        try walker.optional(2, "next", &next)
    }
}
