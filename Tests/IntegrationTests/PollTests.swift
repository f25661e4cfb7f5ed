import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Polls over sockets (PROTOCOL.md, "Polls").
    @Suite struct PollTests {
        private static let draft = PollDraft(title: "which?", options: ["a", "b"], seconds: 600)

        private func vote(_ client: TestClient, _ room: RoomID, _ option: Int64, clientID: String? = nil) async throws
            -> [Int64]
        {
            let request = VoteRequest(room: room, poll: "p", option: option, clientID: clientID)
            guard case .vote(let result) = try await client.done(.vote(request)) else { throw TestFailure("no poll") }
            return result.poll.counts
        }

        @Test(arguments: ClientEncoding.allCases)
        func `a poll is opened, voted in and closed, and its votes are there after a kill`(
            encoding: ClientEncoding
        ) async throws {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("polls", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let ann = try await TestClient.entered(node, "ann", room)
                guard case .poll(let opened) = try await owner.done(.poll(PollRequest(Self.draft, poll: "p", in: room)))
                else { throw TestFailure("no poll") }
                #expect(opened.poll.counts == [0, 0] && !opened.poll.closed)
                #expect(try await ann.event(.pollOpened).notification?.data == .poll(opened.poll))
                #expect(try await vote(ann, room, 1, clientID: "v") == [0, 1])
                #expect(
                    try await ann.refusal(of: .vote(VoteRequest(room: room, poll: "p", option: 0))).code == .conflict)
                _ = try await owner.item("the count") { item -> Void? in
                    guard case .push(.tallies(let push)) = item else { return nil }
                    return push.totals.contains(TallyCount(key: "poll:p:1", count: 1)) ? () : nil
                }
                await node.kill()
                try await node.start()
                let again = try await TestClient.entered(node, "ann", room)
                #expect(try await vote(again, room, 1, clientID: "v") == [0, 1], "the repeat")
                #expect(
                    try await again.refusal(of: .vote(VoteRequest(room: room, poll: "p", option: 0))).code == .conflict)
                let bob = try await TestClient.entered(node, "bob", room)
                #expect(try await vote(bob, room, 0) == [1, 1])
                #expect(
                    try await bob.refusal(of: .poll(PollRequest(closing: "p", in: room))).code == .forbidden)
                let answer = try await node.api("POST", "/v1/rooms/polls/polls/p/close", #"{"operator":"owner"}"#)
                #expect(answer.body.contains(#""counts":[1,1]"#) && answer.body.contains(#""closed":true"#))
                let told = try #require(try await bob.event(.pollClosed).notification)
                #expect(told.operator?.user.text == "owner")
                guard case .poll(let closed) = told.data else { throw TestFailure("no poll") }
                #expect(closed.counts == [1, 1] && closed.options == ["a", "b"])
                let all = try await node.api("GET", "/v1/rooms/polls/polls")
                #expect(all.body.contains(#""poll":"p","title":"which?""#))
            }
        }
    }
}
