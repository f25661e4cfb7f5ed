import ChatModel
import Foundation
import Testing

@testable import Node

@Suite struct RoomSettingsTests {
    private func read(_ rooms: [String: Any]) throws -> RoomPolicy {
        let path = FileManager.default.temporaryDirectory.path + "/rooms-\(UUID().uuidString).json"
        let settings: [String: Any] = ["nodeId": "n1", "dataDirectory": "d", "keysFile": "k", "rooms": rooms]
        try JSONSerialization.data(withJSONObject: settings).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        return try NodeConfiguration(path: path, environment: [:]).rooms
    }

    @Test func `each bound of rooms is set by its name`() throws {
        let rooms = try read([
            "fixedMembers": 3, "blacklisted": 2, "queueElements": 4, "robots": 5, "recallSeconds": 6,
            "digestAboveOnline": 7, "onlinePushSeconds": 8, "viewerBudget": 9, "viewerBudgetAboveOnline": 10,
            "barragePerViewer": 11, "highPerSecond": 12,
        ])
        #expect(rooms.fixedMembersMax == 3 && rooms.blacklistedMax == 2 && rooms.queueElementsMax == 4)
        #expect(rooms.robotsMax == 5 && rooms.recallWindowSeconds == 6 && rooms.digestAboveOnline == 7)
        #expect(rooms.onlinePushSeconds == 8 && rooms.viewerBudgetPerSecond == 9)
        #expect(rooms.viewerBudgetAboveOnline == 10)
        #expect(rooms.barragePerViewerPerSecond == 11 && rooms.highPerSecondMax == 12)
        #expect(try read([:]) == RoomPolicy())
    }

    @Test func `a policy for sessions of one user has one of four names`() throws {
        for policy in ConflictPolicy.allCases {
            #expect(try read(["conflictPolicy": policy.rawValue]).conflictPolicy == policy)
        }
        let error = #expect(throws: NodeError.self) { try read(["conflictPolicy": "kickAll"]) }
        #expect(error?.message.hasPrefix("rooms.conflictPolicy") == true)
    }
}
