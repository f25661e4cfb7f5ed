import ChatModel
import Foundation
import Testing
import Wire

extension IntegrationTests {
    /// Words and the pre-send hook (PROTOCOL.md, "Moderation").
    @Suite struct ModerationTests {
        private static let words =
            #"{"words":[{"text":"bad","action":"REPLACE"},{"text":"worst","action":"REFUSE"}]}"#

        private func moderate(_ node: TestNode, _ body: String) async throws {
            let answer = try await node.api("PUT", "/v1/moderation", body)
            guard answer.status == 200 else { throw TestFailure("moderation was not set: \(answer)") }
        }

        @Test func `a key of one call does not stand for another`() async throws {
            try await TestNode.run { node in
                let key = ["Idempotency-Key": "deploy-7"]
                let webhook = #"{"url":"http://127.0.0.1:9/hook","secret":"s","events":["message"]}"#
                let words = #"{"words":[{"text":"heck","action":"REFUSE"}]}"#
                for (path, body) in [("/v1/webhook", webhook), ("/v1/moderation", words)] {
                    let answer = try await node.api("PUT", path, body, headers: key)
                    #expect(answer.status == 200, "\(answer)")
                }
                let set = try await node.api("GET", "/v1/moderation")
                #expect(set.body.contains("heck"), "\(set)")
            }
        }

        @Test func `words are replaced or refused in messages, barrage, nick, room name and announcement`() async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let ann = try await TestClient.connected(node, "ann")
                let owner = try await TestClient.connected(node, "owner")
                try await owner.enter(room)
                try await moderate(node, Self.words)

                var entering = EnterRequest(room: room, since: nil, epoch: nil)
                entering.nick = "Worst"
                #expect(try await ann.refusal(of: .enter(entering)).code == .rejected)
                entering.nick = "Bad Ann"
                let entered = try await ann.enter(entering)
                #expect(entered.me.profile.nick == "*** Ann")

                try await ann.send(room, "so ＢＡＤ")
                try await owner.message("so ***")
                let refusal = try await ann.refusal(of: .text(room, "the WORST", clientID: "c"))
                #expect(refusal.code == .rejected)
                #expect(!refusal.message.lowercased().contains("worst"))
                // A refused try does not use its clientId up.
                try await ann.send(room, "fine", clientID: "c")
                try await owner.message("fine")

                _ = try await ann.ask(.barrage(BarrageRequest(room: room, text: "bad bad"))).get()
                try await owner.barrage("*** ***")
                #expect(
                    try await ann.refusal(of: .barrage(BarrageRequest(room: room, text: "worst"))).code == .rejected)

