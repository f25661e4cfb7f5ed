import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// COMBINE and directed messages (PROTOCOL.md, "Message").
    @Suite struct RoomsCombineTests {
        private func combine(_ ids: [String]) -> MessageDraft {
            MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: ids))
        }

        private func combined(_ client: TestClient, _ room: RoomID, _ id: String) async throws -> [Message] {
            guard
                case .combined(let result) = try await client.done(
                    .combined(CombinedRequest(room: room, messageID: id)))
            else { throw TestFailure("no messages") }
            return result.messages
        }

        @Test func `the room keeps copies of messages of the sender's rooms, on any loop`() async throws {
            try await TestNode.run { node in
                let target = try await node.createRoom("target")
                let sources = try await (1...8).asyncMap { try await node.createRoom("source\($0)") }
                let ann = try await TestClient.entered(node, "ann", target)
                let bob = try await TestClient.entered(node, "bob", target)
                var ids: [String] = []
                for source in sources {
                    try await ann.enter(source)
                    ids.append(try await ann.send(source, "in \(source)").messageID)
                }
                ids.reverse()
                // What follows stays behind it, though it has to ask other rooms.
                let first = await ann.begin(
                    .send(SendRequest(room: target, clientID: "c1", draft: combine(ids))))
                let second = await ann.begin(.text(target, "behind"))
                guard case .send(let sent) = try await ann.reply(to: first).get(),
                    case .send(let behind) = try await ann.reply(to: second).get()
                else { throw TestFailure("no acks") }
                #expect(sent.place == .kept(seq: 1) && behind.place == .kept(seq: 2))

                let copies = try await combined(bob, target, sent.messageID)
                #expect(copies.map(\.messageID) == ids && copies.map(\.room) == sources.reversed())
                #expect(copies.map(\.text) == sources.reversed().map { "in \($0)" })
                #expect(copies.allSatisfy { $0.from?.user.text == "ann" && $0.clientID == nil })
                #expect(try await bob.history(target).messages.last?.body == combine(ids).body)

                // The copies are the room's own: the originals may go, and a repeat after that gets the first answer.
                try await ann.done(.recall(RecallRequest(room: sources[0], messageID: ids[7])))
                #expect(try await ann.post(target, combine(ids), clientID: "c1") == sent)
                await node.kill()
                try await node.start()
                let back = try await TestClient.entered(node, "bob", target)
                #expect(try await combined(back, target, sent.messageID) == copies)
                let owner = try await TestClient.entered(node, "owner", target)
                try await owner.done(.recall(RecallRequest(room: target, messageID: sent.messageID)))
                let gone = try await back.refusal(
                    of: .combined(CombinedRequest(room: target, messageID: sent.messageID)))
                #expect(gone.code == .notFound)
            }
        }

        @Test func `what is missing, recalled, foreign or too much is refused whole`() async throws {
            try await TestNode.run { node in
                let (room, other) = (try await node.createRoom("here"), try await node.createRoom("there"))
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", other)
                let here = try await ann.send(room, "here").messageID
                let there = try await bob.send(other, "there").messageID
                let recalled = try await ann.send(room, "recalled").messageID
                try await ann.done(.recall(RecallRequest(room: room, messageID: recalled)))
                let notification = try #require(try await ann.newest(room)).messageID
                for id in [there, recalled, notification, "nonsense"] {
                    let request = SendRequest(room: room, clientID: "c", draft: combine([here, id]))
                    let error = try await ann.refusal(of: .send(request))
                    #expect(error.code == .notFound && error.field == "messageIds", "\(id): \(error)")
                }
                let hundred = Array(repeating: here, count: 100)
                let tooMany = SendRequest(room: room, clientID: "c", draft: combine(hundred + [here]))
                #expect(try await ann.refusal(of: .send(tooMany)).code == .badParameter)
                let sent = try await ann.post(room, combine(hundred), clientID: "c")
                #expect(try await combined(ann, room, sent.messageID).count == 100)
                let big = try await ann.send(room, String(repeating: "a", count: 32 * 1024)).messageID
                let tooBig = SendRequest(room: room, clientID: "d", draft: combine(Array(repeating: big, count: 25)))
                #expect(try await ann.refusal(of: .send(tooBig)).code == .tooLarge)
                let text = CombinedRequest(room: room, messageID: here)
                #expect(try await ann.refusal(of: .combined(text)).code == .notFound)
            }
        }

        @Test func `a directed message counts nobody who has no connection`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("direct")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                var draft = MessageDraft(body: .text("psst"))
                draft.to = [try user("bob")]
                #expect(try await ann.post(room, draft).delivered == 1)
                await bob.socket.close()
                // His session is in its grace, and he is in the room.
                try await poll("the room knows that bob has no connection") {
                    try await ann.post(room, draft).delivered == 0
                }
            }
        }

        @Test func `a directed message says how many it was sent to`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("direct")
                let ann = try await TestClient.entered(node, "ann", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let eve = try await TestClient.entered(node, "eve", room)
                var draft = MessageDraft(body: .text("psst"))
                draft.to = try ["bob", "away", "bob"].map { try user($0) }
                let sent = try await ann.post(room, draft, clientID: "d1")
                #expect(sent.delivered == 1 && sent.place == .unkept(after: 0))
                try await bob.message("psst")
                try await ann.message("psst")
                try await bob.done(.exit(RoomNameRequest(room: room)))
                #expect(try await ann.post(room, draft, clientID: "d1") == sent, "the first result")
                #expect(try await ann.post(room, draft).delivered == 0)
                #expect(try await ann.send(room, "to all").delivered == nil)
                try await eve.message("to all")
                #expect(await eve.texts(of: room) == ["to all"])
            }
        }
    }
}
