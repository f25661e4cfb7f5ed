import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Users who are banned or muted in all rooms (PROTOCOL.md, "App-wide sanctions").
    @Suite struct SanctionTests {
        private static func refusal(_ node: TestNode, _ user: String) async throws -> (ChatError?, Int?) {
            let client = try await TestClient.open(port: node.clientPort)
            switch try await client.ask(.connect(ConnectRequest(token: try node.token(user)))) {
            case .success: return (nil, nil)
            case .failure(let error): return (error, try await client.closing().map { Int($0) })
            }
        }

        @Test func `a banned user is out of all rooms with reason 7, closed with 4403, and kept out until it ends`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let bob = try await TestClient.entered(node, "bob", room)
                let ann = try await TestClient.entered(node, "ann", room)
                let answer = try await node.api("PUT", "/v1/users/ann/ban", #"{"seconds":3600,"reason":"spam"}"#)
                #expect(answer.status == 200 && answer.body.contains(#""reason":"spam""#), "\(answer)")
                let reason: KickReason = try await ann.item("kicked") {
                    if case .push(.kicked(let push)) = $0 { push.reason } else { nil }
                }
                #expect(reason == .banned)
                #expect(try await ann.closing() == 4403)
                try await bob.notification(.exit, of: "ann")
                let (error, code) = try await Self.refusal(node, "ann")
                #expect(error?.code == .forbidden && code == 4403)
                let wait = try #require(error?.retryAfterMs)
                #expect((3_000_000...3_600_000).contains(wait))

                await node.kill()
                try await node.start()
                #expect(try await Self.refusal(node, "ann").0?.code == .forbidden)
                let list = try await node.api("GET", "/v1/users?kind=BANNED")
                #expect(list.body.contains(#""user":"ann""#))
                #expect(try await node.api("GET", "/v1/users?kind=MUTED").body == #"{"users":[]}"#)
                let lifted = try await node.api("PUT", "/v1/users/ann/ban", #"{"seconds":0}"#)
                #expect(lifted.body == #"{"user":"ann","sessions":0}"#)
                #expect(try await Self.refusal(node, "ann").0 == nil)
                for (path, status) in [
                    ("/v1/users", 400), ("/v1/users?kind=ODD", 400), ("/v1/users?kind=MUTED&after=%2F", 400),
                ] {
                    #expect(try await node.api("GET", path).status == status, "\(path)")
                }
                #expect(try await node.api("PUT", "/v1/users/ann/ban", #"{"seconds":-1}"#).status == 400)
            }
        }

        @Test func `a muted user speaks nowhere, repeats get the first answer, and it may recall its own`() async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let ann = try await TestClient.entered(node, "ann", room)
                let sent = try await ann.send(room, "before", clientID: "first")
                #expect(try await node.api("PUT", "/v1/users/ann/mute", #"{"seconds":600}"#).status == 200)
                let refusals: [ClientOperation] = [
                    .text(room, "after", clientID: "second"), .barrage(BarrageRequest(room: room, text: "x")),
                    .queueSet(QueueSetRequest(room: room, key: "k", value: "v")),
                    .amend(AmendRequest(room: room, messageID: sent.messageID, set: MessageChanges(text: "y"))),
                    .upload(
                        UploadRequest(
                            room: room, draft: UploadDraft(kind: .image, name: "n", contentType: "image/png", size: 1))),
                ]
                for operation in refusals {
                    let refusal = try await ann.refusal(of: operation)
                    #expect(refusal.code == .muted && refusal.retryAfterMs ?? 0 > 500_000, "\(operation)")
                }
                #expect(try await ann.send(room, "before", clientID: "first") == sent)
                try await ann.done(.recall(RecallRequest(room: room, messageID: sent.messageID)))
                // A session that begins is muted, too.
                let other = try await TestClient.entered(node, "ann", room)
                #expect(try await other.refusal(of: .text(room, "z", clientID: "third")).code == .muted)
                #expect(try await node.api("GET", "/v1/users/ann").body.contains(#""muted":{"#))
                #expect(try await node.api("PUT", "/v1/users/ann/mute", #"{"seconds":0}"#).status == 200)
                try await other.send(room, "again")
            }
        }

        /// What keeps a user from speaking, in all rooms and in one: the call, its body, and the body that ends it.
        private static let silencing = [
            ("PUT /v1/users/ann/mute", #"{"seconds":600}"#, #"{"seconds":0}"#),
            ("PUT /v1/users/ann/ban", #"{"seconds":600}"#, #"{"seconds":0}"#),
            ("PUT /v1/rooms/r/members/ann/mute", #"{"enable":true}"#, #"{"enable":false}"#),
            ("PUT /v1/rooms/r/members/ann/tempMute", #"{"seconds":600}"#, #"{"seconds":0}"#),
            ("PUT /v1/rooms/r/members/ann/blacklist", #"{"enable":true}"#, #"{"enable":false}"#),
            ("POST /v1/rooms/r/members/ann/kick", #"{"banSeconds":600}"#, #"{"banSeconds":0}"#),
        ]

        @Test(arguments: silencing)
        func `a place for content that is older than what silences its user takes nothing`(
            _ call: String, _ begins: String, _ ends: String
        ) async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("r")
                let ann = try await TestClient.entered(node, "ann", room)
                let ticket = try await ann.upload(room, MediaTests.png)
                let parts = call.split(separator: " ").map(String.init)
                #expect(try await node.api(parts[0], parts[1], begins).status == 200)
                #expect(try await node.transfer("PUT", ticket.url, body: MediaTests.png).status == 403)
                #expect(try await node.api(parts[0], parts[1], ends).status == 200)
                #expect(try await node.transfer("PUT", ticket.url, body: MediaTests.png).status == 200)
            }
        }

        @Test func `the webhook is told of both, once each`() async throws {
            try await TestNode.run { node in
                let receiver = FakeReceiver()
                try await receiver.start()
                let url = await receiver.url
                let settings = #"{"url":"\#(url)","secret":"s","events":["sanction"]}"#
                #expect(try await node.api("PUT", "/v1/webhook", settings).status == 200)
                #expect(try await node.api("PUT", "/v1/users/ann/ban", #"{"reason":"spam"}"#).status == 200)
                #expect(try await node.api("PUT", "/v1/users/ann/ban", #"{"seconds":0}"#).status == 200)
                // Told behind both: by then each would have been told twice, if it were.
                #expect(try await node.api("PUT", "/v1/users/bob/mute", #"{"reason":"noise"}"#).status == 200)
                let items = try await receiver.wait("the mute") { calls -> [WebhookItem]? in
                    let items = try calls.flatMap { call in
                        try WireJSON.decode(WebhookBatch.self, from: call.body, limits: false).items
                    }
                    return items.contains { $0.sanction?.reason == "noise" } ? items : nil
                }
                #expect(items.map(\.event) == [.sanction, .sanction, .sanction])
                #expect(items.allSatisfy { $0.room == nil } && items.first?.sanction?.reason == "spam")
                #expect(items.map { $0.sanction?.isLifted } == [false, true, false])
                await receiver.stop()
            }
        }
    }
}
