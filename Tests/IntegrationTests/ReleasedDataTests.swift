import ChatModel
import Foundation
import Testing

extension IntegrationTests {
    /// A data directory of each released format is kept in the repository, as a node left it that was killed: this program
    /// opens it, and everything is there.
    @Suite struct ReleasedDataTests {
        private static let fixtures = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "Fixtures")

        /// Made by the program before there were feature levels: rooms, members, sanctions, messages of several types, a
        /// queue, a robot, settings and revocations, some of it in checkpoints and some in the log alone.
        @Test func `the data of level 1 is opened, with everything that was acked`() async throws {
            let node = try TestNode(["rooms": ["retentionDays": 3650], "featureLevel": ["raiseAfterSeconds": 0]])
            try FileManager.default.copyItem(
                atPath: Self.fixtures.appending(path: "level-1").path, toPath: node.dataPath)
            try await node.start()
            #expect(try await node.metric("chatroom_feature_level") == 1)
            try await expectContent(of: node)
            // The level is raised over this data, and all of it is there after a restart.
            let level = FeatureLevel.newest.number
            let raised = try await node.api("PUT", "/v1/cluster/featureLevel", #"{"level":\#(level)}"#)
            #expect(raised.status == 200, "\(raised)")
            #expect(try await node.metric("chatroom_feature_level") == Double(level))
            _ = try await node.stop()
            try await node.start()
            #expect(try await node.metric("chatroom_feature_level") == Double(level))
            try await expectContent(of: node)
            let sent = try await node.api("POST", "/v1/rooms/live-1/messages", #"{"type":"TEXT","text":"new"}"#)
            #expect(sent.body.contains(#""seq":22"#), "\(sent)")
            // The level has brought the log to segments.
            #expect(FileManager.default.fileExists(atPath: node.dataPath + "/log/log.segment.0"))
            await node.kill()
        }

        private func expectContent(of node: TestNode) async throws {
            let room = try await node.api("GET", "/v1/rooms/live-1").body
            #expect(room.contains(#""name":"Old room","announcement":"hello","creator":"ann","ext":"e""#), "\(room)")
            #expect(try await node.api("GET", "/v1/rooms/closed-1").body.contains(#""closed":true"#))
            #expect(try await node.api("GET", "/v1/rooms/gone-1").status == 404)
            let history = try await node.api("GET", "/v1/rooms/live-1/messages?order=ASC&limit=100").body
            let seqs = history.matches(of: /"seq":(\d+)/).compactMap { Int($0.1) }
            #expect(seqs == Array(1...21), "\(history)")
            for number in 1...10 { #expect(history.contains(#""text":"message \#(number)""#)) }
            #expect(history.contains(#""type":"CUSTOM","content":"{\"a\":1}","subtype":7"#))
            #expect(history.contains(#""type":"IMAGE","media":{"url":"https://x/y.png""#))
            for (user, words) in [
                ("mia", #""role":"MANAGER""#), ("nick", #""role":"NORMAL""#), ("bad", #""blacklisted":true"#),
                ("robot1", #""online":true"#),
            ] {
                let member = try await node.api("GET", "/v1/rooms/live-1/members/\(user)").body
                #expect(member.contains(words), "\(user): \(member)")
            }
            let queue = try await node.api("GET", "/v1/rooms/live-1/queue").body
            #expect(queue.contains(#""key":"seat1","value":"v1","owner":"ann""#), "\(queue)")
            #expect(try await node.api("GET", "/v1/moderation").body.contains(#""text":"ugly""#))
            #expect(try await node.api("GET", "/v1/webhook").body.contains("http://127.0.0.1:9/"))
            #expect(try await node.api("GET", "/v1/audit?limit=5").body.contains("/v1/users/rolf/revoke"))
        }
    }
}
