import ChatModel
import Foundation
import Testing
import WaitTestKit
import Wire

extension TestClient {
    /// Sends a text that is held; its ID.
    fileprivate func hold(_ room: RoomID, _ text: String, clientID: String? = nil) async throws -> String {
        let result = try await send(room, text, clientID: clientID)
        guard let heldID = result.heldID else { throw TestFailure("\(text) was not held") }
        guard result.messageID.isEmpty, result.place == .outside else { throw TestFailure("it has a place") }
        return heldID
    }

    /// Waits until this manager has been told of it.
    @discardableResult
    fileprivate func told(_ heldID: String) async throws -> Message {
        try await item("the held message \(heldID)") { item -> Message? in
            guard case .push(.held(let push)) = item, push.message.messageID == heldID else { return nil }
            return push.message
        }
    }

    @discardableResult
    fileprivate func denied(_ heldID: String) async throws -> DeniedPush {
        try await item("the denial of \(heldID)") { item -> DeniedPush? in
            guard case .push(.denied(let push)) = item, push.heldID == heldID else { return nil }
            return push
        }
    }

    fileprivate func decide(
        _ room: RoomID, _ heldID: String, _ isAllowed: Bool, reason: String? = nil, clientID: String? = nil
    ) async throws -> HeldResult {
        let decision = HeldDecision(isAllowed: isAllowed, reason: reason)
        guard
            case .held(let result) = try await done(
                .held(HeldRequest(room: room, heldID: heldID, decision, clientID: clientID)))
        else { throw TestFailure("held has another result") }
        return result
    }

    fileprivate func page(_ room: RoomID, after: String? = nil, limit: Int64 = 50) async throws -> HeldResult {
        guard case .held(let result) = try await done(.held(HeldRequest(room: room, after: after, limit: limit))) else {
            throw TestFailure("held has another result")
        }
        return result
    }

    fileprivate var heldPushes: Int {
        items.count { if case .push(.held) = $0 { true } else { false } }
    }

    fileprivate func refused(_ room: RoomID, _ heldID: String, _ isAllowed: Bool) async throws -> ErrorCode {
        try await refusal(of: .held(HeldRequest(room: room, heldID: heldID, HeldDecision(isAllowed: isAllowed)))).code
    }
}

extension IntegrationTests {
    /// Held messages over sockets (PROTOCOL.md, "Held messages").
    @Suite struct RoomsHeldTests {
        private static let words = #""words":[{"text":"iffy","action":"HOLD"},{"text":"worst","action":"REFUSE"}]"#

        private func moderate(_ node: TestNode, _ more: String = "") async throws {
            let answer = try await node.api("PUT", "/v1/moderation", "{\(Self.words)\(more)}")
            guard answer.status == 200 else { throw TestFailure("moderation was not set: \(answer)") }
        }

        @Test(arguments: ClientEncoding.allCases)
        func `managers are told, decide, and the sender hears of it`(encoding: ClientEncoding) async throws {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("r", creator: "owner")
                try await moderate(node)
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let first = try await ann.hold(room, "an IFFY one", clientID: "c1")
                let second = try await ann.hold(room, "iffy too", clientID: "c2")
                let told = try await owner.told(first)
                #expect(told.text == "an IFFY one" && told.seq == nil && told.clientID == "c1")
                #expect(told.from?.user.text == "ann" && told.from?.profile.nick == "nick of ann")
                try await owner.told(second)
                let page = try await owner.page(room, limit: 1)
                #expect(page.messages?.map(\.messageID) == [first])
                let rest = try await owner.page(room, after: page.next)
                #expect(rest.messages?.map(\.messageID) == [second] && rest.next == nil)
                #expect(try await ann.send(room, "an IFFY one", clientID: "c1").heldID == first, "a repeat")
                for client in [ann, bob] {
                    #expect(try await client.refusal(of: .held(HeldRequest(room: room))).code == .forbidden)
                    #expect(try await client.refused(room, first, true) == .forbidden)
                }

                let allowed = try #require(try await owner.decide(room, first, true, clientID: "d1").message)
                let shown = try await bob.message("an IFFY one")
                #expect(shown == allowed && shown.clientID == "c1" && shown.seq != nil && shown.time >= told.time)
                #expect(try await owner.decide(room, first, true, clientID: "d1").message == allowed, "a repeat")
                #expect(try await owner.refused(room, first, false) == .conflict)
                #expect(try await ann.send(room, "an IFFY one", clientID: "c1").messageID == allowed.messageID)
                #expect(try await owner.decide(room, second, false, reason: "rude").message?.messageID == second)
                let denied = try await ann.denied(second)
                #expect(denied.reason == "rude" && denied.clientID == "c2" && denied.room == room)
                #expect(try await ann.refusal(of: .text(room, "iffy too", clientID: "c2")).code == .rejected)
                let third = try await ann.hold(room, "iffy again")
                #expect(
                    try await bob.refusal(of: .recall(RecallRequest(room: room, messageID: third))).code == .forbidden)
                _ = try await ann.done(.recall(RecallRequest(room: room, messageID: third)))
                #expect(try await ann.denied(third).reason == "WITHDRAWN")
                #expect(try await owner.refused(room, "nothing", true) == .notFound)
                #expect(try await owner.page(room).messages?.isEmpty ?? true)

