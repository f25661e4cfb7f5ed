import Logging
import Synchronization
import Testing

@testable import Node

@Suite struct SingleLineLogHandlerTests {
    /// Keeps what it is given.
    private struct Recorder: LogHandler {
        final class Events: Sendable {
            let all = Mutex<[(message: String, metadata: Logger.Metadata)]>([])
        }

        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        let events: Events

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let all = metadata.merging(event.metadata ?? [:]) { $1 }
            events.all.withLock { $0.append((event.message.description, all)) }
        }
    }

    private func logged(_ log: (inout Logger) -> Void) throws -> (message: String, metadata: Logger.Metadata) {
        let events = Recorder.Events()
        var logger = Logger(label: "test") { _ in SingleLineLogHandler(Recorder(events: events)) }
        log(&logger)
        return try #require(events.all.withLock { $0.first })
    }

    @Test func `nothing that comes from others ends the line or rules the terminal`() throws {
        let hostile = "a\nb\rc\u{1B}[2Jd\u{9B}e\u{2028}f\u{202E}g\u{2067}h\u{85}i\u{0}j\u{7F}"
        let shown = #"a\nb\rc\u{1B}[2Jd\u{009B}e\u{2028}f\u{202E}g\u{2067}h\u{0085}i\0j\u{7F}"#
        let event = try logged {
            $0[metadataKey: "own"] = "\(hostile)"
            $0.warning(
                "\(hostile)", error: NodeError(.data, hostile),
                metadata: ["text": "\(hostile)", "list": ["\(hostile)", ["key": .stringConvertible(hostile)]]])
        }
        #expect(event.message == shown)
        let list = Logger.MetadataValue.array([.string(shown), .dictionary(["key": .string(shown)])])
        #expect(
            event.metadata == ["own": .string(shown), "text": .string(shown), "list": list, "error": .string(shown)])
    }

    @Test func `other text stays as it is`() throws {
        let text = "Zürich 日本語 👩‍👩‍👧 \"quoted\" \\"
        let event = try logged { $0.info("\(text)", metadata: ["text": "\(text)"]) }
        #expect(event.message == text && event.metadata == ["text": .string(text)])
    }
}
