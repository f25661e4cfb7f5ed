import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// The app's webhook (PROTOCOL.md, "Webhooks").
    @Suite struct WebhookTests {
        private func set(_ node: TestNode, _ receiver: FakeReceiver, more: String = "") async throws {
            let url = await receiver.url
            let answer = try await node.api("PUT", "/v1/webhook", #"{"url":"\#(url)","secret":"s3cret"\#(more)}"#)
            guard answer.status == 200 else { throw TestFailure("the webhook was not set: \(answer)") }
        }

        /// The items of all batches that were accepted, each once.
        private static func items(_ calls: [FakeReceiver.Call], from first: Int = 0) throws -> [WebhookItem] {
            var known: Set<String> = []
            return try calls.dropFirst(first).flatMap { try batch($0).items }.filter { known.insert($0.id).inserted }
        }

        private static func batch(_ call: FakeReceiver.Call) throws -> WebhookBatch {
            try WireJSON.decode(WebhookBatch.self, from: call.body, limits: false)
        }

        private static func texts(_ items: [WebhookItem]) -> [String] { items.compactMap(\.message?.text) }

        @Test func `everything that is kept arrives signed and in order, and what is to be left out does not`()
            async throws
        {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                try await set(node, receiver)
                let shown = try await node.api("GET", "/v1/webhook")
                #expect(!shown.body.contains("s3cret"))
                let room = try await node.createRoom("r")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                try await ann.send(room, "one")
                var silent = MessageDraft(body: .text("secret"))
                silent.webhook = false
                _ = try await ann.ask(.send(SendRequest(room: room, clientID: "c", draft: silent))).get()
                var unkept = MessageDraft(body: .text("unkept"))
                unkept.keep = false
                _ = try await ann.ask(.send(SendRequest(room: room, clientID: "d", draft: unkept))).get()
                _ = try await node.api("PATCH", "/v1/rooms/r", #"{"name":"new"}"#)
                try await ann.send(room, "two")
                _ = try await ann.ask(.exit(RoomNameRequest(room: room))).get()
                _ = try await node.api("POST", "/v1/rooms/r/close")
                _ = try await node.api("POST", "/v1/rooms/r/reopen")
                let items = try await receiver.wait("the reopening") { calls -> [WebhookItem]? in
                    let items = try Self.items(calls)
                    return items.contains { $0.kind == .reopened } && items.contains { $0.event == .exit } ? items : nil
                }
                let kept = items.filter { $0.seq != nil || $0.kind != nil }
                #expect(
                    kept.map(\.event) == [.open, .message, .notification, .message, .notification, .close, .open])
                #expect(kept.compactMap(\.seq) == [1, 3, 4, 5])
                #expect(kept.compactMap(\.kind) == [.created, .closed, .reopened])
                #expect(kept.compactMap(\.message?.notification?.event) == [.roomInfoUpdated, .roomClosed])
                #expect(Self.texts(items.filter { $0.event == .unkept }) == ["unkept"])
                #expect(items.first { $0.event == .enter }?.user?.user.text == "ann")
                #expect(!Self.texts(items).contains("secret"))
                for call in await receiver.calls {
                    let time = try #require(call.header("X-Chatroom-Time"))
                    #expect(call.header("X-Chatroom-Signature") == signature("s3cret", time, call.body))
                }
                await receiver.stop()
            }
        }

        @Test func `errors of the receiver lose nothing and change no order`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                try await set(node, receiver, more: #","maxBatch":7,"events":["message"]"#)
                await receiver.answer { _ in .status(500) }
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                for number in 0..<20 { try await ann.send(room, "m\(number)") }
                try await receiver.wait("two failures") { $0.count >= 2 ? () : nil }
                #expect(try await node.metric("chatroom_webhook_lag_seconds") > 0)
                let failed = await receiver.answer { _ in .status(204) }
                for number in 20..<40 { try await ann.send(room, "m\(number)") }
                let calls = try await receiver.wait("all messages") { calls -> [FakeReceiver.Call]? in
                    try Self.texts(Self.items(calls, from: failed)).count == 40 ? Array(calls.dropFirst(failed)) : nil
                }
                #expect(Self.texts(try Self.items(calls)) == (0..<40).map { "m\($0)" })
                #expect(try calls.allSatisfy { try Self.batch($0).items.count <= 7 })
                await receiver.stop()
            }
        }

        @Test func `what a dead receiver missed arrives after the node was killed and started again`() async throws {
            try await TestNode.run { node in
                let rooms = [try await node.createRoom("one"), try await node.createRoom("two")]
                let receiver = FakeReceiver()
                try await receiver.start()
                let port = await receiver.port
                try await set(node, receiver)
                await receiver.stop()
                let ann = try await TestClient.connected(node, "ann")
                for room in rooms { try await ann.enter(room) }
                // More than is in memory of a room.
                for number in 0..<300 {
                    for room in rooms { try await ann.send(room, "\(room)-\(number)") }
                }
                await node.kill()
                let later = FakeReceiver()
                try await later.start(port: port)
                try await node.start()
                let items = try await later.wait("all messages") { calls -> [WebhookItem]? in
                    let items = try Self.items(calls)
                    return items.filter { $0.event == .message }.count == 600 ? items : nil
                }
                for room in rooms {
                    let texts = Self.texts(items.filter { $0.room == room && $0.event == .message })
                    #expect(texts == (0..<300).map { "\(room)-\($0)" })
                }
                #expect(!items.contains { $0.event == .lost })
                // What was delivered is not sent again for ever.
                let again = try await TestClient.connected(node, "ann")
                try await again.enter(rooms[0])
                try await again.send(rooms[0], "last")
                try await later.wait("the last message") { calls in
                    try Self.texts(Self.items(calls)).contains("last") ? () : nil
                }
                await later.stop()
            }
        }

        @Test(.enabled(if: FileManager.default.isExecutableFile(atPath: "/usr/bin/python3")))
        func `the example receiver of the documentation takes signed batches and no others`() async throws {
            let script = URL(fileURLWithPath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
                .deletingLastPathComponent().appendingPathComponent("docs/receiver.py").path
            try await TestNode.run { node in
                let receiver = try Program(
                    executable: URL(fileURLWithPath: "/usr/bin/python3"), [script, "0"],
                    environment: ["CHATROOM_WEBHOOK_SECRET": "s3cret"])
                let line = try #require(try await receiver.outputLine { $0.hasPrefix("listening") })
                let port = try #require(Int(line.split(separator: " ").last ?? ""))
                func body(_ secret: String) -> String {
                    #"{"url":"http://127.0.0.1:\#(port)/","secret":"\#(secret)"}"#
                }
                #expect(try await node.api("PUT", "/v1/webhook", body("another")).status == 200)
                let room = try await node.createRoom("r")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                try await ann.send(room, "hello")
                try await poll("a batch that is refused") {
                    try await node.metric("chatroom_webhook_failures_total") > 0
                }
                #expect(try await node.api("PUT", "/v1/webhook", body("s3cret")).status == 200)
                #expect(try await receiver.outputLine { $0 == "message r 1 hello" } != nil)
                receiver.signal(SIGKILL)
                _ = try await receiver.ended()
            }
        }

        @Test func `openings and closings that were forgotten are counted once, over all batches`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                try await set(node, receiver, more: #","maxBatch":7"#)
                await receiver.answer { _ in .status(500) }
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                for number in 0..<100 { try await ann.send(room, "m\(number)") }
                for _ in 0..<40 {
                    _ = try await node.api("POST", "/v1/rooms/r/close")
                    _ = try await node.api("POST", "/v1/rooms/r/reopen")
                }
                let failed = await receiver.answer { _ in .status(204) }
                let calls = try await receiver.wait("the last opening") { calls -> [FakeReceiver.Call]? in
                    let kinds = try Self.items(calls, from: failed).compactMap(\.kind)
                    return kinds.count >= WebhookRecord.eventsMax ? Array(calls.dropFirst(failed)) : nil
                }
                let dropped = try calls.reduce(0) { $0 + (try Self.batch($1).dropped) }
                #expect(dropped == Int64(80 - WebhookRecord.eventsMax))
                await receiver.stop()
            }
        }

        @Test func `best-effort items that don't fit are counted`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { _ in .status(503) }
                try await set(node, receiver)
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                var draft = MessageDraft(body: .command(payload: [1]))
                draft.webhook = true
                for number in 0..<1_200 {
                    _ = try await ann.ask(.send(SendRequest(room: room, clientID: "c\(number)", draft: draft))).get()
                }
                let failed = await receiver.answer { _ in .status(200) }
                let dropped = try await receiver.wait("a count of what was dropped") { calls -> Int64? in
                    let dropped = try calls.dropFirst(failed).map { try Self.batch($0).dropped }.reduce(0, +)
                    let unkept = try Self.items(calls, from: failed).filter { $0.event == .unkept }.count
                    return Int64(unkept) + dropped >= 1_200 ? dropped : nil
                }
                #expect((1...300).contains(dropped))
                await receiver.stop()
            }
        }

        @Test func `what happens after the webhook was switched on again is not forgotten with what came before`()
            async throws
        {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                for round in 0..<3 {
                    await receiver.answer { _ in .status(503) }
                    try await set(node, receiver)
                    // An event that is owed still when there is no webhook any more.
                    let before = try await node.metric("chatroom_webhook_failures_total")
                    let room = try await node.createRoom("r\(round)")
                    try await poll("a batch that is refused") {
                        try await node.metric("chatroom_webhook_failures_total") > before
                    }
                    #expect(try await node.api("PUT", "/v1/webhook", #"{"url":""}"#).status == 200)
                    let working = await receiver.answer { _ in .status(200) }
                    try await set(node, receiver)
                    #expect(try await node.api("POST", "/v1/rooms/\(room)/close").status == 200)
                    try await receiver.wait("the end of \(room)") { calls -> Void? in
                        let items = try Self.items(calls, from: working)
                        return items.contains { $0.room == room && $0.kind == .closed } ? () : nil
                    }
                }
                await receiver.stop()
            }
        }

        @Test func `a deleted room owes what was said in it, and a webhook that is turned off is owed nothing`()
            async throws
        {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { _ in .status(503) }
                try await set(node, receiver, more: #","maxBatch":2,"events":["message","close"]"#)
                let room = try await node.createRoom("r")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                try await ann.send(room, "one")
                try await receiver.wait("the first try") { $0.isEmpty ? nil : () }
                for text in ["two", "three", "four", "five"] { try await ann.send(room, text) }
                _ = try await node.api("DELETE", "/v1/rooms/r")
                let failed = await receiver.calls.count
                await receiver.answer { _ in .status(200) }
                let items = try await receiver.wait("the end of the room") { calls -> [WebhookItem]? in
                    let items = try Self.items(calls, from: failed)
                    return items.contains { $0.kind == .deleted } ? items : nil
                }
                #expect(Self.texts(items.filter { $0.event == .message }) == ["one", "two", "three", "four", "five"])
                #expect(items.last?.event == .close && !items.contains { $0.event == .lost })

                #expect(try await node.api("PUT", "/v1/webhook", #"{"url":""}"#).status == 200)
                try await node.createRoom("r2")
                let other = try #require(RoomID("r2"))
                try await ann.enter(other)
                try await ann.send(other, "unseen")
                try await set(node, receiver)
                try await ann.send(other, "seen")
                try await receiver.wait("a message") { try Self.texts(Self.items($0)).contains("seen") ? () : nil }
                #expect(!Self.texts(try Self.items(await receiver.calls)).contains("unseen"))
                await receiver.stop()
            }
        }
    }
}
