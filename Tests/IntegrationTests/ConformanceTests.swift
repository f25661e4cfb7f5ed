import Foundation
import Testing

extension IntegrationTests {
    /// The admin tool's check of the contract, against the real program with the contract's own settings.
    @Suite struct ConformanceTests {
        @Test func `the node conforms to the contract`() async throws {
            // No session settings: the contract's rates hold.
            try await TestNode.run(["session": [:], "advertiseUrl": "ws://127.0.0.1:7400/v1/ws"]) { node in
                let report = try await Self.report(of: node)
                let checks = report["checks"] as? [[String: Any]] ?? []
                #expect(checks.count > 100)
                for check in checks where check["conformant"] as? Bool != true {
                    Issue.record("\(check["section"] ?? "") \(check["sentence"] ?? ""): \(check["deviation"] ?? "")")
                }
                #expect(report["conformant"] as? Int == report["of"] as? Int)
            }
        }

        @Test func `a node with other numbers is found not to conform`() async throws {
            try await TestNode.run(["session": ["rooms": 9]]) { node in
                let report = try await Self.report(of: node, only: "serves 10 rooms")
                #expect(report["of"] as? Int == 1)
                #expect(report["conformant"] as? Int == 0)
            }
        }

        private static func report(of node: TestNode, only: String? = nil) async throws -> [String: Any] {
            var arguments = ["conformance", "--json", "--server", "127.0.0.1:\(node.apiPort)"]
            arguments += ["--client", "127.0.0.1:\(node.clientPort)"]
            if let only { arguments += ["--only", only] }
            let program = try Program(
                "chatroomctl", arguments, environment: ["CHATROOM_ADMIN_KEY": TestNode.adminKey, "HOME": "/tmp"])
            // Only ends a check that hangs.
            let end = try await program.ended(limit: .seconds(170))
            guard let report = try JSONSerialization.jsonObject(with: Data(end.output.utf8)) as? [String: Any] else {
                throw TestFailure("no report: \(end.output) \(end.errors)")
            }
            // The exit code says the same as the report.
            #expect((end.status == 0) == (report["conformant"] as? Int == report["of"] as? Int))
            return report
        }
    }
}
