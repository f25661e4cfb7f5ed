import ChatModel
import ChatroomClient
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Reports of messages (PROTOCOL.md, "Reports").
    @Suite struct RoomsReportTests {
        private func reports(_ node: TestNode, _ room: RoomID, query: String = "") async throws -> ReportsResult {
            let answer = try await node.api("GET", "/v1/rooms/\(room)/reports\(query)")
            guard answer.status == 200 else { throw TestFailure("no reports: \(answer)") }
            return try WireJSON.decode(ReportsResult.self, from: Array(answer.body.utf8), limits: false)
        }

        @Test(arguments: ClientEncoding.allCases)
        func `a report is listed, also after a restart, and a recall takes its text`(_ encoding: ClientEncoding)
            async throws
        {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("reports", creator: "owner")
                let bob = try await TestClient.entered(node, "bob", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let eve = try await TestClient.entered(node, "eve", room)
                let sent = try await bob.send(room, "rude")
                let request = ReportRequest(
                    room: room, messageID: sent.messageID, reason: "insults", clientID: "once")
                for _ in 1...2 { #expect(try await ann.done(.report(request)) == .report) }
                try await eve.done(.report(ReportRequest(room: room, messageID: sent.messageID)))
                let listed = try await reports(node, room)
                #expect(listed.reports.map(\.reporter.user.text) == ["ann", "eve"] && listed.next == nil)
                let first = try #require(listed.reports.first)
                #expect(first.messageID == sent.messageID && first.seq == 1 && first.excerpt == "rude")
                #expect(first.from == UserName(user: try user("bob"), nick: "nick of bob") && first.reason == "insults")

                await node.kill()
                try await node.start()
                #expect(try await reports(node, room) == listed)
                #expect(try await reports(node, room, query: "?after=\(first.id)").reports == [listed.reports[1]])
                let again = try await TestClient.entered(node, "ann", room)
                #expect(try await again.done(.report(request)) == .report, "the repeat")
                let second = ReportRequest(room: room, messageID: sent.messageID)
                #expect(try await again.refusal(of: .report(second)).code == .conflict)

                let owner = try await TestClient.entered(node, "owner", room)
                try await owner.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                #expect(try await reports(node, room).reports.map(\.excerpt) == [nil, nil])
                await node.kill()
                try await node.start()
                #expect(try await reports(node, room).reports.map(\.excerpt) == [nil, nil])
                #expect(try await reports(node, room).reports.map(\.messageID) == [sent.messageID, sent.messageID])
            }
        }

        @Test func `a webhook that was away gets each report, in order with the room's messages, after a restart`()
            async throws
        {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                let (url, port) = (await receiver.url, await receiver.port)
                let set = try await node.api(
                    "PUT", "/v1/webhook", #"{"url":"\#(url)","secret":"s3cret","events":["message","report"]}"#)
                #expect(set.status == 200)
                await receiver.stop()
                let room = try await node.createRoom("hooked")
                let bob = try await TestClient.entered(node, "bob", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let eve = try await TestClient.entered(node, "eve", room)
                let one = try await bob.send(room, "one")
                try await ann.done(.report(ReportRequest(room: room, messageID: one.messageID, reason: "r")))
                try await bob.send(room, "two")
                try await eve.done(.report(ReportRequest(room: room, messageID: one.messageID)))
                await node.kill()
                let later = FakeReceiver()
                try await later.start(port: port)
                try await node.start()
                let items = try await later.wait("both reports") { calls -> [WebhookItem]? in
                    var known: Set<String> = []
                    let items = try calls.flatMap {
                        try WireJSON.decode(WebhookBatch.self, from: $0.body, limits: false).items
                    }.filter { known.insert($0.id).inserted }
                    return items.count { $0.event == .report } == 2 ? items : nil
                }
                #expect(items.map(\.event) == [.message, .report, .message, .report])
                let told = items.compactMap(\.report)
                #expect(try await reports(node, room).reports == told)
                #expect(told.map(\.reason) == ["r", nil] && told.allSatisfy { $0.messageID == one.messageID })
                await later.stop()
            }
        }

        @Test func `the SDK reports, and hears of its second try`() async throws {
            try await TestNode.run { node in
                let id = try await node.createRoom("sdk")
                let ann = try await node.sdkClient("ann")
                let (room, _) = try await ann.entered(id)
                let sent = try await room.send("hello")
                try await room.report(sent.messageID, reason: "spam")
                do {
                    try await room.report(sent.messageID)
                    Issue.record("reported twice")
                } catch {
                    #expect((error as? ClientError)?.refusal?.code == .conflict)
                }
                #expect(try await reports(node, id).reports.map(\.reason) == ["spam"])
                await ann.close()
            }
        }
    }
}
