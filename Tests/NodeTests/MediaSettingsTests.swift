import Foundation
import Gateway
import Media
import Testing

@testable import Node

@Suite struct MediaSettingsTests {
    private static var whole: [String: Any] {
        ["endpoint": "https://s3.example.org", "bucket": "media", "accessKey": "AKIA", "secretKeyFile": "/none"]
    }

    private func read(_ media: [String: Any]) throws -> NodeConfiguration {
        let path = FileManager.default.temporaryDirectory.path + "/media-\(UUID().uuidString).json"
        let settings: [String: Any] = ["nodeId": "n1", "dataDirectory": "d", "keysFile": "k", "media": media]
        try JSONSerialization.data(withJSONObject: settings).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try NodeConfiguration(path: path, environment: [:])
    }

    private func refusal(_ media: [String: Any]) throws -> String {
        do {
            _ = try read(media)
            return ""
        } catch let error as NodeError {
            return error.message
        }
    }

    @Test func `content is on the nodes unless the file says otherwise`() throws {
        let plain = try read([:])
        #expect(plain.mediaStore == .local && plain.gateway.mediaOrigin == nil)
        #expect(try read(["store": "local", "s3": Self.whole]).mediaStore == .local)
        let other = try read([
            "store": "s3", "s3": Self.whole.merging(["style": "virtualHost", "prefix": "chat/"]) { $1 },
        ])
        guard case .s3(let settings) = other.mediaStore else { throw NodeError(.configuration, "it is local") }
        #expect(settings.region == "us-east-1" && settings.bucket.prefix == "chat/")
        #expect(other.gateway.mediaOrigin == "https://media.s3.example.org")
    }

    @Test func `a wrong store is refused with the name of its setting`() throws {
        #expect(try refusal(["store": "gcs"]).hasPrefix("media.store"))
        for key in Self.whole.keys {
            #expect(
                try refusal(["store": "s3", "s3": Self.whole.filter { $0.key != key }]).contains("media.s3.\(key)"))
        }
        let wrong: [(String, Any)] = [
            ("endpoint", "http://s3.example.org"), ("endpoint", "s3.example.org"), ("bucket", "A"),
            ("style", "both"), ("prefix", "a"), ("region", "eu central"), ("accessKey", "a/b"), ("region", ""),
        ]
        for (key, value) in wrong {
            let message = try refusal(["store": "s3", "s3": Self.whole.merging([key: value]) { $1 }])
            #expect(message.contains("media.s3.\(key)"), "\(key) \(value)")
        }
        // Without TLS on this machine only.
        for host in ["127.0.0.1:9000", "localhost", "[::1]:9000"] {
            #expect(
                try refusal(["store": "s3", "s3": Self.whole.merging(["endpoint": "http://\(host)"]) { $1 }]) == "")
        }
    }

    @Test func `the secret is in a file for its owner's eyes only`() throws {
        let path = FileManager.default.temporaryDirectory.path + "/secret-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: path) }
        let configuration = try read(["store": "s3", "s3": Self.whole.merging(["secretKeyFile": path]) { $1 }])
        func write(_ text: String, _ mode: Int) {
            _ = FileManager.default.createFile(
                atPath: path, contents: Data(text.utf8), attributes: [.posixPermissions: mode])
        }
        #expect(throws: NodeError.self) { try configuration.mediaStore.signer() }
        write("secret\n", 0o600)
        #expect(try configuration.mediaStore.signer() != nil)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: path)
        #expect(throws: NodeError.self) { try configuration.mediaStore.signer() }
        try FileManager.default.removeItem(atPath: path)
        write("\n", 0o600)
        #expect(throws: NodeError.self) { try configuration.mediaStore.signer() }
    }
}
