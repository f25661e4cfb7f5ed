/// Numbers for people.
enum Figure {
    /// Three digits or so: 0.25, 4.2, 12, 1,234, 12.3k, 4.5M.
    static func short(_ value: Double) -> String {
        guard value.isFinite else { return "–" }
        let magnitude = abs(value)
        if magnitude >= 999_500 { return decimal(value / 1_000_000, 1) + "M" }
        if magnitude >= 10_000 { return decimal(value / 1_000, 1) + "k" }
        if magnitude >= 100 || value == value.rounded() { return grouped(Int(value.rounded())) }
        return decimal(value, magnitude >= 10 ? 1 : 2)
    }

    /// All digits, in groups of three.
    static func grouped(_ value: Int) -> String {
        var digits = "\(abs(value))"
        var groups: [String] = []
        while digits.count > 3 {
            groups.insert(String(digits.suffix(3)), at: 0)
            digits.removeLast(3)
        }
        return (value < 0 ? "−" : "") + ([digits] + groups).joined(separator: ",")
    }

    static func grouped(_ value: UInt64) -> String { grouped(Int(clamping: value)) }

    /// With at most so many places, without trailing zeros.
    static func decimal(_ value: Double, _ places: Int) -> String {
        var scale = 1.0
        for _ in 0..<places { scale *= 10 }
        let scaled = Int((abs(value) * scale).rounded())
        let whole = scaled / Int(scale)
        var fraction = "\(scaled % Int(scale))"
        fraction = String(repeating: "0", count: max(0, places - fraction.count)) + fraction
        while fraction.hasSuffix("0") { fraction.removeLast() }
        return (value < 0 && scaled > 0 ? "−" : "") + "\(whole)"
            + (places == 0 || fraction.isEmpty ? "" : ".\(fraction)")
    }

    /// Microseconds as µs, ms or s.
    static func duration(microseconds: Double) -> String {
        if microseconds < 1_000 { return "\(short(microseconds)) µs" }
        if microseconds < 1_000_000 { return "\(short(microseconds / 1_000)) ms" }
        return "\(short(microseconds / 1_000_000)) s"
    }

    /// Seconds since the beginning as 42 s or 3:05.
    static func clock(_ seconds: Double) -> String {
        let whole = Int(seconds.rounded())
        guard whole >= 120 else { return "\(whole) s" }
        let rest = whole % 60
        return "\(whole / 60):" + (rest < 10 ? "0" : "") + "\(rest)"
    }

    static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text {
            switch character {
            case "&": escaped += "&amp;"
            case "<": escaped += "&lt;"
            case ">": escaped += "&gt;"
            case "\"": escaped += "&quot;"
            case "'": escaped += "&#39;"
            default: escaped.append(character)
            }
        }
        return escaped
    }
}
