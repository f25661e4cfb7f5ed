import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Messages of before, on a real node (PROTOCOL.md, "Import").
    @Suite struct ImportTests {
        private static let day = Timestamp.millisecondsPerDay

        private static var now: Int64 { Int64(Date().timeIntervalSince1970 * 1000) }

        private static func line(_ time: Int64, _ text: String, clientID: String? = nil) -> String {
            let named = clientID.map { #""clientId":"\#($0)","# } ?? ""
            return
                #"{"time":\#(time),\#(named)"from":{"user":"zoe","nick":"Zoe","role":"MANAGER"},"type":"TEXT","text":"\#(text)"}"#
        }

        private func bring(_ node: TestNode, _ room: RoomID, _ lines: [String], key: String? = nil) async throws
            -> HTTPAnswer
        {
            try await node.api(
                "POST", "/v1/rooms/\(room)/import", #"{"messages":[\#(lines.joined(separator: ","))]}"#,
                headers: key.map { ["Idempotency-Key": $0] } ?? [:])
        }

        @Test
        func `messages of past days are in history with their times, also after a crash, and are pushed to nobody`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("moved")
                let viewer = try await TestClient.entered(node, "viewer", room)
                let now = Self.now
                let days = [11, 9, 6, 3, 0] as [Int64]
                let lines = days.map {
                    Self.line(now - $0 * Self.day - 60_000, "of \($0) days ago", clientID: "c\($0)")
                }
                let answer = try await bring(node, room, lines, key: "one")
                #expect(answer.body == #"{"imported":4,"skipped":1,"seq":4}"#)
                // A repeat of the call, and one without its key of what the room still knows.
                #expect(try await bring(node, room, lines, key: "one").body == answer.body)
                let last = try await bring(node, room, [try #require(lines.last)])
                #expect(last.body == #"{"imported":0,"skipped":1,"seq":4}"#)

                // The gap comes alone, while nothing else is said in the room.
                let gap = try await viewer.item("the gap") { item in
                    if case .push(.gap(let gap)) = item { gap } else { nil }
                }
                #expect(gap.ranges == [SeqRange(from: 1, to: 4)] && gap.cause == .budget)
                let sent = try await viewer.send(room, "now")
                #expect(sent.place == .kept(seq: 5))
                _ = try await viewer.message("now")
                #expect(await viewer.texts(of: room) == ["now"])

                for round in 0..<2 {
                    let client = try await TestClient.entered(node, "reader", room)
                    let all = try await client.wholeHistory(room)
                    #expect(all.map(\.text) == days.dropFirst().map { "of \($0) days ago" } + ["now"])
                    #expect(all.map(\.seq) == [1, 2, 3, 4, 5])
                    let times = days.dropFirst().map { now - $0 * Self.day - 60_000 }
                    #expect(all.dropLast().map(\.time.milliseconds) == times)
                    #expect(all[0].from?.user.text == "zoe" && all[0].from?.profile.nick == "Zoe")
                    #expect(all[0].from?.role == .manager && all[0].clientID == "c9")
                    var query = HistoryRequest()
                    (query.startTime, query.ascending, query.limit) = (Timestamp(now - 7 * Self.day), true, 1)
                    #expect(try await client.history(room, query).messages.map(\.seq) == [2])
                    query.ascending = false
                    #expect(try await client.history(room, query).messages.map(\.seq) == [1])
                    let before = try await bring(node, room, [Self.line(now - Self.day, "late")])
                    #expect(before.status == 409, "none goes before the newest: \(before)")
                    #expect(before.body.contains("import into a new room"))
                    #expect(try await bring(node, room, lines, key: "one").body == answer.body)
                    guard round == 0 else { break }
                    await node.kill()
                    try await node.start()
                }
                let audit = try await node.api("GET", "/v1/audit?action=importMessages")
                #expect(audit.status == 200 && audit.body.contains(#""action":"importMessages""#))
            }
        }

        @Test func `a room with a longer life takes messages that are older than others are kept`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("long", fields: #","historyDays":40"#)
                let now = Self.now
                let lines = [41, 39, 20, 1].map { Self.line(now - $0 * Self.day, "of \($0) days ago") }
                #expect(try await bring(node, room, lines).body == #"{"imported":3,"skipped":1,"seq":3}"#)
                for round in 0..<2 {
                    let all = try await TestClient.entered(node, "reader", room).wholeHistory(room)
                    #expect(all.map(\.text) == [39, 20, 1].map { "of \($0) days ago" })
                    guard round == 0 else { break }
                    await node.kill()
                    try await node.start()
                }
            }
        }

        @Test
        func `the webhook is given nothing that was imported, also after a crash, and all that was sent behind it`()
            async throws
        {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                let url = await receiver.url
                let set = try await node.api("PUT", "/v1/webhook", #"{"url":"\#(url)","secret":"s3cret"}"#)
                #expect(set.status == 200, "\(set)")
                let room = try await node.createRoom("quiet")
                let now = Self.now
                let lines = (1...100).map { Self.line(now - 5 * Self.day + $0, "before \($0)") }
                #expect(try await bring(node, room, lines).body == #"{"imported":100,"skipped":0,"seq":100}"#)
                let ann = try await TestClient.entered(node, "ann", room)
                try await ann.send(room, "one")
                #expect(try await bring(node, room, [Self.line(now - Self.day, "late")]).status == 409)
                // It is stopped before the receiver has all, and goes on behind that.
                await node.kill()
                try await node.start()
                let later = try await TestClient.entered(node, "ann", room)
                try await later.send(room, "two")
                let soon = Self.line(Self.now, "between")
                #expect(try await bring(node, room, [soon]).body == #"{"imported":1,"skipped":0,"seq":103}"#)
                try await later.send(room, "three")
                let items = try await receiver.wait("the last message") { calls -> [WebhookItem]? in
                    let items = try calls.flatMap {
                        try WireJSON.decode(WebhookBatch.self, from: $0.body, limits: false).items
                    }
                    return items.contains { $0.message?.text == "three" } ? items : nil
                }
                var known: Set<String> = []
                let messages = items.filter { $0.event == .message && known.insert($0.id).inserted }
                #expect(messages.map(\.message?.text) == ["one", "two", "three"])
                #expect(messages.map(\.seq) == [101, 102, 104])
                #expect(items.allSatisfy { $0.seq == nil || $0.seq ?? 0 > 100 }, "no item of another kind names one")
                try await poll("nothing waits") { try await node.metric("chatroom_webhook_lag_seconds") == 0 }
                await receiver.stop()
            }
        }

        @Test func `chatroomctl brings what it has exported, to another room, line by line`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("source", fields: #","name":"N","ext":"e""#)
                #expect(
                    try await node.api("PUT", "/v1/rooms/source/members/bob/role", #"{"role":"MANAGER"}"#).status == 200
                )
                let ban = #"{"banSeconds":600,"notify":false}"#
                #expect(try await node.api("POST", "/v1/rooms/source/members/carl/kick", ban).status == 200)
                let bob = try await TestClient.entered(node, "bob", room)
                let first = try await bob.send(room, "one")
                for number in 2...9 { try await bob.send(room, "number \(number)", clientID: "c\(number)") }
                try await bob.done(.recall(RecallRequest(room: room, messageID: first.messageID)))
                for number in 0..<120 {
                    let text = #"{"type":"TEXT","text":"from the app \#(number)"}"#
                    #expect(try await node.api("POST", "/v1/rooms/source/messages", text).status == 200)
                }
                func run(_ words: String...) async throws -> (status: Int32, output: String, errors: String) {
                    let end = try await Program(
                        "chatroomctl", words + ["--server", "127.0.0.1:\(node.apiPort)"],
                        environment: ["CHATROOM_ADMIN_KEY": TestNode.adminKey]
                    ).ended()
                    return (end.status, end.output, end.errors)
                }
                let exported = try await run("export", "source").output
                let file = FileManager.default.temporaryDirectory.appendingPathComponent("export-\(UUID()).jsonl").path
                defer { try? FileManager.default.removeItem(atPath: file) }
                try Data(exported.utf8).write(to: URL(fileURLWithPath: file))
                let lines = exported.split(separator: "\n")
                let recalled = try #require(lines.firstIndex { $0.contains(#""recalled":true"#) }) + 1

                let stopped = try await run("import", file, "--room", "target")
                #expect(stopped.status == 2 && stopped.errors.contains("line \(recalled): "), "\(stopped)")
                let rest = try await run("import", file, "--room", "target", "--from-line", "\(recalled + 1)")
                #expect(rest.status == 0, "\(rest)")
                let again = try await run("import", file, "--room", "target", "--skip-recalled")
                #expect(again.status != 0 && again.errors.contains("line "), "\(again)")

                let target = try #require(RoomID("target"))
                let reader = try await TestClient.entered(node, "reader", target)
                let there = try await bob.wholeHistory(room).filter { !$0.isRecalled }
                let here = try await reader.wholeHistory(target)
                #expect(there.count > 120)
                #expect(here.map(\.time) == there.map(\.time))
                #expect(here.map(\.from) == there.map(\.from))
                #expect(here.map(\.body) == there.map(\.body))
                #expect(here.map(\.clientID) == there.map(\.clientID))
                #expect(here.map(\.seq) == (1...UInt64(there.count)).map { $0 })
                let member = try await node.api("GET", "/v1/rooms/target/members/bob")
                #expect(member.body.contains(#""role":"MANAGER""#))
                let banned = try await node.api("GET", "/v1/rooms/target/members?kind=BANNED")
                #expect(banned.body.contains(#""user":"carl""#) && banned.body.contains(#""banEndsAt":"#), "\(banned)")
                #expect(try await node.api("GET", "/v1/rooms/target").body.contains(#""name":"N""#))
                #expect(try await run("import", file + ".none").status == 2)
            }
        }
    }
}
