import ArgumentParser
import Foundation
import Testing

@testable import ControlClient
@testable import chatroomctl

@Suite struct ModerationCommandTests {
    private static let before = """
        {"words":[{"text":"a","action":"REPLACE"},{"text":"b","action":"REFUSE"},{"text":"c","action":"HOLD"}],\
        "hook":{"url":"http://h/","timeoutMs":300,"onFailure":"HOLD"},"holdSeconds":60,"onExpiry":"ALLOW"}
        """

    private func changed(_ arguments: [String], before: String = before) throws -> JSONTree {
        let command = try Chatroomctl.parseAsRoot(["moderation", "set"] + arguments)
        let set = try #require(command as? ModerationCommand.Set)
        return try set.changed(try JSONTree(parsing: Data(before.utf8)))
    }

    private func words(_ settings: JSONTree) -> [String] {
        (settings["words"]?.items ?? []).map { ($0["text"]?.text ?? "") + " " + ($0["action"]?.text ?? "") }
    }

    @Test func `lists and settings that are not named stay`() throws {
        let file = URL(filePath: NSTemporaryDirectory()).appending(path: "words-\(UUID().uuidString)")
        try Data("x\ny\n".utf8).write(to: file)
        defer { try? FileManager.default.removeItem(at: file) }
        let settings = try changed(["--refuse", file.path(percentEncoded: false), "--timeout-ms", "500"])
        #expect(words(settings) == ["a REPLACE", "x REFUSE", "y REFUSE", "c HOLD"])
        #expect(settings["hook"]?["url"]?.text == "http://h/")
        #expect(settings["hook"]?["timeoutMs"]?.integer == 500)
        #expect(settings["hook"]?["onFailure"]?.text == "HOLD")
        #expect(settings["hook"]?["secret"] == nil, "the one that is set stays where none is sent")
        #expect(settings["holdSeconds"]?.integer == 60)
        #expect(settings["onExpiry"]?.text == "ALLOW")
    }

    @Test func `words and hook go only where that is said`() throws {
        let noWords = try changed(["--no-words"])
        #expect(words(noWords) == [])
        #expect(noWords["hook"]?["url"]?.text == "http://h/")
        let noHook = try changed(["--no-hook"])
        #expect(words(noHook).count == 3)
        #expect(noHook["hook"] == nil)
    }

    @Test(arguments: [[], ["--no-hook", "--hook", "http://h/"], ["--no-hook", "--timeout-ms", "1"]])
    func `a call that names nothing, or one thing twice, is wrong use`(arguments: [String]) {
        #expect(throws: (any Error).self) {
            _ = try Chatroomctl.parseAsRoot(["moderation", "set"] + arguments)
        }
    }

    @Test func `a setting of a hook that is not there is refused`() {
        #expect(throws: CommandFailure.self) { try changed(["--timeout-ms", "500"], before: #"{"words":[]}"#) }
    }
}
