import Foundation
import Testing

@testable import Node

/// A copy is restored only when its files are those that its `backup.json` notes.
@Suite struct BackupSumsTests {
    /// One of each kind that a backup has. Some are longer than what is read at once.
    static let files = [
        "shards/0/catalogue-1.sqlite", "shards/0/history-2026-01-02.sqlite",
        "shards/0/history-2026-01-02.sqlite-payloads", "system/state", "media/0a/726f6f6d/picture",
    ]

    private let directory = FileManager.default.temporaryDirectory.path + "/sums-\(UUID().uuidString)"
    private var copy: String { directory + "/copy" }

    private func makeCopy(hasSums: Bool = true) async throws {
        for (number, file) in Self.files.enumerated() {
            let path = URL(fileURLWithPath: copy + "/" + file)
            try FileManager.default.createDirectory(
                at: path.deletingLastPathComponent(), withIntermediateDirectories: true)
            let bytes: [UInt8] = (0..<(100 + number * 60_000)).map { UInt8(truncatingIfNeeded: $0 / 3) }
            try Data(bytes).write(to: path)
        }
        var manifest = BackupManifest(
            name: "b", cluster: "c", shardCount: 1, node: "n1", shards: [.init(number: 0, appliedIndex: 7)],
            systemIndex: 5)
        if hasSums { manifest.files = try await BackupManifest.sums(in: copy) }
        try manifest.write(to: copy)
        #expect(try BackupManifest.read(from: copy) == manifest)
    }

    private func removeAll() { try? FileManager.default.removeItem(atPath: directory) }

    private func edit(_ file: String, _ change: (inout Data) -> Void) throws {
        let path = URL(fileURLWithPath: copy + "/" + file)
        var bytes = try Data(contentsOf: path)
        change(&bytes)
        try bytes.write(to: path)
    }

    private func flipBit(of file: String) throws { try edit(file) { $0[$0.count / 2] ^= 0x10 } }

    /// The sentence of the comparison; nil when the copy is as it was written.
    private func refusal() -> String? {
        do throws(NodeError) {
            try BackupParts([copy]).compare()
            return nil
        } catch {
            return error.description
        }
    }

    private func sentence(on file: String, _ difference: String) -> String {
        "\(copy)/\(file) in the copy of node n1: differs from backup.json: \(difference)"
    }

    private func sum(of file: String) throws -> FileSum { try #require(try FileSum.read(copy + "/" + file)) }

    @Test func `every file is noted with its size and its checksum`() async throws {
        defer { removeAll() }
        try await makeCopy()
        try Data("123456789".utf8).write(to: URL(fileURLWithPath: copy + "/system/state"))
        let sums = try await BackupManifest.sums(in: copy + "/system")
        #expect(sums == ["state": FileSum(bytes: 9, checksum: 0xE306_9283)])
        #expect(sums["state"]?.description == "9 bytes with checksum e3069283")
        let manifest = try BackupManifest.read(from: copy)
        #expect(manifest.files?.keys.sorted() == Self.files.sorted())
        let text = try String(contentsOfFile: copy + "/backup.json", encoding: .utf8)
        #expect(text.contains(#""files":{"media/0a/726f6f6d/picture":"240100 "#), "\(text)")
        #expect(text.contains(#""format":1"#), "\(text)")
    }

    @Test func `a copy that is as it was written is accepted, any number of times`() async throws {
        defer { removeAll() }
        try await makeCopy()
        for _ in 1...2 { #expect(refusal() == nil) }
    }

    @Test(arguments: BackupSumsTests.files) func `a flipped bit is refused`(file: String) async throws {
        defer { removeAll() }
        try await makeCopy()
        let written = try sum(of: file)
        try flipBit(of: file)
        let found = try sum(of: file)
        #expect(found != written && found.bytes == written.bytes)
        #expect(refusal() == sentence(on: file, "\(found) instead of \(written)"))
        try flipBit(of: file)
        #expect(refusal() == nil)
    }

    @Test(arguments: BackupSumsTests.files) func `a file that is missing is refused`(file: String) async throws {
        defer { removeAll() }
        try await makeCopy()
        let written = try sum(of: file)
        try FileManager.default.removeItem(atPath: copy + "/" + file)
        #expect(refusal() == sentence(on: file, "no file instead of \(written)"))
    }

    @Test(arguments: BackupSumsTests.files)
    func `a file that is shorter or longer is refused`(file: String) async throws {
        defer { removeAll() }
        try await makeCopy()
        let written = try sum(of: file)
        try edit(file) { $0.removeLast() }
        let shorter = try sum(of: file)
        #expect(shorter.bytes == written.bytes - 1)
        #expect(refusal() == sentence(on: file, "\(shorter) instead of \(written)"))
        try edit(file) { $0.append(contentsOf: [1, 2]) }
        let longer = try sum(of: file)
        #expect(longer.bytes == written.bytes + 1)
        #expect(refusal() == sentence(on: file, "\(longer) instead of \(written)"))
    }

    @Test func `a backup.json of an earlier program has no sums, and its files are not compared`() async throws {
        defer { removeAll() }
        try await makeCopy(hasSums: false)
        let text = try String(contentsOfFile: copy + "/backup.json", encoding: .utf8)
        #expect(!text.contains("files"), "\(text)")
        try flipBit(of: Self.files[0])
        try FileManager.default.removeItem(atPath: copy + "/" + Self.files[1])
        #expect(refusal() == nil)
    }

    @Test(arguments: ["", "12", "12 abc", "x 01234567", "12 0123456g", "12 01234567 8"])
    func `a sum that is none is damage`(sum: String) async throws {
        defer { removeAll() }
        try await makeCopy(hasSums: false)
        try edit("backup.json") { bytes in
            bytes.removeLast()
            bytes.append(contentsOf: Array(#","files":{"system/state":"\#(sum)"}}"#.utf8))
        }
        #expect(refusal()?.contains("backup.json is damaged") == true)
    }

    @Test func `a restore that is refused makes nothing, and can be repeated`() async throws {
        defer { removeAll() }
        try await makeCopy()
        try flipBit(of: "shards/0/history-2026-01-02.sqlite")
        let configuration = try NodeConfiguration.test(in: directory)
        for _ in 1...2 {
            let error = await #expect(throws: NodeError.self) {
                try await ChatroomNode.restoreCluster(configuration, from: [copy])
            }
            #expect(error?.message.contains("differs from backup.json") == true)
            #expect(!FileManager.default.fileExists(atPath: configuration.dataDirectory))
        }
        // These bytes are no state: the restore goes on to it, fails there, and leaves nothing either.
        try flipBit(of: "shards/0/history-2026-01-02.sqlite")
        for _ in 1...2 {
            let error = await #expect(throws: NodeError.self) {
                try await ChatroomNode.restoreCluster(configuration, from: [copy])
            }
            #expect(error?.message.contains("system/state is damaged") == true)
            #expect(!FileManager.default.fileExists(atPath: configuration.dataDirectory))
        }
    }
}
