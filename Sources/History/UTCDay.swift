import ChatModel

/// Names of history files: one per UTC day, readable for operators.
enum UTCDay {
    private static let prefix = "history-"
    private static let suffix = ".sqlite"

    /// The proleptic Gregorian date of a day (H. Hinnant, "chrono-compatible low-level date algorithms").
    static func fileName(_ day: Int64) -> String {
        let (year, month, dayOfMonth) = date(day)
        func padded(_ number: Int64, _ width: Int) -> String {
            let text = String(number)
            return String(repeating: "0", count: max(0, width - text.count)) + text
        }
        return prefix + padded(year, 4) + "-" + padded(month, 2) + "-" + padded(dayOfMonth, 2) + suffix
    }

    /// The day of a file name; nil for other files.
    static func day(fileName: String) -> Int64? {
        guard fileName.hasPrefix(prefix), fileName.hasSuffix(suffix) else { return nil }
        let parts = fileName.dropFirst(prefix.count).dropLast(suffix.count).split(separator: "-")
        guard parts.count == 3, let year = Int64(parts[0]), let month = Int64(parts[1]),
            let dayOfMonth = Int64(parts[2]),
            (0...9999).contains(year), (1...12).contains(month), (1...31).contains(dayOfMonth)
        else { return nil }
        let day = days(year, month, dayOfMonth)
        // Refuses the 31st of June and names with other digits.
        return self.fileName(day) == fileName ? day : nil
    }

    /// Whether a file can be named after the day: the years 0 to 9999.
    static func isNameable(_ day: Int64) -> Bool { (-719_528...2_932_896).contains(day) }

    private static func date(_ day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        let year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    private static func days(_ year: Int64, _ month: Int64, _ dayOfMonth: Int64) -> Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }
}
