import Foundation
import Testing

@testable import Node

@Suite struct SettingsReaderTests {
    private func reader(_ file: String, _ environment: [String: String] = [:]) throws -> SettingsReader {
        let path = FileManager.default.temporaryDirectory.path + "/settings-\(UUID().uuidString).json"
        try Data(file.utf8).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try SettingsReader(path: path, environment: environment)
    }

    @Test func `the environment comes before the file, and the file before the default`() throws {
        var settings = try reader(
            #"{"client":{"port":7400},"log":{"syncDelayMicroseconds":5}}"#,
            ["CHATROOM_LOG_SYNC_DELAY_MICROSECONDS": "9", "CHATROOM_LINK_TLS": "yes", "CHATROOM_LINK_SEEDS": "a, b"])
        #expect(try settings.int("client.port", default: 1, in: 0...9_999) == 7_400)
        #expect(try settings.int("log.syncDelayMicroseconds", default: 1, in: 0...10) == 9)
        #expect(try settings.int("api.port", default: 1, in: 0...10) == 1)
        #expect(try settings.bool("link.tls", default: false))
        #expect(try settings.strings("link.seeds") == ["a", "b"])
        try settings.refuseUnknownKeys()
    }

    @Test(arguments: ["true", "\"1\"", "1.5", "null", "[1]", "{}", "99"])
    func `a value of the wrong type or out of its range is an error`(value: String) throws {
        var settings = try reader(#"{"client":{"port":\#(value)}}"#)
        // An empty object has no setting in it.
        if value == "{}" {
            #expect(try settings.int("client.port", default: 3, in: 0...10) == 3)
        } else {
            #expect(throws: NodeError.self) { try settings.int("client.port", default: 3, in: 0...10) }
        }
    }

    @Test func `numbers are no flags, flags no numbers, and lists hold nothing but texts`() throws {
        var settings = try reader(#"{"a":1,"b":true,"c":["x",1],"d":["x","y"],"e":"x"}"#)
        #expect(throws: NodeError.self) { try settings.bool("a", default: false) }
        #expect(throws: NodeError.self) { try settings.int("b", default: 0, in: 0...1) }
        #expect(throws: NodeError.self) { try settings.strings("c") }
        #expect(try settings.strings("d") == ["x", "y"])
        #expect(throws: NodeError.self) { try settings.strings("e") }
        #expect(try settings.string("e") == "x")
        #expect(throws: NodeError.self) { try settings.string("a") }
    }

    @Test func `a variable of the wrong type is an error though the file has a good one`() throws {
        var settings = try reader(#"{"client":{"port":7}}"#, ["CHATROOM_CLIENT_PORT": "seven"])
        let error = #expect(throws: NodeError.self) { try settings.int("client.port", default: 3, in: 0...10) }
        #expect(error?.message.contains("CHATROOM_CLIENT_PORT must be") == true)
    }

    @Test func `a key that nobody has asked for is an error`() throws {
        var settings = try reader(#"{"client":{"port":7,"prot":8}}"#)
        _ = try settings.int("client.port", default: 3, in: 0...10)
        let error = #expect(throws: NodeError.self) { try settings.refuseUnknownKeys() }
        #expect(error?.message.contains("client.prot") == true)
        var empty = try reader(#"{"client":{},"clients":{}}"#)
        _ = try empty.int("client.port", default: 3, in: 0...10)
        let other = #expect(throws: NodeError.self) { try empty.refuseUnknownKeys() }
        #expect(other?.message.contains("clients") == true)
    }

    @Test(arguments: [
        ("", "in line 1"), ("{", "in line 1"), ("[]", "one JSON object"), ("7", "one JSON object"),
        ("{\n\"a\":}", "in line 2"),
        ("{\"a\":1,\n\n\"a\":2\n}", "a key stands twice in an object at byte 10 in line 3"),
        ("{} {}", "behind its end"),
    ])
    func `a file that is not one JSON object is an error, which tells where`(text: String, fault: String) {
        let error = #expect(throws: NodeError.self) { try reader(text) }
        #expect(error?.message.contains(fault) == true, "\(error as Any)")
    }

    @Test func `a file that does not exist is an error`() {
        #expect(throws: NodeError.self) { try SettingsReader(path: "/does/not/exist", environment: [:]) }
    }
}
