import Foundation
import Testing
import Wire

@Suite struct `The published schema` {
    /// With UPDATE_SCHEMA=1 the files are written instead; the diff is for review.
    @Test(arguments: [("chatroom.proto", PublishedSchema.client), ("stored.proto", PublishedSchema.stored)])
    func `is what the walks say`(name: String, text: String) throws {
        let file = URL(fileURLWithPath: #filePath).deletingLastPathComponent()
            .appendingPathComponent("../../Sources/Wire/\(name)")
        if ProcessInfo.processInfo.environment["UPDATE_SCHEMA"] == "1" {
            try Data(text.utf8).write(to: file)
        }
        let published = String(decoding: try Data(contentsOf: file), as: UTF8.self)
        #expect(published == text, "\(name) differs; UPDATE_SCHEMA=1 writes it anew")
    }
}
