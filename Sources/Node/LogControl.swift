import Logging
import Synchronization
import Wire

/// How much a node logs, for all of its loggers at once; can be changed while it runs.
public final class LogControl: Sendable {
    private let current: Mutex<Logger.Level>

    public init(_ level: Logger.Level) { current = Mutex(level) }

    public var level: Logger.Level { current.withLock { $0 } }

    func set(_ level: LogLevel) {
        if let level = Logger.Level(rawValue: level.rawValue) { current.withLock { $0 = level } }
    }

    /// A handler that writes as `base` does, as much as this control says.
    public func handler(_ base: any LogHandler) -> any LogHandler { Handler(control: self, base: base) }

    private struct Handler: LogHandler {
        let control: LogControl
        var base: any LogHandler

        var logLevel: Logger.Level {
            get { control.level }
            // Copies of a logger can't have a level of their own: what an operator sets holds for all.
            set { control.current.withLock { $0 = newValue } }
        }

        var metadata: Logger.Metadata {
            get { base.metadata }
            set { base.metadata = newValue }
        }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { base[metadataKey: key] }
            set { base[metadataKey: key] = newValue }
        }

        func log(event: LogEvent) { base.log(event: event) }
    }
}
