import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// The cost of a COMBINE in bytes of the rate (PROTOCOL.md, "Rates").
    @Suite struct CombineRateTests {
        /// What is used up stays so while a test runs.
        private static var slow: [String: Any] {
            ["session": ["changesPerSecond": 1000, "changesBurst": 1000, "changeBytesPerSecond": 1024]]
        }

        private func combine(_ room: RoomID, _ ids: [String], _ number: Int) -> ClientOperation {
            let body = MessageBody.combine(title: "t", summary: "s", messageIDs: ids)
            return .send(SendRequest(room: room, clientID: "c\(number)", draft: MessageDraft(body: body)))
        }

        private func code(_ answer: Result<OperationResult, ChatError>) -> ErrorCode? {
            guard case .failure(let error) = answer else { return nil }
            return error.code
        }

        @Test func `two at once pass whatever they may copy, and small ones one after the other always`() async throws {
            try await TestNode.run(Self.slow) { node in
                let room = try await node.createRoom("combined")
                let ann = try await TestClient.connected(node, "ann", encoding: .json)
                try await ann.enter(room)
                let id = try await ann.send(room, "small").messageID
                let answers = try await ann.askAtOnce((1...20).map { combine(room, [id], $0) })
                #expect(answers.map(code) == [nil, nil] + [ErrorCode?](repeating: .tooOften, count: 18))
                for number in 21...40 { _ = try await ann.ask(combine(room, [id], number)).get() }
                // Those that read nothing take nothing.
                for number in 41...60 {
                    let refused = try await ann.ask(combine(room, ["nonsense"], number))
                    #expect(code(refused) == .notFound)
                }
                // Of one that has been answered nothing is taken either.
                for _ in 1...20 { _ = try await ann.ask(combine(room, [id], 21)).get() }
                _ = try await ann.ask(combine(room, [id], 61)).get()
            }
        }

        @Test func `what was read for one that is refused counts, as what was copied does`() async throws {
            try await TestNode.run(Self.slow) { node in
                let room = try await node.createRoom("combined")
                let bob = try await TestClient.entered(node, "bob", room)
                var ids: [String] = []
                for _ in 1...8 {
                    ids.append(try await bob.send(room, String(repeating: "x", count: 30_000)).messageID)
                }
                let ann = try await TestClient.entered(node, "ann", room)
                #expect(code(try await ann.ask(combine(room, ids + ["nonsense"], 1))) == .notFound)
                _ = try await ann.ask(combine(room, ids, 2)).get()
                // Some 240 KB each are gone of 640 KB, so what a third might copy is not there.
                #expect(code(try await ann.ask(combine(room, ids, 3))) == .tooOften)
                // The second one's answer is there for whoever repeats it.
                _ = try await ann.ask(combine(room, ids, 2)).get()
                try await ann.send(room, "a text passes")
                // Who is not in the room has made nobody read.
                let eve = try await TestClient.connected(node, "eve")
                for number in 1...5 {
                    #expect(code(try await eve.ask(combine(room, ids, number))) == .notInRoom)
                }
                try await eve.enter(room)
                _ = try await eve.ask(combine(room, ids, 6)).get()
            }
        }
    }
}
