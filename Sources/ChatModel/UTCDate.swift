/// A date of the proleptic Gregorian calendar in UTC (H. Hinnant, "chrono-compatible low-level date algorithms"). Without a calendar
/// library, because the cores of this project have none.
public struct UTCDate: Sendable, Hashable {
    public var year: Int64
    /// 1-12.
    public var month: Int64
    /// 1-31.
    public var dayOfMonth: Int64

    public init(year: Int64, month: Int64, dayOfMonth: Int64) {
        self.year = year
        self.month = month
        self.dayOfMonth = dayOfMonth
    }

    /// - Parameter day: days since 1970-01-01, as ``Timestamp/day``.
    public init(day: Int64) {
        // Years begin in March here, so that a leap day is the last one.
        let shifted = day + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1_460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        dayOfMonth = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
    }

    /// Days since 1970-01-01.
    public var day: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + dayOfMonth - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        return era * 146_097 + dayOfEra - 719_468
    }

    /// `2013-05-24`, for the years 0 to 9999.
    public func text(separator: String) -> String {
        [Self.padded(year, 4), Self.padded(month, 2), Self.padded(dayOfMonth, 2)].joined(separator: separator)
    }

    /// A number of at least so many digits.
    public static func padded(_ number: Int64, _ width: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, width - text.utf8.count)) + text
    }
}
