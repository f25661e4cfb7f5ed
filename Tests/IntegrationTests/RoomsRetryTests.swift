import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// A repeated `clientId` changes nothing and gets the first result (PROTOCOL.md, "Retry").
    @Suite struct RoomsRetryTests {
        /// One of every durable operation, each with a `clientId` of its own.
        private func operations(_ room: RoomID, recalling messageID: String) throws -> [ClientOperation] {
            var changes = RoomChanges()
            changes.name = "Name"
            var updateMe = UpdateMeRequest(room: room, set: ProfileChanges(nick: "Boss"))
            updateMe.clientID = "updateMe"
            var tempMute = TempMuteRequest(room: room, user: try user("tom"), seconds: 600)
            tempMute.clientID = "tempMute"
            var kick = KickRequest(room: room, user: try user("kim"))
            kick.clientID = "kick"
            var blacklist = BlacklistRequest(room: room, user: try user("bad"), enable: true, recall: true)
            blacklist.clientID = "setBlacklist"
            func flag(_ name: String, _ id: String) throws -> UserFlagRequest {
                var request = UserFlagRequest(room: room, user: try user(name), enable: true)
                request.clientID = id
                return request
            }
            var set = QueueSetRequest(room: room, key: "new", value: "v")
            (set.clientID, set.ifVersion) = ("queueSet", 0)
            var unkept = MessageDraft(body: .command(payload: [1]))
            unkept.ext = "signal"
            return [
                .text(room, "hello", clientID: "send"),
                .send(SendRequest(room: room, clientID: "unkept", draft: unkept)),
                .send(
                    SendRequest(
                        room: room, clientID: "combine",
                        draft: MessageDraft(body: .combine(title: "t", summary: "s", messageIDs: [messageID])))),
                .recall(RecallRequest(room: room, messageID: messageID, clientID: "recall")),
                .updateRoom(UpdateRoomRequest(room: room, set: changes, clientID: "updateRoom")),
                .updateMe(updateMe), .setManager(try flag("max", "setManager")),
                .setMember(try flag("may", "setMember")), .setMute(try flag("mia", "setMute")),
                .setBlacklist(blacklist), .tempMute(tempMute), .kick(kick),
                .muteRoom(MuteRoomRequest(room: room, enable: true, clientID: "muteRoom")), .queueSet(set),
                .queueSetMany(
                    QueueSetManyRequest(
                        room: room, values: [QueuePair(key: "s1", value: "x"), QueuePair(key: "none", value: "x")],
                        clientID: "queueSetMany")),
                .queueTake(QueueTakeRequest(room: room, clientID: "queueTake")),
                .queueClear(RoomChangeRequest(room: room, clientID: "queueClear")),
            ]
        }

        @Test func `every durable operation is done once, over reconnect and restart`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("once", creator: "owner")
                var owner = try await TestClient.entered(node, "owner", room)
                _ = try await TestClient.entered(node, "kim", room)
                let bad = try await TestClient.entered(node, "bad", room)
                try await bad.send(room, "bad")
                for key in ["s1", "s2", "s3"] { try await owner.set(room, key) }
                let first = try await owner.send(room, "to recall").messageID
                let all = try operations(room, recalling: first)
                var results: [OperationResult] = []
                for operation in all { results.append(try await owner.done(operation)) }
                let seq = try #require(try await owner.newest(room)?.seq)
                let kept = try await owner.wholeHistory(room)

                for restarts in [false, true] {
                    if restarts {
                        await node.kill()
                        try await node.start()
                    } else {
                        try await owner.drop()
                    }
                    owner = try await TestClient.connected(node, "owner")
                    _ = try await owner.enter(EnterRequest(room: room, nick: "Boss"))
                    for (operation, result) in zip(all, results) {
                        let again = try await owner.done(operation)
                        #expect(Self.lasting(again) == Self.lasting(result), "restarted: \(restarts), \(operation)")
                    }
                    #expect(try await owner.newest(room)?.seq == seq, "nothing was told again")
                    #expect(try await owner.wholeHistory(room) == kept)
                    #expect(try await owner.queue(room).isEmpty)
                }
            }
        }

        /// Without what is soft: who is here, since when, and how long a mute still lasts.
        private static func lasting(_ result: OperationResult) -> OperationResult {
            func lasting(_ result: MemberResult) -> MemberResult {
                var result = result
                (result.member.online, result.member.enteredAt) = (false, nil)
                result.member.profile = Profile()
                result.member.tempMuteSeconds = 0
                return result
            }
            switch result {
            case .setManager(let it): return .setManager(lasting(it))
            case .setMember(let it): return .setMember(lasting(it))
            case .setBlacklist(let it): return .setBlacklist(lasting(it))
            case .setMute(let it): return .setMute(lasting(it))
            case .tempMute(let it): return .tempMute(lasting(it))
            case .updateMe(let it): return .updateMe(lasting(it))
            case .updateRoom(let it):
                var it = it
                it.room.online = 0
                return .updateRoom(it)
            default: return result
            }
        }

        @Test func `a refused try does not use its clientId up, and another kind of operation may not take it`()
            async throws
        {
            try await TestNode.run { node in
                let room = try await node.createRoom("refused", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let take = ClientOperation.queueTake(QueueTakeRequest(room: room, clientID: "t"))
                #expect(try await owner.refusal(of: take).code == .notFound)
                for key in ["a", "b"] { try await owner.set(room, key) }
                for _ in 1...3 {
                    guard case .queueTake(let taken) = try await owner.done(take) else { throw TestFailure("nothing") }
                    #expect(taken.element.key == "a")
                }
                #expect(try await owner.queue(room).map(\.key) == ["b"])
                #expect(
                    try await owner.refusal(
                        of: .queueClear(RoomChangeRequest(room: room, clientID: "t"))
                    ).code == .conflict)
                #expect(try await owner.queue(room).count == 1)
            }
        }
    }
}
