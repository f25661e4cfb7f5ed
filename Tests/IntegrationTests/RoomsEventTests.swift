import ChatModel
import Testing
import Wire

extension IntegrationTests {
    /// Each notification of PROTOCOL.md, "Notifications", as it comes over the socket.
    @Suite struct RoomsEventTests {
        /// The JSON object of a pushed notification.
        private func told(_ notification: Notification) -> String {
            var message = Message(
                room: nil, place: .outside, messageID: "", time: Timestamp(0), from: nil,
                body: .notification(notification))
            message.room = nil
            var json: [UInt8] = []
            Push.message(message).appendJSON(to: &json)
            return String(decoding: json, as: UTF8.self)
        }

        @Test func `each event has its data, operator, targets and notifyExt`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("events", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let eve = try await TestClient.connected(node, "eve")
                let options = NotifyOptions(notifyExt: "why")
                let boss = UserName(user: try user("owner"), nick: "nick of owner")
                let target = UserName(user: try user("eve"), nick: "Eve")

                /// Performs, and gives what is told of it.
                func expect(
                    _ event: EventCode, by name: UserName?, on targets: [UserName], _ data: NotificationData,
                    ext: String? = "why", _ operation: ClientOperation
                ) async throws {
                    let mark = await owner.items.count
                    try await owner.done(operation)
                    let message = try await owner.event(event, from: mark)
                    var wanted = Notification(event)
                    (wanted.operator, wanted.targets, wanted.notifyExt, wanted.data) = (name, targets, ext, data)
                    #expect(message.notification == wanted, "\(told(wanted))")
                    #expect(message.seq != nil && message.from == nil)
                }
                func flag(_ enable: Bool) throws -> UserFlagRequest {
                    UserFlagRequest(room: room, user: try user("eve"), enable: enable, options: options)
                }

                let entry = EnterRequest(
                    room: room, nick: "Eve", avatar: "https://e/a", ext: "x", notifyExt: "hello")
                _ = try await eve.enter(entry)
                let entered = try await owner.notification(.enter, of: "eve")
                #expect(entered.operator == target && entered.targets == [target] && entered.notifyExt == "hello")
                #expect(entered.data == .entered(avatar: "https://e/a", ext: "x", role: .guest, online: 2))

                try await expect(.managerSet, by: boss, on: [target], .none, .setManager(try flag(true)))
                try await expect(.managerRemoved, by: boss, on: [target], .none, .setManager(try flag(false)))
                try await expect(.fixedMemberRemoved, by: boss, on: [target], .none, .setMember(try flag(false)))
                try await expect(.madeFixedMember, by: boss, on: [target], .none, .setMember(try flag(true)))
                try await expect(.muted, by: boss, on: [target], .none, .setMute(try flag(true)))
                try await expect(.unmuted, by: boss, on: [target], .none, .setMute(try flag(false)))
                var tempMute = TempMuteRequest(room: room, user: try user("eve"), seconds: 60)
                tempMute.options = options
                try await expect(.temporarilyMuted, by: boss, on: [target], .seconds(60), .tempMute(tempMute))
                tempMute.seconds = 0
                try await expect(.temporaryMuteLifted, by: boss, on: [target], .none, .tempMute(tempMute))
                var changes = RoomChanges()
                (changes.name, changes.slowModeSeconds) = ("Name", 0)
                try await expect(
                    .roomInfoUpdated, by: boss, on: [], .room(set: changes),
                    .updateRoom(UpdateRoomRequest(room: room, set: changes, options: options)))
                try await expect(
                    .roomMuted, by: boss, on: [], .none,
                    .muteRoom(MuteRoomRequest(room: room, enable: true, options: options)))
                try await expect(
                    .roomUnmuted, by: boss, on: [], .none,
                    .muteRoom(MuteRoomRequest(room: room, enable: false, options: options)))

                var element = QueueElement(key: "k", value: "v", owner: boss.user)
                var set = QueueSetRequest(room: room, key: "k", value: "v")
                set.options = options
                try await expect(
                    .queueChanged, by: boss, on: [], .queue(change: .offer, element: element), .queueSet(set))
                element.version = 2
                try await expect(
                    .queueChanged, by: boss, on: [], .queue(change: .update, element: element), .queueSet(set))
                element.version = 3
                try await expect(
                    .queueBatchChanged, by: boss, on: [], .queueBatch(change: .batchUpdate, elements: [element]),
                    .queueSetMany(
                        QueueSetManyRequest(room: room, values: [QueuePair(key: "k", value: "v")], options: options)))
                try await expect(
                    .queueChanged, by: boss, on: [], .queue(change: .poll, element: element),
                    .queueTake(QueueTakeRequest(room: room, options: options)))
                try await owner.set(room, "k")
                try await expect(
                    .queueChanged, by: boss, on: [], .queue(change: .drop, element: nil),
                    .queueClear(RoomChangeRequest(room: room, options: options)))
                let profile = ProfileChanges(nick: "Boss")
                let renamed = UserName(user: boss.user, nick: "Boss")
                try await expect(
                    .memberUpdatedInfo, by: renamed, on: [renamed], .member(set: profile),
                    .updateMe(UpdateMeRequest(room: room, set: profile, options: options)))

                var kick = KickRequest(room: room, user: try user("eve"))
                kick.options = options
                try await expect(.kicked, by: renamed, on: [target], .none, .kick(kick))
                _ = try await eve.enter(entry)
                var blacklist = BlacklistRequest(room: room, user: try user("eve"), enable: true)
                blacklist.options = options
                try await expect(.blacklisted, by: renamed, on: [target], .none, .setBlacklist(blacklist))
                blacklist.enable = false
                let away = UserName(user: target.user, nick: "")
                try await expect(.unblacklisted, by: renamed, on: [away], .none, .setBlacklist(blacklist))
                _ = try await eve.enter(entry)
                let mark = await owner.items.count
                try await eve.done(.exit(RoomNameRequest(room: room)))
                let left = try await owner.event(.exit, from: mark)
                #expect(left.notification?.data == .exited(online: 1) && left.notification?.operator == target)
                #expect(left.seq == nil)
                let events = await owner.notifications(of: room).map(\.event)
                #expect(events.count { $0 == .exit } == 1, "no 302 besides a kick: \(events)")
            }
        }

