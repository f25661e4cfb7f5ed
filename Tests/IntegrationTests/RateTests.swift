import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// How often one may, with the rates that hold without any setting.
    @Suite struct RateTests {
        private static var defaults: [String: Any] { ["session": ["graceSeconds": 10]] }

        @Test func `twenty changes pass at once and the next one waits a tenth of a second`() async throws {
            try await TestNode.run(Self.defaults) { node in
                let room = try await node.createRoom("rates")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let enter = ClientOperation.enter(EnterRequest(room: room))
                let answers = try await ann.askAtOnce(
                    [enter] + (1...20).map { .text(room, "\($0)", clientID: "c\($0)") })
                for answer in answers.prefix(20) { _ = try answer.get() }
                guard case .failure(let error)? = answers.last else { throw TestFailure("the 21st passed") }
                #expect(error.code == .tooOften && error.retryAfterMs == 100)
                #expect(try await ann.wholeHistory(room).count == 19)

                // The refused try has not used its clientId up.
                var again = try await ann.ask(.text(room, "20", clientID: "c20"))
                try await poll("a place in the rate") {
                    guard case .failure(let error) = again else { return true }
                    #expect(error.code == .tooOften)
                    again = try await ann.ask(.text(room, "20", clientID: "c20"))
                    return false
                }
                #expect(try await ann.wholeHistory(room).compactMap(\.text).last == "20")
                #expect(try await ann.wholeHistory(room).count == 20)
            }
        }

        @Test func `the rate is that of the session, over all its rooms`() async throws {
            try await TestNode.run(Self.defaults) { node in
                let rooms = try await ["one", "two"].asyncMap { try await node.createRoom($0) }
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let enters = rooms.map { ClientOperation.enter(EnterRequest(room: $0)) }
                let answers = try await ann.askAtOnce(enters + (1...19).map { .text(rooms[$0 % 2], "\($0)") })
                for answer in answers.prefix(20) { _ = try answer.get() }
                guard case .failure(let error)? = answers.last else { throw TestFailure("the 21st passed") }
                #expect(error.code == .tooOften)
                // Another session of the same user has a rate of its own.
                try await TestClient.connected(node, "ann").enter(rooms[0])
            }
        }

        @Test func `twenty reads pass at once and the next one waits`() async throws {
            try await TestNode.run(Self.defaults) { node in
                let room = try await node.createRoom("rates")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let enter = ClientOperation.enter(EnterRequest(room: room))
                let reads = [ClientOperation](repeating: .room(RoomNameRequest(room: room)), count: 21)
                let answers = try await ann.askAtOnce([enter] + reads)
                for answer in answers.prefix(21) { _ = try answer.get() }
                guard case .failure(let error)? = answers.last else { throw TestFailure("the 21st passed") }
                #expect(error.code == .tooOften && error.retryAfterMs == 50)
                // Reads and changes are counted apart.
                try await ann.send(room, "a change")
            }
        }

        @Test func `a repeat costs no rate`() async throws {
            try await TestNode.run(["session": ["changesPerSecond": 1, "changesBurst": 3]]) { node in
                let room = try await node.createRoom("rates")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                try await ann.enter(room)
                let first = try await ann.send(room, "once", clientID: "same")
                for _ in 1...50 { #expect(try await ann.send(room, "twice", clientID: "same") == first) }
                #expect(try await ann.wholeHistory(room).compactMap(\.text) == ["once"])
            }
        }

        @Test func `slow mode lets a user speak once in its time, kept or not, and managers always`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("slow", creator: "owner", fields: #","slowModeSeconds":600"#)
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                let owner = try await TestClient.connected(node, "owner", encoding: .json)
                for client in [ann, owner] { try await client.enter(room) }
                try await ann.send(room, "first", clientID: "c1")
                let command = SendRequest(room: room, clientID: "c2", draft: MessageDraft(body: .command(payload: [1])))
                for refused in [ClientOperation.text(room, "second"), .send(command)] {
                    let error = try await ann.refusal(of: refused)
                    #expect(error.code == .tooOften && (1...600_000).contains(error.retryAfterMs ?? 0))
                }
                // A repeat is no second message.
                try await ann.send(room, "first", clientID: "c1")
                _ = try await ann.ask(.barrage(BarrageRequest(room: room, text: "not slowed"))).get()
                for number in 1...3 { try await owner.send(room, "owner \(number)") }
                let answer = try await node.api(
                    "POST", "/v1/rooms/slow/messages", #"{"sender":"ann","type":"TEXT","text":"by the server"}"#)
                #expect(answer.status < 300)
            }
        }

        @Test func `ten HIGH messages a second pass as such, and the ack says when one does not`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("high", creator: "owner")
                let owner = try await TestClient.connected(node, "owner", encoding: .json)
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                for client in [owner, ann] { try await client.enter(room) }
                let answers = try await owner.askAtOnce((1...11).map { high(room, "\($0)") })
                let priorities = try answers.map { answer -> Priority? in
                    guard case .send(let result) = try answer.get() else { throw TestFailure("another result") }
                    return result.priority
                }
                #expect(priorities == [Priority?](repeating: nil, count: 10) + [.normal])
                guard case .send(let guest) = try await ann.ask(high(room, "guest")).get() else {
                    throw TestFailure("another result")
                }
                #expect(guest.priority == .normal)
                let shown = try await ann.wholeHistory(room).map(\.priority)
                #expect(shown == [Priority](repeating: .high, count: 10) + [.normal, .normal])
            }
        }

        private func high(_ room: RoomID, _ text: String) -> ClientOperation {
            var draft = MessageDraft(body: .text(text))
            draft.priority = .high
            return .send(SendRequest(room: room, clientID: text, draft: draft))
        }
    }
}
