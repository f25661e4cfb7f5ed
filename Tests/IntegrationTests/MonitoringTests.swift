import Foundation
import Testing

extension IntegrationTests {
    /// `cluster/monitoring` asks for figures that a node has, and each alert leads somewhere.
    @Suite struct MonitoringTests {
        private static let root = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .deletingLastPathComponent().deletingLastPathComponent()

        private func text(_ path: String) throws -> String {
            try String(contentsOf: Self.root.appendingPathComponent(path), encoding: .utf8)
        }

        /// A metric in an expression of Prometheus, with the labels that it is asked for.
        private struct Selector: Hashable {
            var name: String
            var labels: [String: String]
        }

        /// All selectors of expressions; a label that is matched by a pattern has the value "".
        private func selectors(in expressions: [String]) throws -> Set<Selector> {
            let metric = /\b(?<name>(?:chatroom|process)_[a-z_]+)(?:\{(?<labels>[^}]*)\})?/
            let label = /(?<name>[a-z_]+)(?<kind>=~|!~|!=|=)"(?<value>[^"]*)"/
            var found: Set<Selector> = []
            for match in expressions.flatMap({ $0.matches(of: metric) }) {
                var selector = Selector(name: String(match.output.name), labels: [:])
                for item in (match.output.labels ?? "").matches(of: label) {
                    selector.labels[String(item.output.name)] =
                        item.output.kind == "=" ? String(item.output.value) : ""
                }
                found.insert(selector)
            }
            return found
        }

        /// The expressions of the dashboard, of its panels, variables and annotations.
        private func dashboardExpressions() throws -> [String] {
            let dashboard = try JSONSerialization.jsonObject(with: Data(text("cluster/monitoring/dashboard.json").utf8))
            var found: [String] = []
            func walk(_ value: Any) {
                if let list = value as? [Any] { list.forEach(walk) }
                guard let object = value as? [String: Any] else { return }
                for (key, value) in object {
                    if ["expr", "query"].contains(key), let text = value as? String { found.append(text) }
                    walk(value)
                }
            }
            walk(dashboard)
            return found
        }

        /// The names of alerts, in the order of the file.
        private func alerts() throws -> [String] {
            try text("cluster/monitoring/alerts.yml").matches(of: /- alert: (?<name>[A-Za-z]+)/).map {
                String($0.output.name)
            }
        }

        @Test func `alerts and dashboard ask for figures that a node has, with their labels`() async throws {
            let alerts = try selectors(in: [text("cluster/monitoring/alerts.yml")])
            let dashboard = try selectors(in: dashboardExpressions())
            #expect(alerts.count > 15 && dashboard.count > 30)
            // A node without certificates has no figure of theirs.
            let withTLS = Set(["chatroom_certificate_expiry_timestamp_seconds"])
            try await TestNode.run { node in
                _ = try await node.createRoom("room")
                let lines = try await node.api("GET", "/metrics").body.split(separator: "\n").map(String.init)
                for selector in alerts.union(dashboard) where !withTLS.contains(selector.name) {
                    let own = lines.filter { $0.hasPrefix(selector.name + "{") || $0.hasPrefix(selector.name + " ") }
                    #expect(!own.isEmpty, "no node has \(selector.name)")
                    // Those that Prometheus adds.
                    for (label, value) in selector.labels where !["cluster", "job", "instance"].contains(label) {
                        let text = value.isEmpty ? "\(label)=\"" : "\(label)=\"\(value)\""
                        #expect(own.contains { $0.contains(text) }, "\(selector.name) has no \(text)")
                    }
                }
            }
        }

        @Test func `each alert has a heading in the runbook that it names, and a test of both kinds`() throws {
            let names = try alerts()
            let rules = try text("cluster/monitoring/alerts.yml")
            let tests = try text("cluster/monitoring/alerts.test.yml")
            let headings = try text("docs/OPERATIONS.md").matches(of: /\n### (?<name>Chatroom[A-Za-z]+)\n/).map {
                String($0.output.name)
            }
            #expect(names.count > 15 && Set(names).count == names.count)
            #expect(headings == names, "the runbook has the alerts in the order of the file")
            for name in names {
                #expect(rules.contains("runbook: docs/OPERATIONS.md#\(name.lowercased())\n"), "\(name)")
                #expect(tests.contains("alertname: \(name)\n        exp_alerts:\n"), "\(name) fires in no test")
                #expect(tests.contains("alertname: \(name), exp_alerts: []"), "\(name) is quiet in no test")
            }
        }
    }
}