                var change = RoomChanges()
                (change.name, change.announcement) = ("bad room", "bad news")
                _ = try await owner.ask(.updateRoom(UpdateRoomRequest(room: room, set: change))).get()
                let view = try await node.api("GET", "/v1/rooms/r").fields()
                #expect(view["name"] as? String == "*** room")
                #expect(view["announcement"] as? String == "*** news")
                #expect(
                    try await ann.refusal(
                        of: .updateMe(UpdateMeRequest(room: room, set: ProfileChanges(nick: "worst")))
                    )
                    .code == .rejected)

                // The server API is not moderated unless it asks for it.
                let path = "/v1/rooms/r/messages"
                #expect(try await node.api("POST", path, #"{"type":"TEXT","text":"worst of all"}"#).status == 200)
                try await owner.message("worst of all")
                let refused = try await node.api("POST", path, #"{"type":"TEXT","text":"worst","moderate":true}"#)
                #expect(refused.status == 422)
                #expect(
                    try await node.api("POST", path, #"{"type":"TEXT","text":"a bad","moderate":true}"#).status == 200)
                try await owner.message("a ***")
            }
        }

        @Test func `what was set is shown without its secret, outlives a restart, and a list out of bounds is refused`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let body = #"{"words":[{"text":"bad","action":"REPLACE"}],"hook":{"url":"http://127.0.0.1:1/"}}"#
                #expect(try await node.api("PUT", "/v1/moderation", body).status == 400)
                try await moderate(
                    node,
                    #"{"words":[{"text":"bad","action":"REPLACE"}],"hook":{"url":"http://127.0.0.1:1/","secret":"s3cret"}}"#
                )
                // The secret that is set stays.
                try await moderate(node, body)
                for url in ["ftp://a/", "http://u:p@a/"] {
                    let answer = try await node.api(
                        "PUT", "/v1/moderation", #"{"hook":{"url":"\#(url)","secret":"s"}}"#)
                    #expect(answer.status == 400)
                }
                let long = String(repeating: "x", count: 257)
                let tooLong = try await node.api(
                    "PUT", "/v1/moderation", #"{"words":[{"text":"\#(long)","action":"REFUSE"}]}"#)
                #expect(tooLong.status == 413)

                await node.kill()
                try await node.start()
                let shown = try await node.api("GET", "/v1/moderation")
                #expect(!shown.body.contains("s3cret"))
                #expect(shown.body.contains("http://127.0.0.1:1/"))
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                // The hook is away, and messages pass.
                try await ann.send(room, "bad")
                try await ann.message("***")
            }
        }

        @Test func `the hook allows, rewrites and refuses, and its failure is decided by onFailure`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { call in
                    if call.text.contains("rewrite") { return .status(200, #"{"action":"REWRITE","text":"better"}"#) }
                    if call.text.contains("refuse") { return .status(200, #"{"action":"REFUSE"}"#) }
                    if call.text.contains("garbage") { return .status(200, "<html>") }
                    if call.text.contains("no text") { return .status(200, #"{"action":"REWRITE"}"#) }
                    if call.text.contains("redirect") { return .status(302) }
                    if call.text.contains("huge") { return .status(200, String(repeating: " ", count: 1 << 20)) }
                    if call.text.contains("hang") { return .raw("HTTP/1.1 200 X\r\n") }
                    if call.text.contains("silence") { return .silence }
                    return .status(200, #"{"action":"ALLOW"}"#)
                }
                let url = await receiver.url
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                // The longest time, except where it is to run out: an answer comes in time on a slow machine too.
                func hook(_ policy: String, timeoutMs: Int = 10_000) -> String {
                    #"{"words":[{"text":"bad","action":"REPLACE"}],"hook":{"url":"\#(url)","secret":"s3cret","#
                        + #""timeoutMs":\#(timeoutMs),"onFailure":"\#(policy)"}}"#
                }
                try await moderate(node, hook("ALLOW"))
                try await ann.send(room, "hello bad", clientID: "first")
                try await ann.message("hello ***")
                let call = try #require(await receiver.calls.first)
                let question = try WireJSON.decode(HookQuestion.self, from: call.body, limits: false)
                #expect(question.message.body == .text("hello ***"), "words first")
                #expect(question.from?.user.text == "ann")
                #expect(question.clientID == "first")
                let time = try #require(call.header("X-Chatroom-Time"))
                #expect(call.header("X-Chatroom-Signature") == signature("s3cret", time, call.body))

                try await ann.send(room, "please rewrite")
                try await ann.message("better")
                #expect(try await ann.refusal(of: .text(room, "please refuse")).code == .rejected)
                for text in ["garbage", "no text", "redirect"] {
                    try await ann.send(room, text)
                    try await ann.message(text)
                }
                try await moderate(node, hook("REFUSE"))
                for text in ["huge", "hang"] {
                    #expect(try await ann.refusal(of: .text(room, text)).code == .rejected)
                }
                try await moderate(node, hook("REFUSE", timeoutMs: 1000))
                #expect(try await ann.refusal(of: .text(room, "silence")).code == .rejected)
                let paths = await receiver.calls.map { $0.head.split(separator: " ")[1] }
                #expect(Set(paths) == ["/hook"], "redirects are not followed")
                await receiver.stop()
            }
        }

        @Test func `a session's messages keep their order through the hook, and others don't wait`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { call in
                    let allowed = #"{"action":"ALLOW"}"#
                    return call.text.contains("slow") ? .held(200, allowed) : .status(200, allowed)
                }
                let url = await receiver.url
                try await moderate(
                    node, #"{"hook":{"url":"\#(url)","secret":"s","timeoutMs":10000,"onFailure":"ALLOW"}}"#)
                let ann = try await TestClient.connected(node, "ann")
                let bob = try await TestClient.connected(node, "bob")
                try await ann.enter(room)
                try await bob.enter(room)
                let ids = [
                    await ann.begin(.text(room, "slow")), await ann.begin(.text(room, "second")),
                    await ann.begin(.text(room, "third")),
                ]
                try await receiver.wait("the slow question") { $0.contains { $0.text.contains("slow") } ? () : nil }
                try await bob.send(room, "meanwhile")
                await receiver.release()
                for id in ids { _ = try await ann.reply(to: id).get() }
                try await ann.message("third")
                #expect(await ann.texts(of: room) == ["meanwhile", "slow", "second", "third"])
                await receiver.stop()
            }
        }

        @Test func `whoever is kicked while the hook is asked says nothing more`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { call in
                    let allowed = #"{"action":"ALLOW"}"#
                    return call.text.contains("slow") ? .held(200, allowed) : .status(200, allowed)
                }
                let url = await receiver.url
                try await moderate(
                    node, #"{"hook":{"url":"\#(url)","secret":"s","timeoutMs":10000,"onFailure":"ALLOW"}}"#)
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let ids = [await ann.begin(.text(room, "slow")), await ann.begin(.text(room, "second"))]
                try await receiver.wait("the slow question") { $0.contains { $0.text.contains("slow") } ? () : nil }
                #expect(try await node.api("POST", "/v1/rooms/r/members/ann/kick", "{}").status == 200)
                await receiver.release()
                for id in ids {
                    guard case .failure(let error) = try await ann.reply(to: id) else {
                        Issue.record("a message of somebody who was kicked was accepted")
                        continue
                    }
                    #expect(error.code == .notInRoom)
                }
                try await bob.send(room, "after")
                try await bob.message("after")
                #expect(await bob.texts(of: room) == ["after"])
                await receiver.stop()
            }
        }

        @Test func `a COMBINE is moderated too, by a client and by the server`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let ann = try await TestClient.entered(node, "ann", room)
                let first = try await ann.send(room, "first")
                try await moderate(node, Self.words)
                func draft(_ title: String) -> MessageDraft {
                    MessageDraft(body: .combine(title: title, summary: "bad", messageIDs: [first.messageID]))
                }
                _ = try await ann.post(room, draft("t"), clientID: "c1")
                #expect(
                    try await ann.newest(room)?.body
                        == .combine(title: "t", summary: "***", messageIDs: [first.messageID]))
                let refusal = try await ann.refusal(
                    of: .send(SendRequest(room: room, clientID: "c2", draft: draft("worst"))))
                #expect(refusal.code == .rejected)
                let body =
                    #"{"type":"COMBINE","title":"worst","summary":"s","messageIds":["\#(first.messageID)"],"moderate":true}"#
                #expect(try await node.api("POST", "/v1/rooms/r/messages", body).status == 422)
            }
        }

        @Test func `a repeat gets the first result and the hook is not asked again`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { _ in .status(200, #"{"action":"ALLOW"}"#) }
                let url = await receiver.url
                try await moderate(node, #"{"hook":{"url":"\#(url)","secret":"s","timeoutMs":10000}}"#)
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                let first = try await ann.send(room, "once", clientID: "c")
                await receiver.answer { _ in .status(200, #"{"action":"REFUSE"}"#) }
                let second = try await ann.send(room, "once", clientID: "c")
                #expect(first == second)
                #expect(await receiver.calls.count == 1)
                await receiver.stop()
            }
        }

        @Test func `a hook that is away is no longer waited for`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { _ in .silence }
                let url = await receiver.url
                try await moderate(node, #"{"hook":{"url":"\#(url)","secret":"s","timeoutMs":50}}"#)
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                for number in 0..<50 { try await ann.send(room, "\(number)") }
                #expect(try await node.metric("chatroom_hook_total", labels: "skipped") > 0)
                #expect(await receiver.calls.count < 50)
                await receiver.stop()
            }
        }
    }
}
