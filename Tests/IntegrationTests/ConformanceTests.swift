import Foundation
import Testing

extension IntegrationTests {
    /// The admin tool's check of PROTOCOL.md, against the real program with its default settings.
    @Suite struct ConformanceTests {
        @Test func `the node conforms to the protocol`() async throws {
            // No session settings: the default rates hold.
            try await TestNode.run(["session": [:], "advertiseUrl": "ws://127.0.0.1:7400/v1/ws"]) { node in
                let report = try await Self.report(of: node)
                let checks = report["checks"] as? [[String: Any]] ?? []
                #expect(checks.count > 300)
                for check in checks where check["conformant"] as? Bool != true {
                    Issue.record("\(check["section"] ?? "") \(check["sentence"] ?? ""): \(check["deviation"] ?? "")")
                }
                #expect(report["conformant"] as? Int == report["of"] as? Int)
                for check in report["notChecked"] as? [[String: Any]] ?? [] {
                    #expect(check["reason"] as? String == "only one node is known", "\(check["sentence"] ?? "")")
                }
            }
        }

        @Test func `a node with other numbers is found not to conform`() async throws {
            try await TestNode.run(["session": ["rooms": 9]]) { node in
                let report = try await Self.report(of: node, only: "serves 10 rooms")
                #expect(report["of"] as? Int == 1)
                #expect(report["conformant"] as? Int == 0)
            }
        }

        @Test func `a node with TLS on both ports conforms as one without`() async throws {
            try await TestCertificate.$current.withValue(TestCertificate()) {
                try await TestNode.run(["session": [:], "advertiseUrl": "wss://127.0.0.1:7400/v1/ws"]) { node in
                    for section in ["2 connect", "an Origin", "4 rooms"] {
                        let report = try await Self.report(of: node, only: section, isSecure: true)
                        let checks = report["checks"] as? [[String: Any]] ?? []
                        #expect(!checks.isEmpty, "\(section)")
                        for check in checks where check["conformant"] as? Bool != true {
                            Issue.record("\(check["sentence"] ?? ""): \(check["deviation"] ?? "")")
                        }
                    }
                }
            }
        }

        private static func report(
            of node: TestNode, only: String? = nil, isSecure: Bool = false
        ) async throws -> [String: Any] {
            let (api, client) = ("127.0.0.1:\(node.apiPort)", "127.0.0.1:\(node.clientPort)")
            var arguments = ["conformance", "--json", "--server", isSecure ? "https://\(api)" : api]
            arguments += ["--client", isSecure ? "wss://\(client)" : client]
            if isSecure { arguments += ["--ca-file", node.directory + "/tls.pem"] }
            let file = node.directory + "/cluster.json"
            let tokenKey = ["kid": "default", "secret": TestNode.tokenSecret]
            try node.write(
                ["tokenKey": tokenKey, "nodes": [["id": "n1", "api": api, "client": client]]], to: file, mode: 0o600)
            arguments += ["--cluster-file", file]
            if let only { arguments += ["--only", only] }
            // Proxies of the environment, with nobody there: they are not to be used.
            let proxies = ["http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"]
            let environment = Dictionary(uniqueKeysWithValues: proxies.map { ($0, "http://127.0.0.1:1") })
                .merging(["CHATROOM_ADMIN_KEY": TestNode.adminKey, "HOME": "/tmp"]) { $1 }
            let program = try Program("chatroomctl", arguments, environment: environment)
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
