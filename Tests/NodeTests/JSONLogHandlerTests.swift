import ChatModel
import Foundation
import Logging
import Synchronization
import Testing

@testable import Node

@Suite struct JSONLogHandlerTests {
    private final class Lines: Sendable {
        private let text = Mutex("")

        var all: String { text.withLock { $0 } }
        func write(_ line: String) { text.withLock { $0 += line } }
    }

    /// The lines that `log` writes with a logger of node `n1` at that time.
    private func lines(at milliseconds: Int64 = 0, _ log: (Logger) -> Void) -> String {
        let lines = Lines()
        var logger = Logger(label: "test") { _ in
            JSONLogHandler(now: { Timestamp(milliseconds) }, write: { lines.write($0) })
        }
        logger[metadataKey: "node"] = "n1"
        log(logger)
        return lines.all
    }

    private func object(_ line: String) throws -> [String: Any] {
        try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
    }

    @Test func `an event is one line with time, level, message and metadata`() {
        let text = lines(at: 1_767_323_045_007) { $0.warning("link is down", metadata: ["peer": "n2"]) }
        let event = #"{"time":"2026-01-02T03:04:05.007Z","level":"warning","message":"link is down""#
        #expect(text == event + #","node":"n1","peer":"n2"}"# + "\n")
    }

    @Test func `what an event says itself comes before what its logger says`() throws {
        let line = lines { $0.info("x", metadata: ["node": "n2"]) }
        #expect(try object(line)["node"] as? String == "n2")
    }

    @Test func `no text ends the line or the object`() throws {
        let hostile = "a\"b\\c\nd\re\tf\u{0}g\u{7F}h\u{85}i\u{2028}j\u{2029}k\u{1F600}}{"
        let text = lines { $0.error("\(hostile)", metadata: ["\(hostile)": "\(hostile)"]) }
        #expect(text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).count == 2)
        #expect(text.unicodeScalars.allSatisfy { $0.value >= 0x20 && $0 != "\u{7F}" || $0 == "\n" })
        let read = try object(text)
        #expect(read["message"] as? String == hostile && read[hostile] as? String == hostile)
    }

    @Test func `metadata does not take the place of the event's own fields`() throws {
        let line = lines { $0.info("real", metadata: ["message": "m", "level": "l", "time": "t"]) }
        let read = try object(line)
        #expect(read["message"] as? String == "real" && read["level"] as? String == "info")
        #expect(read["metadata.message"] as? String == "m" && read["metadata.level"] as? String == "l")
        #expect(line.components(separatedBy: #""message":"#).count == 2)
    }

    @Test func `lists, objects and errors are metadata too`() throws {
        let line = lines {
            $0.info(
                "x", error: NodeError(.data, "gone"),
                metadata: ["list": ["a", ["b": "c"]], "number": .stringConvertible(7)])
        }
        let read = try object(line)
        #expect(read["error"] as? String == "gone" && read["number"] as? String == "7")
        let list = try #require(read["list"] as? [Any])
        #expect(list.first as? String == "a" && (list.last as? [String: String])?["b"] == "c")
    }
}
