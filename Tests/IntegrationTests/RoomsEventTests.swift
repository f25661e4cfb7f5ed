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
    }
}
