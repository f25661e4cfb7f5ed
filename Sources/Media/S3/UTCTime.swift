import ChatModel

/// The forms of a time that stores of the protocol S3 write and read, in UTC.
enum UTCTime {
    /// ISO 8601 in its basic form, `20130524T000000Z`, as signatures have it.
    static func basic(_ time: Timestamp) -> String {
        let seconds = time.milliseconds / 1000 - time.day * 86_400
        let clock = [seconds / 3600, seconds % 3600 / 60, seconds % 60].map { UTCDate.padded($0, 2) }.joined()
        return "\(UTCDate(day: time.day).text(separator: ""))T\(clock)Z"
    }

    /// `2013-05-24T00:00:00.000Z`, as listings have it. nil for anything else.
    static func extended(_ text: some Collection<UInt8>) -> Timestamp? {
        let bytes = Array(text)
        guard bytes.count >= 20, bytes.count <= 40, bytes.last == UInt8(ascii: "Z"), bytes[10] == UInt8(ascii: "T"),
            let year = number(bytes[0..<4]), let month = number(bytes[5..<7]), let day = number(bytes[8..<10])
        else { return nil }
        return time(year, month, day: day, clock: bytes[11..<19])
    }

    /// `Fri, 24 May 2013 00:00:00 GMT`, as the header `Date` has it (RFC 9110 §5.6.7). nil for anything else.
    static func header(_ text: some Collection<UInt8>) -> Timestamp? {
        let bytes = Array(text)
        guard bytes.count == 29, let day = number(bytes[5..<7]), let year = number(bytes[12..<16]),
            let month = months.firstIndex(where: { $0.utf8.elementsEqual(bytes[8..<11]) })
        else { return nil }
        return time(year, Int64(month) + 1, day: day, clock: bytes[17..<25])
    }

    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// - Parameter clock: `00:00:00`.
    private static func time(_ year: Int64, _ month: Int64, day: Int64, clock: ArraySlice<UInt8>) -> Timestamp? {
        let parts = clock.split(separator: UInt8(ascii: ":"), omittingEmptySubsequences: false).map { number($0) }
        guard parts.count == 3, let hours = parts[0], let minutes = parts[1], let seconds = parts[2],
            (1...12).contains(month), (1...31).contains(day), hours < 24, minutes < 60, seconds <= 60
        else { return nil }
        let all =
            UTCDate(year: year, month: month, dayOfMonth: day).day * 86_400 + hours * 3600 + minutes * 60 + seconds
        return Timestamp(all * 1000)
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int64? {
        guard (1...4).contains(bytes.count), bytes.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return bytes.reduce(0) { $0 * 10 + Int64($1 - 0x30) }
    }
}
