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

    /// Fields of a `oneof` share the names of their message, and values of enumerations those of the package: a generator
    /// refuses a file that uses one twice.
    @Test(arguments: [PublishedSchema.client, PublishedSchema.stored])
    func `uses no name and no number twice in a message, and no value twice in the package`(text: String) throws {
        let field = /^ +(?:optional |repeated )?[\w.<>, ]+ (\w+) = (\d+);/
        let value = /^  (\w+) = (\d+);/
        var (scope, names, numbers): (String, Set<String>, Set<String>) = ("", [], [])
        var (scopes, values): (Set<String>, Set<String>) = ([], [])
        for line in text.split(separator: "\n") {
            if let opening = line.firstMatch(of: /^(message|enum) (\w+) \{/) {
                (scope, names, numbers) = (String(opening.2), [], [])
                #expect(scopes.insert(scope).inserted, "\(scope) is there twice")
            } else if let match = line.firstMatch(of: value) {
                #expect(values.insert(String(match.1)).inserted, "\(match.1) is there twice")
            } else if let match = line.firstMatch(of: field) {
                #expect(names.insert(String(match.1)).inserted, "\(scope).\(match.1) is there twice")
                #expect(numbers.insert(String(match.2)).inserted, "\(scope) has \(match.2) twice")
            }
        }
        #expect(scopes.count > 40 && values.count > 40)
    }
}
