import Foundation
import Testing

extension IntegrationTests {
    /// The log as a collector reads it (OPERATIONS.md, "Logs").
    @Suite struct LogFormatTests {
        @Test func `with log format json every line of a node's life is an object`() async throws {
            let node = try TestNode(["log": ["format": "json"], "shards": 2])
            try await node.create()
            let program = try Program("chatroomd", ["--config", node.configPath])
            defer { program.signal(SIGKILL) }
            let serving = try await program.errorLine { $0.contains("node is serving") }
            program.signal(SIGTERM)
            let end = try await program.ended()
            #expect(end.status == 0)
            let lines = end.errors.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
            let objects = try lines.map { line in
                try #require(
                    try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: String], "\(line)")
            }
            #expect(objects.allSatisfy { $0["node"] == "n1" && $0["level"] != nil })
            let times = objects.compactMap { $0["time"] }
            #expect(times.count == objects.count && times == times.sorted())
            #expect(objects.last?["message"] == "node has stopped")
            let first = try #require(objects.first { $0["message"] == "node is serving" })
            #expect(serving != nil && first["level"] == "info" && Int(first["client"] ?? "") != nil)
        }
    }
}
