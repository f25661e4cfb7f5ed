import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// Taking messages back (PROTOCOL.md, "History").
    @Suite struct RoomsRecallTests {
        @Test func `a recalled message stays without its body wherever it is read`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("talk")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.connected(node, "bob")
                let start = try await bob.enter(room)
                let sent = try await ann.send(room, "oops")
                try await ann.send(room, "fine")
                try await ann.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                let told = try await bob.event(.recalled)
                #expect(told.place == .kept(seq: 3) && told.from == nil)
                let notification = try #require(told.notification)
                #expect(notification.data == .recalled(messageIDs: [sent.messageID]))
                #expect(notification.operator == UserName(user: try user("ann"), nick: "nick of ann"))
                #expect(notification.targets == [UserName(user: try user("ann"), nick: "nick of ann")])

                let kept = try await bob.wholeHistory(room)
                #expect(kept.map(\.isRecalled) == [true, false, false] && kept[0].body == .recalled(.text))
                #expect(kept[0].messageID == sent.messageID && kept[0].from?.user.text == "ann")
                let back = try await bob.enter(room, since: start.seq, epoch: start.epoch)
                #expect(back.missed?.map(\.isRecalled) == [true, false, false])
                let viewed = try await node.api("GET", "/v1/rooms/talk/messages/\(sent.messageID)")
                #expect(viewed.body.contains(#""recalled":true"#) && !viewed.body.contains("oops"))

                // Once more changes nothing, also over a restart, when history is on disk only.
                try await ann.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                await node.kill()
                try await node.start()
                let again = try await TestClient.entered(node, "ann", room)
                try await again.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                #expect(try await again.wholeHistory(room).map(\.isRecalled) == [true, false, false])
            }
        }

        /// Nobody's screen, and no copy of the app's own, would hear of it otherwise.
        @Test func `a recall by the server API is told, whatever notify says`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("told")
                let (ann, bob) = (
                    try await TestClient.entered(node, "ann", room), try await TestClient.entered(node, "bob", room)
                )
                let first = try await ann.send(room, "first")
                let one = "/v1/rooms/told/messages/\(first.messageID)/recall"
                #expect(try await node.api("POST", one, #"{"notify":false}"#).status == 200)
                #expect(try await bob.event(.recalled).notification?.data == .recalled(messageIDs: [first.messageID]))
                let second = try await ann.send(room, "second")
                let carl = try await TestClient.entered(node, "carl", room)
                let all = #"{"user":"ann","notify":false}"#
                #expect(try await node.api("POST", "/v1/rooms/told/messages/recall", all).status == 200)
                let told = try await carl.event(.recalled).notification?.data
                #expect(told == .recalled(messageIDs: [second.messageID]))
            }
        }

        @Test func `the server takes back what a user has said from a time on, that time included`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("since")
                let (ann, bob) = (
                    try await TestClient.entered(node, "ann", room), try await TestClient.entered(node, "bob", room)
                )
                let first = try await ann.send(room, "before")
                var next = try await ann.send(room, "then")
                while next.time == first.time { next = try await ann.send(room, "then") }
                try await bob.send(room, "another's")
                try await ann.send(room, "later")
                let answer = try await node.api(
                    "POST", "/v1/rooms/since/messages/recall",
                    #"{"user":"ann","since":\#(next.time.milliseconds),"notifyExt":"x"}"#)
                #expect(answer.status == 200, "\(answer)")
                #expect(try await bob.event(.recalled).notification?.notifyExt == "x")
                let texts = try await bob.wholeHistory(room).filter { $0.body.type == .text }
                #expect(texts.allSatisfy { $0.isRecalled == ($0.from?.user.text == "ann" && $0.time >= next.time) })
                #expect(texts.count { $0.isRecalled } == 2 && texts.first?.isRecalled == false)
            }
        }

        @Test func `what is no kept message of the room is not found, and a notification stays`() async throws {
            try await TestNode.run { node in
                let (room, other) = (try await node.createRoom("one"), try await node.createRoom("two"))
                let ann = try await TestClient.entered(node, "ann", room)
                try await ann.enter(other)
                var draft = MessageDraft(body: .text("unkept"))
                draft.keep = false
                let unkept = try await ann.post(room, draft)
                let elsewhere = try await ann.send(other, "elsewhere")
                for id in [unkept.messageID, "nonsense", "zz-1", elsewhere.messageID] {
                    let error = try await ann.refusal(of: .recall(RecallRequest(room: room, messageID: id)))
                    #expect(error.code == .notFound, "\(id): \(error)")
                }
                try await ann.set(room, "seat")
                let notification = try #require(try await ann.newest(room))
                let request = ClientOperation.recall(RecallRequest(room: room, messageID: notification.messageID))
                #expect(try await ann.refusal(of: request).code == .forbidden)
            }
        }

        @Test func `a repeated recall is told once, and what a session asks meanwhile keeps its order`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("order")
                var ann = try await TestClient.entered(node, "ann", room)
                let sent = try await ann.send(room, "first")
                // So that the message has left the tail, and the lookup waits for storage.
                for number in 0..<300 { try await ann.send(room, "filler \(number)") }
                let recall = ClientOperation.recall(
                    RecallRequest(room: room, messageID: sent.messageID, clientID: "recall-1"))
                let first = await ann.begin(recall)
                let second = await ann.begin(.text(room, "after the recall"))
                let third = await ann.begin(recall)
                for id in [first, second, third] { _ = try await ann.reply(to: id).get() }
                await node.kill()
                try await node.start()
                ann = try await TestClient.entered(node, "ann", room)
                try await ann.done(recall)
                let end = try await ann.wholeHistory(room, after: 301)
                #expect(end.count == 2 && end[0].notification?.event == .recalled, "\(end)")
                #expect(end[1].text == "after the recall")
            }
        }

        @Test func `blacklisting with recall takes back what the user has said`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("spam", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let eve = try await TestClient.entered(node, "eve", room)
                var spam: [String] = []
                for number in 0..<130 { spam.append(try await eve.send(room, "spam \(number)").messageID) }
                try await owner.send(room, "mine")
                var request = BlacklistRequest(room: room, user: try user("eve"), enable: true, recall: true)
                request.options.notifyExt = "why"
                request.clientID = "b1"
                #expect(
                    try await eve.refusal(
                        of: .setBlacklist(
                            BlacklistRequest(room: room, user: user("owner"), enable: true, recall: true))
                    ).code == .forbidden)
                try await owner.done(.setBlacklist(request))
                let recalled = try await owner.event(.recalled)
                guard case .recalled(let ids)? = recalled.notification?.data else { throw TestFailure("\(recalled)") }
                #expect(ids == spam.reversed() && recalled.notification?.notifyExt == "why")
                #expect(try await eve.kicked(from: room).reason == .blacklisted)
                try await owner.done(.setBlacklist(request))
                let kept = try await owner.wholeHistory(room)
                #expect(kept.filter(\.isRecalled).count == 130)
                #expect(kept.compactMap(\.notification?.event) == [.blacklisted, .recalled])
            }
        }

        @Test func `a thousand messages go in one 323, and one more in a second`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("flood", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                var recalled: [Int] = []
                for (name, count) in [("max", 1000), ("eve", 1001)] {
                    let flooder = try await TestClient.entered(node, name, room)
                    var last: UInt32 = 0
                    for number in 0..<count { last = await flooder.begin(.text(room, "\(name) \(number)")) }
                    _ = try await flooder.reply(to: last).get()
                    let mark = await owner.notifications(of: room).count
                    try await owner.done(
                        .setBlacklist(BlacklistRequest(room: room, user: user(name), enable: true, recall: true)))
                    try await flooder.kicked(from: room)
                    try await owner.send(room, "after \(name)")
                    try await owner.message("after \(name)")
                    for notification in await owner.notifications(of: room).dropFirst(mark) {
                        if case .recalled(let ids) = notification.data { recalled.append(ids.count) }
                    }
                }
                #expect(recalled == [1000, 1000, 1])
                let kept = try await owner.wholeHistory(room)
                #expect(kept.filter(\.isRecalled).count == 2001)
            }
        }
    }
}