        @Test func `notify false tells nobody and still works`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("quiet", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let quiet = NotifyOptions(notify: false)
                var changes = RoomChanges()
                changes.name = "Quiet"
                try await owner.done(.updateRoom(UpdateRoomRequest(room: room, set: changes, options: quiet)))
                try await owner.done(
                    .updateMe(UpdateMeRequest(room: room, set: ProfileChanges(nick: "Q"), options: quiet)))
                var set = QueueSetRequest(room: room, key: "k", value: "v")
                set.options = quiet
                try await owner.done(.queueSet(set))
                try await owner.done(.queueTake(QueueTakeRequest(room: room, options: quiet)))
                let sent = try await owner.send(room, "loud")
                #expect(sent.place == .kept(seq: 1))
                #expect(try await owner.message("loud").from?.profile.nick == "Q")
                #expect(try await owner.enter(room).room.info.name == "Quiet")
            }
        }

        @Test(arguments: [EnterExitNotify.all, .fixedOnly, .none])
        func `enters and exits are told as the room wants`(_ level: EnterExitNotify) async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom(
                    "doors", creator: "owner", fields: #","enterExitNotify":"\#(level.rawValue)""#)
                let owner = try await TestClient.entered(node, "owner", room)
                try await owner.done(.setMember(UserFlagRequest(room: room, user: user("fixed"), enable: true)))
                for name in ["guest", "fixed"] {
                    let client = try await TestClient.entered(node, name, room)
                    try await client.done(.exit(RoomNameRequest(room: room)))
                }
                try await owner.send(room, "end")
                try await owner.message("end")
                let told = await owner.notifications(of: room).filter { [.enter, .exit].contains($0.event) }.flatMap {
                    $0.targets.map(\.user.text)
                }.filter { $0 != "owner" }
                switch level {
                case .all: #expect(told == ["guest", "guest", "fixed", "fixed"])
                case .fixedOnly: #expect(told == ["fixed", "fixed"])
                case .none: #expect(told.isEmpty)
                }
            }
        }

        @Test func `above the bound guests come and go in digests, and fixed members by name`() async throws {
            try await TestNode.run(["rooms": ["digestAboveOnline": 2]]) { node in
                let room = try await node.createRoom("crowd", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                _ = try await TestClient.entered(node, "early", room)
                let mark = await owner.items.count
                for number in 1...7 {
                    let client = try await TestClient.connected(node, "guest\(number)")
                    _ = try await client.enter(
                        EnterRequest(room: room, nick: "g\(number)", notifyExt: number == 7 ? "me first" : nil))
                }
                var entered: Int64 = 0
                var index = mark
                while entered < 7 {
                    let message = try await owner.event(.digest, from: index)
                    guard case .digest(let came, _, _, let members)? = message.notification?.data else {
                        throw TestFailure("\(message)")
                    }
                    entered += came
                    #expect(members.count <= 5 && message.seq == nil)
                    if members.contains(where: { $0.user.text == "guest7" }) {
                        #expect(members.first?.notifyExt == "me first")
                    }
                    index =
                        await owner.items.firstIndex {
                            if case .push(.message(message)) = $0 { true } else { false }
                        }.map { $0 + 1 } ?? index
                }
                #expect(entered == 7)
            }
        }
    }
}
