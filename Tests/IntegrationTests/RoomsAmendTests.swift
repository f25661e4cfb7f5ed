import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Amended messages (PROTOCOL.md, "Amended messages").
    @Suite struct RoomsAmendTests {
        @discardableResult
        private func amend(
            _ client: TestClient, _ room: RoomID, _ messageID: String, _ set: MessageChanges, clientID: String? = nil
        ) async throws -> Message {
            let request = AmendRequest(room: room, messageID: messageID, set: set, clientID: clientID)
            guard case .amend(let result) = try await client.done(.amend(request)) else {
                throw TestFailure("no message")
            }
            return result.message
        }

        private func message(_ client: TestClient, _ room: RoomID, _ messageID: String) async throws -> Message {
            let request = MessageRequest(room: room, messageID: messageID)
            guard case .message(let result) = try await client.done(.message(request)) else {
                throw TestFailure("no message")
            }
            return result.message
        }

        @Test func `it is told, stays over a restart, and a repeat gets the same, in both encodings`() async throws {
            for encoding in [ClientEncoding.json, .protobuf] {
                try await TestNode.run(encoding: encoding) { node in
                    let room = try await node.createRoom("edits")
                    let ann = try await TestClient.entered(node, "ann", room)
                    let bob = try await TestClient.entered(node, "bob", room)
                    let sent = try await ann.send(room, "helo", clientID: "post")
                    let amended = try await amend(
                        ann, room, sent.messageID, MessageChanges(text: "hello", ext: "e"), clientID: "once")
                    #expect(amended.body == .text("hello") && amended.ext == "e" && amended.seq == 1)
                    let time = try #require(amended.editedAt)
                    let told = try #require(try await bob.event(.amended).notification)
                    let data = NotificationData.amended(
                        messageID: sent.messageID, seq: 1, set: MessageChanges(text: "hello", ext: "e"), editedAt: time)
                    #expect(told.data == data && told.operator?.user.text == "ann")
                    #expect(told.targets.map(\.user.text) == ["ann"])
                    #expect(told.targets.map(\.nick) == ["nick of ann"])
                    #expect(
                        try await bob.refusal(
                            of: .amend(
                                AmendRequest(room: room, messageID: sent.messageID, set: MessageChanges(text: "x")))
                        )
                        .code == .forbidden)

                    await node.kill()
                    try await node.start()
                    let again = try await TestClient.entered(node, "ann", room)
                    let repeated = try await amend(
                        again, room, sent.messageID, MessageChanges(text: "hello", ext: "e"), clientID: "once")
                    #expect(repeated == amended)
                    let eve = try await TestClient.connected(node, "eve")
                    let missed = try await eve.enter(EnterRequest(room: room, history: 10)).missed ?? []
                    #expect(missed.first == amended && missed.count == 2)
                    #expect(try await message(eve, room, sent.messageID) == amended)
                    #expect(try await eve.wholeHistory(room).first == amended)
                    // The post itself is still known by its clientId.
                    let posted = try await again.post(room, MessageDraft(body: .text("helo")), clientID: "post")
                    #expect(posted.messageID == sent.messageID && posted.place == sent.place)
                }
            }
        }

        @Test func `an app server amends any message, and a recall takes what was amended along`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("server", creator: "owner")
                let ann = try await TestClient.entered(node, "ann", room)
                let owner = try await TestClient.entered(node, "owner", room)
                let sent = try await ann.send(room, "hello")
                let path = "/v1/rooms/server/messages/\(sent.messageID)"
                let answer = try await node.api("POST", path + "/amend", #"{"set":{"text":"hi"},"operator":"owner"}"#)
                #expect(
                    answer.status == 200 && answer.body.contains(#""text":"hi""#) && answer.body.contains("editedAt"))
                let told = try #require(try await ann.event(.amended).notification)
                #expect(told.operator?.user.text == "owner" && told.targets.map(\.user.text) == ["ann"])
                let key = ["Idempotency-Key": "k"]
                let first = try await node.api("POST", path + "/amend", #"{"set":{"ext":"e"}}"#, headers: key)
                let second = try await node.api("POST", path + "/amend", #"{"set":{"ext":"e"}}"#, headers: key)
                #expect(first.status == 200 && first.body == second.body)
                #expect(try await node.api("GET", path).body == first.body)
                for (body, status) in [
                    (#"{"set":{}}"#, 400), (#"{}"#, 400), (#"{"set":{"content":"c"}}"#, 400),
                    (#"{"set":{"text":1}}"#, 400),
                ] {
                    #expect(try await node.api("POST", path + "/amend", body).status == status, "\(body)")
                }
                #expect(
                    try await node.api("POST", "/v1/rooms/server/messages/m/amend", #"{"set":{"ext":"e"}}"#).status
                        == 404)
                try await owner.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                #expect(try await node.api("POST", path + "/amend", #"{"set":{"ext":"f"}}"#).status == 409)
                let recalled = try await node.api("GET", path).fields()
                #expect(recalled["recalled"] as? Bool == true && recalled["text"] == nil)
            }
        }

        @Test func `words and hook are asked about it`() async throws {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                let url = await receiver.url
                let room = try await node.createRoom("moderated")
                let ann = try await TestClient.entered(node, "ann", room)
                let sent = try await ann.send(room, "fine")
                let settings =
                    #"{"words":[{"text":"bad","action":"REPLACE"},{"text":"worst","action":"REFUSE"}],"hook":{"url":"\#(url)","secret":"s","timeoutMs":10000}}"#
                #expect(try await node.api("PUT", "/v1/moderation", settings).status == 200)
                let refused = try await ann.refusal(
                    of: .amend(AmendRequest(room: room, messageID: sent.messageID, set: MessageChanges(text: "worst"))))
                #expect(refused.code == .rejected)
                await receiver.answer { _ in .status(200, #"{"action":"REWRITE","text":"rewritten"}"#) }
                let amended = try await amend(ann, room, sent.messageID, MessageChanges(text: "a bad"))
                #expect(amended.body == .text("rewritten"))
                let call = try #require(await receiver.calls.last)
                let question = try WireJSON.decode(HookQuestion.self, from: call.body, limits: false)
                #expect(question.messageID == sent.messageID && question.message.body == .text("a ***"))
                await receiver.answer { _ in .status(200, #"{"action":"REFUSE"}"#) }
                let other = try await ann.refusal(
                    of: .amend(AmendRequest(room: room, messageID: sent.messageID, set: MessageChanges(ext: "x"))))
                #expect(other.code == .rejected)
                // A refused one holds nobody up.
                await receiver.answer { _ in .status(200, #"{"action":"ALLOW"}"#) }
                #expect(try await amend(ann, room, sent.messageID, MessageChanges(ext: "y")).ext == "y")
                await receiver.stop()
            }
        }
    }
}
