import Foundation
import Logging
import Testing

@testable import Node

@Suite struct LogSettingsTests {
    private func read(_ level: String) throws -> Logger.Level {
        let path = FileManager.default.temporaryDirectory.path + "/log-\(UUID().uuidString).json"
        let settings: [String: Any] = [
            "nodeId": "n1", "dataDirectory": "d", "keysFile": "k", "log": ["level": level],
        ]
        try JSONSerialization.data(withJSONObject: settings).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try NodeConfiguration(path: path, environment: [:]).logLevel
    }

    @Test func `a level that there is not stops the start, by the setting's name`() throws {
        for level in Logger.Level.allCases { #expect(try read(level.rawValue) == level) }
        for wrong in ["foo", "", "Info"] {
            let error = #expect(throws: NodeError.self) { try read(wrong) }
            #expect(error?.message.hasPrefix("log.level must be one of") == true)
        }
    }
}
