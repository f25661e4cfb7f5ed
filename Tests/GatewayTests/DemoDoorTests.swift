import ChatModel
import HTTPWebSocket
import Testing

@testable import Gateway

/// Admission to the demo: this machine's browsers on this node's pages.
@Suite struct DemoDoorTests {
    private func door(host: String = "127.0.0.1", isOn: Bool = true, isBehindProxy: Bool = false) -> DemoDoor {
        var configuration = GatewayConfiguration(node: NodeID("n1")!)
        (configuration.host, configuration.hasDemo, configuration.isBehindProxy) = (host, isOn, isBehindProxy)
        return DemoDoor(configuration)
    }

    private func request(_ lines: [String]) throws -> UpgradeRequest {
        let text = (["POST /v1/demo HTTP/1.1"] + lines + ["", ""]).joined(separator: "\r\n")
        var parser = HTTPUpgradeParser()
        guard case .request(let request, _) = Array(text.utf8).withUnsafeBytes({ parser.parse($0) }) else {
            throw ChatError(.malformed, text)
        }
        return request
    }

    @Test func `a page of this node and a program without Origin are let in, under each name of loopback`() throws {
        for host in ["127.0.0.1:7400", "localhost:7400", "LOCALHOST:7400", "[::1]:7400"] {
            #expect(door().admits(try request(["Host: \(host)"]), scheme: "http"), "\(host)")
            for origin in ["http://127.0.0.1:7400", "http://localhost:7400", "http://[::1]:7400"] {
                #expect(
                    door().admits(try request(["Host: \(host)", "Origin: \(origin)"]), scheme: "http"), "\(origin)")
            }
        }
    }

    @Test func `another host's name, another origin and a proxy are turned away`() throws {
        for host in [
            "evil.example:7400", "127.0.0.1.evil.example", "10.0.0.1:7400", "localhost.evil.example:7400", "", "a b",
        ] {
            #expect(!door().admits(try request(["Host: \(host)"]), scheme: "http"), "\(host)")
        }
        for origin in [
            "http://evil.example", "https://127.0.0.1:7400", "http://127.0.0.1:7410", "http://127.0.0.1", "null",
            "http://127.0.0.1:7400/", "file://",
        ] {
            let asked = try request(["Host: 127.0.0.1:7400", "Origin: \(origin)"])
            #expect(!door().admits(asked, scheme: "http"), "\(origin)")
        }
        for line in [
            "Forwarded: for=1.2.3.4", "forwarded:", "X-Forwarded-For: 127.0.0.1", "x-FORWARDED-anything: \u{e9}",
            "Via: 1.1 proxy", "VIA:", "X-Real-IP: 127.0.0.1",
        ] {
            #expect(!door().admits(try request(["Host: 127.0.0.1:7400", line]), scheme: "http"), "\(line)")
        }
    }

    @Test func `it is shut without the setting, off loopback, and behind a proxy`() throws {
        let asked = try request(["Host: 127.0.0.1:7400"])
        #expect(!door(isOn: false).admits(asked, scheme: "http"))
        #expect(!door(isBehindProxy: true).admits(asked, scheme: "http"))
        #expect(!door(host: "0.0.0.0").admits(asked, scheme: "http"))
        #expect(!door(host: "10.0.0.1").admits(asked, scheme: "http"))
        #expect(door(host: "localhost").admits(asked, scheme: "http"))
    }
}
