import ChatModel
import FoundationEssentials
import Logging
import Synchronization
import SystemCalls

/// Writes each event as one line with one JSON object: `time`, `level`, `message`, then the metadata by their names.
public struct JSONLogHandler: LogHandler {
    public var logLevel = Logger.Level.trace
    public var metadata: Logger.Metadata = [:]
    public var metadataProvider: Logger.MetadataProvider?
    private let now: @Sendable () -> Timestamp
    private let write: @Sendable (String) -> Void

    /// Writes to standard error.
    public init() {
        // Threads that log at the same time do not mix their lines, however long these are.
        let lines = Lines()
        self.init(now: { WallClock.now() }, write: { lines.write($0) })
    }

    /// - Parameter write: gets whole lines, at any time and on any thread.
    init(now: @escaping @Sendable () -> Timestamp, write: @escaping @Sendable (String) -> Void) {
        self.now = now
        self.write = write
    }

    private final class Lines: Sendable {
        private let stream = Mutex(StandardStream.error)

        func write(_ line: String) { _ = stream.withLock { $0.write(line) } }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    public func log(event: LogEvent) {
        var all = metadata
        if let provided = metadataProvider?.get() { all.merge(provided) { $1 } }
        if let own = event.metadata { all.merge(own) { $1 } }
        if let error = event.error { all["error"] = "\(error)" }
        write(Self.line(time: now(), level: event.level, message: event.message.description, metadata: all))
    }

    static func line(time: Timestamp, level: Logger.Level, message: String, metadata: Logger.Metadata) -> String {
        var text = #"{"time":"\#(iso8601(time))","level":"\#(level.rawValue)","message":"#
        append(message, to: &text)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            text += ","
            // No name stands twice in the object.
            append(fixedNames.contains(key) ? "metadata.\(key)" : key, to: &text)
            text += ":"
            append(value, to: &text)
        }
        return text + "}\n"
    }

    private static let fixedNames: Set<String> = ["time", "level", "message"]

    /// RFC 3339 with milliseconds, in UTC: `2026-01-02T03:04:05.678Z`.
    private static func iso8601(_ time: Timestamp) -> String {
        let (seconds, milliseconds) = time.milliseconds.quotientAndRemainder(dividingBy: 1000)
        let text = Date(timeIntervalSince1970: Double(seconds)).formatted(.iso8601)
        return "\(text.dropLast()).\(String(milliseconds + 1000).dropFirst())Z"
    }

    private static func append(_ value: Logger.MetadataValue, to text: inout String) {
        switch value {
        case .string(let string): append(string, to: &text)
        case .stringConvertible(let value): append(value.description, to: &text)
        case .array(let values):
            text += "["
            for (index, value) in values.enumerated() {
                if index > 0 { text += "," }
                append(value, to: &text)
            }
            text += "]"
        case .dictionary(let values):
            text += "{"
            for (index, entry) in values.sorted(by: { $0.key < $1.key }).enumerated() {
                if index > 0 { text += "," }
                append(entry.key, to: &text)
                text += ":"
                append(entry.value, to: &text)
            }
            text += "}"
        }
    }

    /// A JSON string (RFC 8259, section 7): nothing in it ends the line.
    private static func append(_ string: String, to text: inout String) {
        text += "\""
        for scalar in string.unicodeScalars {
            switch scalar {
            case "\"": text += "\\\""
            case "\\": text += "\\\\"
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case "\u{0}"..."\u{1F}", "\u{7F}", "\u{85}", "\u{2028}", "\u{2029}":
                let digits = String(scalar.value, radix: 16)
                text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
            default: text.unicodeScalars.append(scalar)
            }
        }
        text += "\""
    }
}
