import ChatModel

/// The forms of a time that stores of the protocol S3 write and read, in UTC. Without a calendar library, because the cores of
/// this project have none.
enum UTCTime {
    /// ISO 8601 in its basic form, `20130524T000000Z`, as signatures have it.
    static func basic(_ time: Timestamp) -> String {
        let seconds = Int64(time.milliseconds) / 1000
        let day = date(ofDay: seconds / 86_400)
        let clock = [seconds % 86_400 / 3600, seconds % 3600 / 60, seconds % 60].map { digits($0, 2) }.joined()
        return "\(digits(day.year, 4))\(digits(day.month, 2))\(digits(day.day, 2))T\(clock)Z"
    }

    /// `2013-05-24T00:00:00.000Z`, as listings have it. nil for anything else.
    static func extended(_ text: some Collection<UInt8>) -> Timestamp? {
        let bytes = Array(text)
        guard bytes.count >= 20, bytes.count <= 40, bytes.last == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10])
        else { return nil }
        return time(year, month, day, bytes[11..<19])
    }

    /// `Fri, 24 May 2013 00:00:00 GMT`, as the header `Date` has it (RFC 9110 §5.6.7). nil for anything else.
    static func header(_ text: some Collection<UInt8>) -> Timestamp? {
        let bytes = Array(text)
        guard bytes.count == 29, let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
            let month = months.firstIndex(where: { $0.utf8.elementsEqual(bytes[8..<11]) })
        else { return nil }
        return time(year, Int64(month) + 1, day, bytes[17..<25])
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Parameter clock: `00:00:00`.
    private static func time(_ year: Int64, _ month: Int64, _ day: Int64, _ clock: ArraySlice<UInt8>) -> Timestamp? {
        let parts = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map { number($0) }
        guard parts.count == 3, let hours = parts[0], let minutes = parts[1], let seconds = parts[2],
            (1...12).contains(month), (1...31).contains(day), hours < 24, minutes < 60, seconds <= 60
        else { return nil }
        let all = self.day(year, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds
        return Timestamp(all * 1000)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard (1...4).contains(bytes.count), bytes.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }

    private static func digits(_ number: Int64, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }

    /// The date of a day since 1970, by the Gregorian calendar: years begin in March here, so that a leap day is the last one.
    private static func date(ofDay day: Int64) -> (year: Int64, month: Int64, day: Int64) {
        let shifted = day + 719_468
        let era = shifted / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        let month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, dayOfYear - (153 * shiftedMonth + 2) / 5 + 1)
    }

    /// The reverse, for years from 0 on.
    private static func day(_ year: Int64, _ month: Int64, _ day: Int64) -> Int64 {
        let shifted = month <= 2 ? year - 1 : year
        let era = (shifted >= 0 ? shifted : shifted - 399) / 400
        let yearOfEra = shifted - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
    }
}
