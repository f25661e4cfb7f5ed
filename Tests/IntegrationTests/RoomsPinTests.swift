import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Pinned messages and replies (PROTOCOL.md, "Pinned messages", "Replies").
    @Suite struct RoomsPinTests {
        private func pin(
            _ client: TestClient, _ room: RoomID, _ messageID: String, enable: Bool = true, clientID: String? = nil
        ) async throws -> [PinnedMessage] {
            let request = PinRequest(room: room, messageID: messageID, enable: enable, clientID: clientID)
            guard case .pin(let result) = try await client.done(.pin(request)) else { throw TestFailure("no pins") }
            return result.pinned
        }

        private func reply(to messageID: String) -> MessageDraft {
            var draft = MessageDraft(body: .text("reply"))
            draft.replyTo = messageID
            return draft
        }

        @Test func `pins are told, and are there for whoever comes later, also after a restart`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("pins", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let sent = try await bob.send(room, "rules")
                let expected = [PinnedMessage(messageID: sent.messageID, seq: 1, time: Timestamp(0))]
                #expect(try await pin(owner, room, sent.messageID, clientID: "p") == expected)
                let told = try #require(try await bob.event(.pinsChanged).notification)
                #expect(told.data == .pinned(expected) && told.operator?.user.text == "owner" && told.targets.isEmpty)
                #expect(
                    try await bob.refusal(of: .pin(PinRequest(room: room, messageID: sent.messageID, enable: false)))
                        .code == .forbidden)

                await node.kill()
                try await node.start()
                let eve = try await TestClient.connected(node, "eve")
                #expect(try await eve.enter(room).room.info.pinned == expected)
                let again = try await TestClient.entered(node, "owner", room)
                #expect(try await pin(again, room, sent.messageID, clientID: "p") == expected, "the repeat")
                let answer = try await node.api(
                    "POST", "/v1/rooms/pins/messages/\(sent.messageID)/pin", #"{"enable":false,"operator":"owner"}"#)
                #expect(answer.body == #"{"pinned":[]}"#)
                #expect(try await eve.event(.pinsChanged).notification?.data == .pinned([]))
            }
        }

        @Test func `a reply quotes until its original is recalled, in both encodings`() async throws {
            for encoding in [ClientEncoding.json, .protobuf] {
                try await TestNode.run(encoding: encoding) { node in
                    let room = try await node.createRoom("replies")
                    let ann = try await TestClient.entered(node, "ann", room)
                    let bob = try await TestClient.entered(node, "bob", room)
                    let asked = try await ann.send(room, "ready?")
                    _ = try await bob.post(room, reply(to: asked.messageID))
                    let quote = ReplyReference(
                        messageID: asked.messageID, seq: 1, user: try user("ann"), nick: "nick of ann",
                        excerpt: "ready?")
                    #expect(try await ann.newest(room)?.replyTo == quote)
                    try await ann.done(.recall(RecallRequest(room: room, messageID: asked.messageID)))
                    #expect(try await bob.wholeHistory(room)[1].replyTo == quote.withoutExcerpt)
                    _ = try await bob.post(room, reply(to: asked.messageID))
                    #expect(try await ann.newest(room)?.replyTo == quote.withoutExcerpt)
                    // From disk, and from the tail that is made of it.
                    await node.kill()
                    try await node.start()
                    let eve = try await TestClient.connected(node, "eve")
                    let missed = try await eve.enter(EnterRequest(room: room, history: 10)).missed ?? []
                    #expect(missed.compactMap(\.replyTo) == [quote.withoutExcerpt, quote.withoutExcerpt])
                    #expect(try await eve.wholeHistory(room).compactMap(\.replyTo).allSatisfy { $0.excerpt == nil })
                }
            }
        }

        @Test func `the app's server replies as well, and a copy in a COMBINE does not quote`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("server")
                let ann = try await TestClient.entered(node, "ann", room)
                let asked = try await ann.send(room, "ready?")
                let answer = try await node.api(
                    "POST", "/v1/rooms/server/messages",
                    #"{"sender":"bot","type":"TEXT","text":"yes","replyTo":"\#(asked.messageID)"}"#)
                #expect(answer.status == 200)
                let shown = try #require(try await ann.newest(room))
                #expect(shown.replyTo?.excerpt == "ready?" && shown.from?.user.text == "bot")
                for (path, body) in [
                    ("rooms/server/messages", #"{"type":"TEXT","text":"x","replyTo":"m"}"#),
                    ("broadcast", #"{"type":"TEXT","text":"x","replyTo":"\#(asked.messageID)"}"#),
                ] {
                    let refused = try await node.api("POST", "/v1/\(path)", body)
                    #expect(refused.status >= 400 && refused.body.contains(#""field":"replyTo""#))
                }
                let combine = MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: [shown.messageID]))
                var answering = combine
                answering.replyTo = asked.messageID
                let kept = try await ann.post(room, answering)
                #expect(try await ann.newest(room)?.replyTo?.excerpt == "ready?")
                guard
                    case .combined(let copies) = try await ann.done(
                        .combined(CombinedRequest(room: room, messageID: kept.messageID)))
                else { throw TestFailure("no copies") }
                #expect(copies.messages.first?.replyTo == shown.replyTo?.withoutExcerpt)
            }
        }
    }
}
