import Foundation
import Testing

@testable import Consensus

/// Each file in `Transcripts` holds a scenario with everything that comes of it. `UPDATE_TRANSCRIPTS=1` rewrites what
/// comes of the commands; the difference is then to be read.
@Suite struct TranscriptTests {
    private static let folder = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Transcripts")

    static let names: [String] = {
        let files = (try? FileManager.default.contentsOfDirectory(atPath: folder.path())) ?? []
        return files.filter { $0.hasSuffix(".txt") }.sorted()
    }()

    @Test func `there are transcripts`() { #expect(Self.names.count >= 8) }

    @Test(arguments: names) func `a scenario brings about what its transcript says`(name: String) throws {
        let file = Self.folder.appending(path: name)
        let expected = try String(contentsOf: file, encoding: .utf8)
        let actual = try TranscriptRunner.run(expected)
        if ProcessInfo.processInfo.environment["UPDATE_TRANSCRIPTS"] != nil {
            try actual.write(to: file, atomically: true, encoding: .utf8)
        } else {
            let differing = zip(expected.split(separator: "\n"), actual.split(separator: "\n")).first { $0 != $1 }
            #expect(actual == expected, "first at: \(differing.map { "\($0.0) / \($0.1)" } ?? "the end")")
        }
    }
}