                try await owner.send(room, "end")
                try await bob.message("end")
                #expect(await bob.texts(of: room) == ["an IFFY one", "end"], "nobody else sees what is held")
                #expect(await bob.heldPushes == 0)
                #expect(await ann.heldPushes == 0)
                #expect(await owner.heldPushes == 3)
                #expect(try await bob.wholeHistory(room).compactMap(\.text) == ["an IFFY one", "end"])
            }
        }

        @Test func `the hook holds, and its failure does where onFailure says so`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                let receiver = FakeReceiver()
                try await receiver.start()
                await receiver.answer { call in
                    if call.text.contains("perhaps") { return .status(200, #"{"action":"HOLD"}"#) }
                    if call.text.contains("rewrite") { return .status(200, #"{"action":"REWRITE","text":"better"}"#) }
                    if call.text.contains("garbage") { return .status(200, "<html>") }
                    return .status(200, #"{"action":"ALLOW"}"#)
                }
                let url = await receiver.url
                let hook = #"{"url":"\#(url)","secret":"s","timeoutMs":10000,"onFailure":"HOLD"}"#
                try await moderate(node, #","hook":\#(hook),"holdSeconds":1200,"onExpiry":"ALLOW""#)
                let shown = try await node.api("GET", "/v1/moderation").body
                for part in [
                    #""onFailure":"HOLD""#, #""holdSeconds":1200"#, #""onExpiry":"ALLOW""#, #""action":"HOLD""#,
                ] {
                    #expect(shown.contains(part), "\(shown)")
                }
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                try await ann.send(room, "fine")
                _ = try await ann.hold(room, "perhaps")
                _ = try await ann.hold(room, "garbage")
                // A held one may be rewritten as well; the words are asked first.
                let rewritten = try await ann.hold(room, "iffy, rewrite it")
                #expect(try await owner.told(rewritten).text == "better")
                var draft = MessageDraft(body: .text("perhaps"))
                draft.keep = false
                let unkept = ClientOperation.send(SendRequest(room: room, clientID: "u", draft: draft))
                #expect(try await ann.refusal(of: unkept).code == .rejected)
                #expect(try await node.metric("chatroom_hook_total{", labels: "held") == 2)
                await receiver.stop()
                for bad in [#""holdSeconds":0"#, #""holdSeconds":86401"#, #""onExpiry":"HOLD""#] {
                    #expect(try await node.api("PUT", "/v1/moderation", "{\(bad)}").status == 400)
                }
            }
        }

        @Test func `whoever is banned or muted in all rooms gets nothing through, also of a node that began anew`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                try await moderate(node)
                let muted = try await ann.hold(room, "iffy of one who is muted", clientID: "m")
                #expect(try await node.api("PUT", "/v1/users/ann/mute", #"{"seconds":600}"#).status == 200)
                #expect(try await ann.denied(muted).reason == "MUTED")
                #expect(try await owner.refused(room, muted, true) == .conflict)
                let eve = try await TestClient.entered(node, "eve", room)
                let banned = try await eve.hold(room, "iffy of one who is banned")
                // The room may not be in memory when it is said.
                await node.kill()
                try await node.start()
                #expect(try await node.api("PUT", "/v1/users/eve/ban", #"{"seconds":600}"#).status == 200)
                let again = try await TestClient.entered(node, "owner", room)
                #expect(try await again.refused(room, banned, true) == .conflict)
                #expect(try await again.page(room).messages?.isEmpty == true)
                #expect(try await again.wholeHistory(room).compactMap(\.text).isEmpty)
            }
        }

        @Test func `a session that resumes hears of what was denied meanwhile, once`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                try await moderate(node)
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.connected(node, "ann")
                let entered = try await ann.enter(room)
                let heard = try await ann.hold(room, "iffy 1", clientID: "c1")
                let missed = try await ann.hold(room, "iffy 2", clientID: "c2")
                _ = try await owner.decide(room, heard, false)
                try await ann.denied(heard)
                try await owner.send(room, "behind it")
                let seq = try #require(try await ann.message("behind it").seq)
                try await ann.drop()
                _ = try await owner.decide(room, missed, false, reason: "no")
                let back = try await TestClient.open(port: node.clientPort)
                #expect(try await back.connect(token: node.token("ann"), session: ann.session).resumed)
                _ = try await back.enter(room, since: seq, epoch: entered.epoch)
                #expect(try await back.denied(missed).reason == "no")
                try await owner.send(room, "end")
                try await back.message("end")
                let denials = await back.items.count { if case .push(.denied) = $0 { true } else { false } }
                #expect(denials == 1)
                // The kicked member hears of it as well, in front of the kick.
                let last = try await back.hold(room, "iffy 3")
                #expect(try await node.api("POST", "/v1/rooms/r/members/ann/kick", "{}").status == 200)
                #expect(try await back.denied(last).reason == "KICKED")
                try await back.kicked(from: room)
            }
        }

        @Test func `a manager that resumes is told of what was held meanwhile and still waits`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                try await moderate(node)
                let owner = try await TestClient.connected(node, "owner")
                let entered = try await owner.enter(room)
                let ann = try await TestClient.entered(node, "ann", room)
                try await owner.told(try await ann.hold(room, "iffy 1"))
                try await ann.send(room, "behind it")
                let seq = try #require(try await owner.message("behind it").seq)
                try await owner.drop()
                let decided = try await ann.hold(room, "iffy 2")
                let waits = try await ann.hold(room, "iffy 3")
                #expect(try await node.api("POST", "/v1/rooms/r/held/\(decided)/deny", "{}").status == 200)
                let back = try await TestClient.open(port: node.clientPort)
                #expect(try await back.connect(token: node.token("owner"), session: owner.session).resumed)
                _ = try await back.enter(room, since: seq, epoch: entered.epoch)
                try await back.told(waits)
                try await ann.send(room, "end")
                try await back.message("end")
                #expect(await back.heldPushes == 1)
                // Members are told nothing of it.
                try await ann.drop()
                let other = try await TestClient.open(port: node.clientPort)
                #expect(try await other.connect(token: node.token("ann"), session: ann.session).resumed)
                _ = try await other.enter(room, since: seq, epoch: entered.epoch)
                try await back.send(room, "for ann")
                try await other.message("for ann")
                #expect(await other.heldPushes == 0)
            }
        }

        @Test func `a long message that waits hides none of the others from a manager that resumes`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                try await moderate(node)
                let owner = try await TestClient.connected(node, "owner")
                let entered = try await owner.enter(room)
                let ann = try await TestClient.entered(node, "ann", room)
                try await owner.drop()
                var held: [String] = []
                // Six times as long in JSON.
                let long = "iffy " + String(repeating: "\u{1}", count: 11_000)
                for text in ["iffy 1", long, "iffy 2", long] { held.append(try await ann.hold(room, text)) }
                let back = try await TestClient.open(port: node.clientPort)
                #expect(try await back.connect(token: node.token("owner"), session: owner.session).resumed)
                _ = try await back.enter(room, since: entered.seq, epoch: entered.epoch)
                for id in [held[0], held[2], held[3]] { try await back.told(id) }
                try await ann.send(room, "end")
                try await back.message("end")
                #expect(await back.heldPushes == 3)
            }
        }

        @Test func `a webhook that was away is told of all, decided or not, in order, from a backup too`() async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                try await moderate(node)
                let receiver = FakeReceiver()
                try await receiver.start()
                let (url, port) = (await receiver.url, await receiver.port)
                let set = try await node.api(
                    "PUT", "/v1/webhook", #"{"url":"\#(url)","secret":"s","events":["held","message"]}"#)
                #expect(set.status == 200)
                await receiver.stop()
                let ann = try await TestClient.entered(node, "ann", room)
                var ids = [try await ann.hold(room, "iffy 1")]
                try await ann.send(room, "between")
                for number in 2...4 { ids.append(try await ann.hold(room, "iffy \(number)")) }
                #expect(try await node.api("POST", "/v1/rooms/r/held/\(ids[0])/allow").status == 200)
                #expect(try await node.api("POST", "/v1/rooms/r/held/\(ids[1])/deny").status == 200)
                try await ann.done(.recall(RecallRequest(room: room, messageID: ids[2])))
                let backup = try await node.api("POST", "/v1/backup")
                let copies = try #require(try backup.fields()["copies"] as? [[String: Any]])
                let directory = try #require(copies.first?["directory"] as? String)
                await node.kill()

                func expectAll(_ node: TestNode) async throws {
                    let later = FakeReceiver()
                    try await later.start(port: port)
                    try await node.start()
                    let items = try await later.wait("all items") { calls -> [WebhookItem]? in
                        var known: Set<String> = []
                        let items = try calls.flatMap {
                            try WireJSON.decode(WebhookBatch.self, from: $0.body, limits: false).items
                        }.filter { known.insert($0.id).inserted }
                        return items.count >= 6 ? items : nil
                    }
                    #expect(items.map(\.event) == [.held, .message, .held, .held, .held, .message])
                    #expect(items.compactMap(\.heldID) == ids)
                    let texts = items.map { $0.message?.text }
                    #expect(texts == [nil, "between", nil, nil, "iffy 4", "iffy 1"])
                    // They are owed no more.
                    try await poll("nothing waits") { try await node.metric("chatroom_webhook_lag_seconds") == 0 }
                    await later.stop()
                    await node.kill()
                }
                try await expectAll(node)
                let other = try TestNode()
                let end = try await Program("chatroomctl", ["restore", "--config", other.configPath, directory]).ended()
                #expect(end.status == 0, "\(end.output) \(end.errors)")
                try await expectAll(other)
            }
        }

        @Test func `the server API lists and decides, and the webhook is told, also after a kill`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r", creator: "owner")
                try await moderate(node)
                let ann = try await TestClient.entered(node, "ann", room)
                let first = try await ann.hold(room, "iffy 1")
                let second = try await ann.hold(room, "iffy 2")
                let posted = try await node.api(
                    "POST", "/v1/rooms/r/messages", #"{"type":"TEXT","text":"iffy 3","sender":"bob","moderate":true}"#)
                let third = try #require(try posted.fields()["heldId"] as? String)
                #expect(posted.body == #"{"heldId":"\#(third)"}"#)
                let receiver = FakeReceiver()
                try await receiver.start()
                let url = await receiver.url
                let webhook = try await node.api(
                    "PUT", "/v1/webhook", #"{"url":"\#(url)","secret":"s","events":["held","message"]}"#)
                #expect(webhook.status == 200)
                let fourth = try await ann.hold(room, "iffy 4")
                @Sendable func items(_ calls: [FakeReceiver.Call]) throws -> [WebhookItem] {
                    var known: Set<String> = []
                    return try calls.flatMap {
                        try WireJSON.decode(WebhookBatch.self, from: $0.body, limits: false).items
                    }.filter { known.insert($0.id).inserted }
                }
                let told = try await receiver.wait("the held message") { try items($0).first { $0.heldID == fourth } }
                #expect(told.event == .held && told.message?.text == "iffy 4" && told.seq == nil && told.kind == nil)

                func api(_ method: String, _ path: String, _ body: String? = nil, key: String? = nil) async throws
                    -> HTTPAnswer
                {
                    try await node.api(
                        method, "/v1/rooms/r/held" + path, body, headers: key.map { ["Idempotency-Key": $0] } ?? [:])
                }
                let page = try await api("GET", "?limit=3").fields()
                let listed = (page["messages"] as? [[String: Any]] ?? []).compactMap { $0["messageId"] as? String }
                #expect(listed == [first, second, third])
                let next = try #require(page["next"] as? String)
                #expect(try await api("GET", "?after=\(next)").body.contains(fourth))
                await node.kill()
                try await node.start()
                let bob = try await TestClient.entered(node, "bob", room)
                let allowed = try await api("POST", "/\(first)/allow", key: "k1")
                #expect(allowed.status == 200)
                #expect(try await bob.message("iffy 1").seq == 1)
                #expect(try await api("POST", "/\(first)/allow", key: "k1").body == allowed.body, "a repeat")
                #expect(try await api("POST", "/\(first)/deny").status == 409)
                #expect(try await api("POST", "/\(second)/deny", #"{"reason":"x"}"#, key: "k2").status == 200)
                #expect(
                    try await api("POST", "/\(second)/deny", #"{"reason":"x"}"#, key: "k2").body == "{}", "a repeat")
                #expect(try await api("POST", "/none/allow").status == 404)
                // A recall withdraws it.
                #expect(try await node.api("POST", "/v1/rooms/r/messages/\(third)/recall").status == 200)
                #expect(try await node.api("POST", "/v1/rooms/r/messages/\(third)/recall").status == 409)
                #expect(try await node.api("POST", "/v1/rooms/r/close").status == 200)
                #expect(try await api("POST", "/\(fourth)/allow").status == 409)
                #expect(try await api("GET", "").body == #"{"messages":[]}"#)
                let message = try await receiver.wait("the message") { try items($0).first { $0.event == .message } }
                #expect(message.message?.text == "iffy 1")
                await receiver.stop()
            }
        }
    }
}
