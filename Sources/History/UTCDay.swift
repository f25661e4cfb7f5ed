import ChatModel

/// Names of history files: one per UTC day, readable for operators.
enum UTCDay {
    private static let prefix = "history-"
    private static let suffix = ".sqlite"

    static func fileName(_ day: Int64) -> String { prefix + UTCDate(day: day).text(separator: "-") + suffix }

    /// The day of a file name; nil for other files.
    static func day(fileName: String) -> Int64? {
        guard fileName.hasPrefix(prefix), fileName.hasSuffix(suffix) else { return nil }
        let parts = fileName.dropFirst(prefix.count).dropLast(suffix.count).split(separator: "-")
        guard parts.count == 3, let year = Int64(parts[0]), let month = Int64(parts[1]),
            let dayOfMonth = Int64(parts[2]),
            (0...9999).contains(year), (1...12).contains(month), (1...31).contains(dayOfMonth)
        else { return nil }
        let day = UTCDate(year: year, month: month, dayOfMonth: dayOfMonth).day
        // Refuses the 31st of June and names with other digits.
        return self.fileName(day) == fileName ? day : nil
    }

    /// Whether a file can be named after the day: the years 0 to 9999.
    static func isNameable(_ day: Int64) -> Bool { (-719_528...2_932_896).contains(day) }
}
