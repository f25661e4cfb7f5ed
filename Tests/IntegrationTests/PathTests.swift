import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// The whole path of a message, from the server API to people in a room.
    @Suite struct PathTests {
        @Test(arguments: ClientEncoding.allCases)
        func `people chat in a room that the server made`(_ encoding: ClientEncoding) async throws {
            try await TestNode.run(encoding: encoding) { node in
                let room = try await node.createRoom("lobby", creator: "ann", fields: #","name":"Lobby""#)
                #expect(try await node.api("POST", "/v1/rooms", #"{"id":"lobby","creator":"ann"}"#).status == 409)
                let ann = try await TestClient.open(port: node.clientPort)
                let connected = try await ann.connect(token: try await issuedToken(node, "ann"))
                #expect(connected.user.text == "ann" && !connected.anonymous && !connected.resumed)
                #expect(connected.heartbeatSeconds == 15)
                let entered = try await ann.enter(room)
                #expect(entered.room.info.name == "Lobby" && entered.me.role == .creator && entered.me.online)
                #expect(entered.seq == 0 && entered.recovered == nil)

                let bob = try await TestClient.connected(node, "bob")
                let others = try await bob.enter(EnterRequest(room: room, nick: "Bob", notifyExt: "hello"))
                #expect(others.room.online == 2 && others.me.role == .guest && others.epoch == entered.epoch)
                let entering = try await ann.notification(.enter, of: "bob")
                #expect(entering.notifyExt == "hello")
                #expect(entering.data == .entered(avatar: "", ext: "", role: .guest, online: 2))

                try await chat(room, ann, bob)
                try await look(room, node, ann)
                try await leave(room, ann, bob)
            }
        }

        private func issuedToken(_ node: TestNode, _ user: String) async throws -> String {
            let answer = try await node.api("POST", "/v1/users/\(user)/token", "{}")
            guard let token = try answer.fields()["token"] as? String else { throw TestFailure("no token: \(answer)") }
            return token
        }

        private func chat(_ room: RoomID, _ ann: TestClient, _ bob: TestClient) async throws {
            let sent = (1...20).map { "message \($0)" }
            var acks: [SendResult] = []
            for text in sent { acks.append(try await ann.send(room, text)) }
            #expect(acks.map(\.place) == (1...20).map { .kept(seq: UInt64($0)) })
            try await ann.message("message 20")
            let last = try await bob.message("message 20")
            #expect(await bob.texts(of: room) == sent)
            #expect(await bob.messages(of: room).compactMap(\.seq) == Array(1...20))
            #expect(await ann.texts(of: room) == sent)
            #expect(last.messageID == acks.last?.messageID && last.time == acks.last?.time)
            #expect(last.from?.user.text == "ann" && last.from?.role == .creator)
            for ack in acks { try await expectAckBeforePush(ack.messageID, ann) }
        }

        private func expectAckBeforePush(_ messageID: String, _ client: TestClient) async throws {
            let items = await client.items
            let ack = items.firstIndex {
                if case .reply(_, .success(.send(let result))) = $0 { result.messageID == messageID } else { false }
            }
            let push = items.firstIndex {
                if case .push(.message(let message)) = $0 { message.messageID == messageID } else { false }
            }
            #expect(try #require(ack) < #require(push), "the sender gets its own push after its ack")
        }

        private func look(_ room: RoomID, _ node: TestNode, _ ann: TestClient) async throws {
            let page = try await ann.history(room)
            #expect(page.messages.compactMap(\.text) == (1...20).reversed().map { "message \($0)" })
            #expect(page.more == false)
            #expect(try await ann.wholeHistory(room).compactMap(\.seq) == Array(1...20))
            guard case .room(let view) = try await ann.ask(.room(RoomNameRequest(room: room))).get() else {
                throw TestFailure("no room")
            }
            #expect(view.seq == 20 && view.room.online == 2)
            #expect(try await ann.members(room, .fixedOnline).map(\.user.text) == ["ann"])
            #expect(try await ann.members(room, .temporary).map(\.user.text) == ["bob"])
            guard case .ping(let ping) = try await ann.ask(.ping).get() else { throw TestFailure("no ping") }
            #expect(ping.time >= page.messages[0].time)
            let refreshed = try await ann.ask(.refresh(RefreshRequest(token: try node.token("ann")))).get()
            guard case .refresh(let result) = refreshed else { throw TestFailure("no refresh") }
            #expect(result.expiresAt > ping.time)
            let foreign = try await ann.refusal(of: .refresh(RefreshRequest(token: try node.token("bob"))))
            #expect(foreign.code == .unauthorized)
        }

        private func leave(_ room: RoomID, _ ann: TestClient, _ bob: TestClient) async throws {
            guard case .barrage = try await bob.ask(.barrage(BarrageRequest(room: room, text: "wow"))).get() else {
                throw TestFailure("no barrage")
            }
            let shown = try await ann.item("barrage") { item -> BarragePush? in
                if case .push(.barrage(let push)) = item { push } else { nil }
            }
            #expect(shown.items.map(\.text) == ["wow"] && shown.items.first?.from?.profile.nick == "Bob")

            guard case .exit = try await bob.ask(.exit(RoomNameRequest(room: room))).get() else {
                throw TestFailure("no exit")
            }
            #expect(try await ann.notification(.exit, of: "bob").data == .exited(online: 1))
            let mark = await bob.items.count
            #expect(try await bob.refusal(of: .text(room, "too late")).code == .notInRoom)
            try await ann.send(room, "alone")
            try await ann.message("alone")
            // Whatever would wrongly come to bob would come before this answer, over the same lane or a later turn.
            _ = try await bob.ask(.ping)
            #expect(await bob.items.dropFirst(mark).allSatisfy { if case .push = $0 { false } else { true } })
        }

        @Test func `a stopped node tells its clients to come back, and keeps everything`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("calm")
                let ann = try await TestClient.connected(node, "ann")
                try await ann.enter(room)
                try await ann.send(room, "before")
                let end = try #require(try await node.stop())
                #expect(end.status == 0, "\(end.errors)")
                #expect(try await ann.closing() == 1001)
                let pushes = await ann.items.filter { if case .push(.reconnect) = $0 { true } else { false } }
                #expect(pushes.count == 1)
                try await node.start()
                let again = try await TestClient.connected(node, "ann")
                try await again.enter(room)
                #expect(try await again.wholeHistory(room).compactMap(\.text) == ["before"])
            }
        }
    }
}
