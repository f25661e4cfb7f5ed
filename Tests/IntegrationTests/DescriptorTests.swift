import Foundation
import Testing

extension IntegrationTests {
    /// Clients and shards need more files than systems give to who does not ask (OPERATIONS.md, "What a node needs").
    @Suite struct DescriptorTests {
        @Test func `a node takes as many descriptors as the system allows`() async throws {
            let node = try TestNode(["shards": 1])
            try await node.create()
            let directory = try #require(Bundle.main.executableURL?.deletingLastPathComponent())
            let program = try Program(
                executable: URL(fileURLWithPath: "/bin/sh"),
                [
                    "-c", #"ulimit -Sn 300; exec "$0" --config "$1""#, directory.path + "/chatroomd", node.configPath,
                ], environment: [:])
            defer { program.signal(SIGKILL) }
            let serving = try await program.errorLine { $0.contains("node is serving") }
            #expect(serving != nil)
            let limits = try String(contentsOfFile: "/proc/\(program.pid)/limits", encoding: .utf8)
            let line = try #require(limits.split(separator: "\n").first { $0.hasPrefix("Max open files") })
            let numbers = line.split(separator: " ").compactMap { Int($0) }
            #expect(numbers.count == 2 && numbers[0] == min(numbers[1], 1_048_576), "\(line)")
        }
    }
}
