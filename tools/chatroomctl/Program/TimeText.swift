#if canImport(Glibc)
    import Glibc
#elseif canImport(Darwin)
    import Darwin
#endif

/// Unix milliseconds as people read them, in the terminal's time zone (`TZ`).
enum TimeText {
    /// `2025-11-21 14:03:07`, or the number itself where the calendar ends.
    static func full(_ milliseconds: Int64) -> String {
        guard let parts = parts(milliseconds) else { return String(milliseconds) }
        let year = Int(parts.tm_year) + 1900
        return "\(year)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday)) \(clock(parts))"
    }

    /// The clock alone on the day of `now`, else the date too.
    static func short(_ milliseconds: Int64, now: Int64 = Int64(time(nil)) * 1000) -> String {
        full(milliseconds).prefix(10) == full(now).prefix(10) ? clock(milliseconds) : full(milliseconds)
    }

    /// `14:03:07`.
    static func clock(_ milliseconds: Int64) -> String {
        parts(milliseconds).map(clock) ?? String(milliseconds)
    }

    private static func clock(_ parts: tm) -> String {
        "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    }

    private static func parts(_ milliseconds: Int64) -> tm? {
        guard var seconds = time_t(exactly: milliseconds / 1000) else { return nil }
        var parts = tm()
        return localtime_r(&seconds, &parts) == nil ? nil : parts
    }

    private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : String(number) }
}
