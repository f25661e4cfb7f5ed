import Logging

/// Gives each event to another handler that writes text, without signs that would end its line or rule the terminal: some
/// of what is logged comes from others.
public struct SingleLineLogHandler: LogHandler {
    private var base: any LogHandler

    public init(_ base: any LogHandler) { self.base = base }

    public var logLevel: Logger.Level {
        get { base.logLevel }
        set { base.logLevel = newValue }
    }

    public var metadata: Logger.Metadata {
        get { base.metadata }
        set { base.metadata = newValue.mapValues(Self.escaped) }
    }

    public subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { base[metadataKey: key] }
        set { base[metadataKey: key] = newValue.map(Self.escaped) }
    }

    public func log(event: LogEvent) {
        var event = event
        let message = event.message.description
        if Self.needsEscape(message) { event.message = "\(Self.escaped(message))" }
        event.metadata = event.metadata?.mapValues(Self.escaped)
        if let error = event.error {
            event.error = nil
            event.metadata = (event.metadata ?? [:]).merging(["error": .string(Self.escaped("\(error)"))]) { $1 }
        }
        base.log(event: event)
    }

    private static func escaped(_ value: Logger.MetadataValue) -> Logger.MetadataValue {
        switch value {
        case .string(let text): .string(escaped(text))
        case .stringConvertible(let value): .string(escaped(value.description))
        case .array(let values): .array(values.map(escaped))
        case .dictionary(let values): .dictionary(values.mapValues(escaped))
        }
    }

    private static func escaped(_ text: String) -> String {
        guard needsEscape(text) else { return text }
        var shown = ""
        for scalar in text.unicodeScalars {
            if isUnsafe(scalar) { shown += scalar.escaped(asASCII: true) } else { shown.unicodeScalars.append(scalar) }
        }
        return shown
    }

    private static func needsEscape(_ text: String) -> Bool { text.unicodeScalars.contains(where: isUnsafe) }

    /// Controls, which terminals obey, line ends, and marks that change the direction of what follows.
    private static func isUnsafe(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar {
        case "\u{0}"..."\u{1F}", "\u{7F}"..."\u{9F}", "\u{2028}"..."\u{202E}", "\u{2066}"..."\u{2069}": true
        default: false
        }
    }
}
