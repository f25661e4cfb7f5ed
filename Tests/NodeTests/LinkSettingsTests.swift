import Foundation
import Testing

@testable import Node

@Suite struct LinkSettingsTests {
    private func read(_ link: [String: Any]) async throws -> NodeConfiguration {
        let path = FileManager.default.temporaryDirectory.path + "/link-\(UUID().uuidString).json"
        let settings: [String: Any] = ["nodeId": "n1", "dataDirectory": "d", "keysFile": "k", "link": link]
        try JSONSerialization.data(withJSONObject: settings).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try NodeConfiguration(path: path, environment: [:])
    }

    private func refusal(_ link: [String: Any]) async throws -> String {
        do {
            _ = try await read(link)
            return ""
        } catch let error as NodeError {
            return error.message
        }
    }

    @Test func `a link that leaves the machine needs all three files`() async throws {
        let files = ["certificateFile": "c", "keyFile": "k", "caFile": "a"]
        let secured = try await read(["host": "10.0.0.1", "tls": files])
        #expect(secured.linkTLS == LinkTLSFiles(certificateFile: "c", keyFile: "k", caFile: "a"))
        let plain = try await read(["host": "127.0.0.2"])
        #expect(plain.linkTLS == nil)
        let open = try await refusal(["host": "10.0.0.1"])
        #expect(open.contains("link.host 10.0.0.1") && open.contains("link.tls.caFile"))
        for key in files.keys {
            let message = try await refusal(["tls": files.filter { $0.key != key }])
            #expect(message.contains("belong together"))
        }
        for wildcard in ["0.0.0.0", "::"] {
            let message = try await refusal(["host": wildcard, "tls": files])
            #expect(message.contains("link.host \(wildcard)"))
        }
    }

    @Test func `files that can't be read stop the start`() {
        #expect(throws: NodeError.self) {
            try LinkTLSFiles(certificateFile: "/none", keyFile: "/none", caFile: "/none").read()
        }
    }
}
