import CertificateTestKit
import ChatModel
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

    @Test func `files that can't be read stop the start`() throws {
        let node = try #require(NodeID("n1"))
        #expect(throws: NodeError.self) {
            try LinkTLSFiles(certificateFile: "/none", keyFile: "/none", caFile: "/none").read(for: node)
        }
    }

    /// What `LinkTLSFiles` says of a certificate; nil: nothing.
    private func complaint(_ pair: KeyPair, trusting authorities: [String], at node: String) throws -> String? {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent("link-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(at: directory) }
        func file(_ name: String, _ text: String) throws -> String {
            let path = directory.appendingPathComponent(name).path
            try Data(text.utf8).write(to: URL(fileURLWithPath: path))
            try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: path)
            return path
        }
        let files = LinkTLSFiles(
            certificateFile: try file("cert", pair.certificatePEM), keyFile: try file("key", pair.keyPEM),
            caFile: try file("ca", authorities.joined()))
        let id = try #require(NodeID(node))
        do throws(NodeError) {
            _ = try files.read(for: id)
            return nil
        } catch {
            return error.message
        }
    }

    @Test func `a certificate of another node, or of a strange authority, is refused before a link needs it`() throws {
        let (own, strange) = (try CertificateAuthority(name: "own"), try CertificateAuthority(name: "strange"))
        let pair = try own.issue(commonName: "n1", names: [.dns("n1"), .dns("chat-1.example")])
        #expect(try complaint(pair, trusting: [own.certificatePEM], at: "n1") == nil)
        #expect(
            try complaint(pair, trusting: [strange.certificatePEM, own.certificatePEM], at: "n1") == nil, "a rotation")
        let other = try #require(try complaint(pair, trusting: [own.certificatePEM], at: "n2"))
        #expect(other.contains("is for n1, chat-1.example") && other.contains("n2"))
        let stranger = try #require(try complaint(pair, trusting: [strange.certificatePEM], at: "n1"))
        #expect(stranger.contains("vouches for"))
        // Expired ones are warned of; they are mended by the next SIGHUP.
        let old = try own.issue(commonName: "n1", names: [], validSeconds: -60)
        #expect(try complaint(old, trusting: [own.certificatePEM], at: "n1") == nil)
    }
}
