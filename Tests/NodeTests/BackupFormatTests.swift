import Foundation
import Testing

@testable import Node

/// A part of a backup that another version has written: refused with both numbers, whatever else it holds.
@Suite struct BackupFormatTests {
    private func refusal(_ text: String?) throws -> String {
        let directory = FileManager.default.temporaryDirectory.path + "/backup-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        if let text { try Data(text.utf8).write(to: URL(fileURLWithPath: directory + "/backup.json")) }
        do throws(NodeError) {
            _ = try BackupManifest.read(from: directory)
            Issue.record("read: \(text ?? "nothing")")
            return ""
        } catch {
            #expect(error.description.contains(directory), "\(error)")
            return error.description
        }
    }

    @Test(arguments: [0, 2])
    func `another format is named with this program's, before anything else is looked at`(format: Int) throws {
        let message = try refusal(#"{"format":\#(format),"shards":"told in another way"}"#)
        #expect(message.contains("has format \(format)") && message.contains("format 1 only"), "\(message)")
        #expect(message.contains(format > 1 ? "newer" : "older"), "\(message)")
        #expect(!message.contains("no backup") && !message.contains("damaged"), "\(message)")
    }

    @Test func `what is no backup, did not finish or is damaged is told apart`() throws {
        #expect(try refusal(nil).contains("no backup, or one that did not finish"))
        #expect(try refusal("{").contains("no backup, or one that did not finish"))
        #expect(try refusal(#"{"format":1,"name":"a"}"#).contains("is damaged"))
    }

    @Test func `what is written is read`() throws {
        let directory = FileManager.default.temporaryDirectory.path + "/backup-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let manifest = BackupManifest(
            name: "b", cluster: "c", shardCount: 2, node: "n1", shards: [.init(number: 1, appliedIndex: 7)])
        try manifest.write(to: directory)
        #expect(try BackupManifest.read(from: directory) == manifest)
    }
}
