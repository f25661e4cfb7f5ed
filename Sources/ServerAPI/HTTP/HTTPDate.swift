internal import Glibc

/// The time as HTTP writes it (RFC 9110 §5.6.7); made once for each second. It belongs to one loop.
struct HTTPDate {
    private var second: time_t = -1
    private var text = ""

    mutating func now() -> String { at(time(nil)) }

    mutating func at(_ now: time_t) -> String {
        guard now != second else { return text }
        second = now
        var (seconds, parts) = (now, tm())
        gmtime_r(&seconds, &parts)
        let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
        let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map { Self.two($0) }.joined(separator: ":")
        text =
            "\(days[Int(parts.tm_wday)]), \(Self.two(parts.tm_mday)) \(months[Int(parts.tm_mon)]) "
            + "\(parts.tm_year + 1900) \(clock) GMT"
        return text
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
