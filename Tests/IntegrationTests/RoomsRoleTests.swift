import ChatModel
import Testing
import WaitTestKit
import Wire

extension IntegrationTests {
    /// Roles, mutes, kicks and the blacklist as clients use them (PROTOCOL.md, "Roles", "Mutes", "Kick and blacklist").
    @Suite struct RoomsRoleTests {
        private func flag(_ room: RoomID, _ name: String, _ enable: Bool) throws -> UserFlagRequest {
            UserFlagRequest(room: room, user: try user(name), enable: enable)
        }

        private func member(_ result: OperationResult) throws -> Member {
            switch result {
            case .setManager(let it), .setMember(let it), .setBlacklist(let it), .setMute(let it), .tempMute(let it),
                .updateMe(let it):
                return it.member
            default: throw TestFailure("no member: \(result)")
            }
        }

        /// The message that tells of an event about a user, once it has come.
        private func told(
            _ event: EventCode, of name: String, to client: TestClient, from start: Int = 0
        ) async throws -> Message {
            try await client.item("notification \(event.rawValue) of \(name)", from: start) { item -> Message? in
                guard case .push(.message(let message)) = item, let notification = message.notification,
                    notification.event == event, notification.targets.contains(where: { $0.user.text == name })
                else { return nil }
                return message
            }
        }

        @Test func `ranks decide who acts on whom, and each change is one event with its names`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("ranks", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let amy = try await TestClient.entered(node, "amy", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let set = try member(try await owner.done(.setManager(flag(room, "amy", true))))
                #expect(set.role == .manager && set.online && set.profile.nick == "nick of amy")
                #expect(set.enteredAt != nil, "the member is as listings show it")
                try await owner.done(.setManager(flag(room, "away", true)))

                for refused: ClientOperation in [
                    .setManager(try flag(room, "bob", true)), .setMute(try flag(room, "owner", true)),
                    .setMember(try flag(room, "amy", true)), .setMute(try flag(room, "away", true)),
                    .setMute(try flag(room, "amy", true)), .kick(KickRequest(room: room, user: try user("owner"))),
                    .setBlacklist(BlacklistRequest(room: room, user: try user("away"), enable: true)),
                    .tempMute(TempMuteRequest(room: room, user: try user("away"), seconds: 5)),
                ] {
                    #expect(try await amy.refusal(of: refused).code == .forbidden, "\(refused)")
                }
                for refused: ClientOperation in [
                    .setMember(try flag(room, "eve", true)), .setMute(try flag(room, "eve", true)),
                    .muteRoom(MuteRoomRequest(room: room, enable: true)),
                    .members(MembersRequest(room: room, kind: .muted)),
                    .members(MembersRequest(room: room, kind: .blacklisted)),
                ] {
                    #expect(try await bob.refusal(of: refused).code == .forbidden, "\(refused)")
                }

                try await amy.done(.setMember(flag(room, "bob", true)))
                try await amy.done(.setMember(flag(room, "bob", true)))
                try await amy.done(.setMute(flag(room, "bob", true)))
                let unmuted = try member(try await amy.done(.setMute(flag(room, "bob", false))))
                #expect(unmuted.role == .normal && !unmuted.muted)
                try await amy.done(.setMember(flag(room, "bob", false)))
                let restricted = try member(try await amy.done(.setMute(flag(room, "bob", true))))
                #expect(restricted.role == .restricted)
                let guest = try member(try await amy.done(.setMute(flag(room, "bob", false))))
                #expect(guest.role == .guest)
                let unset = try member(try await owner.done(.setManager(flag(room, "amy", false))))
                #expect(unset.role == .normal)

                let last = try await bob.event(.managerRemoved)
                #expect(last.notification?.operator == UserName(user: try user("owner"), nick: "nick of owner"))
                #expect(last.notification?.targets == [UserName(user: try user("amy"), nick: "nick of amy")])
                let events = await bob.notifications(of: room).map(\.event).filter { $0.isKept }
                #expect(
                    events == [
                        .managerSet, .managerSet, .madeFixedMember, .muted, .unmuted, .fixedMemberRemoved, .muted,
                        .unmuted, .managerRemoved,
                    ])
            }
        }

        @Test func `the muted listen, recall and update their own, and change nothing else`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("mutes", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let amy = try await TestClient.entered(node, "amy", room)
                try await owner.done(.setManager(flag(room, "amy", true)))
                let before = try await amy.send(room, "before")
                try await owner.done(.setMute(flag(room, "amy", true)))
                for refused: ClientOperation in [
                    .text(room, "x"), .barrage(BarrageRequest(room: room, text: "x")),
                    .queueSet(QueueSetRequest(room: room, key: "k", value: "v")),
                    .queueClear(RoomChangeRequest(room: room)),
                ] {
                    let error = try await amy.refusal(of: refused)
                    #expect(error.code == .muted && error.retryAfterMs == nil, "\(refused): \(error)")
                }
                try await amy.done(.recall(RecallRequest(room: room, messageID: before.messageID)))
                try await amy.done(.updateMe(UpdateMeRequest(room: room, set: ProfileChanges(nick: "Amy"))))
                try await owner.done(.setMute(flag(room, "amy", false)))
                try await owner.done(.muteRoom(MuteRoomRequest(room: room, enable: true)))
                try await amy.send(room, "managers send in a muted room")
                let bob = try await TestClient.entered(node, "bob", room)
                #expect(try await bob.refusal(of: .text(room, "x")).code == .roomMuted)
                #expect(try await bob.refusal(of: .barrage(BarrageRequest(room: room, text: "x"))).code == .roomMuted)
                try await bob.set(room, "the queue stays open")
                try await owner.done(.muteRoom(MuteRoomRequest(room: room, enable: false)))
                try await bob.send(room, "again")
                try await bob.event(.roomUnmuted)
            }
        }

        @Test func `a temporary mute ends on time, also over a restart`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("times", creator: "owner")
                var owner = try await TestClient.entered(node, "owner", room)
                var bob = try await TestClient.entered(node, "bob", room)
                for seconds in [-1, 30 * 86_400 + 1] as [Int64] {
                    let request = TempMuteRequest(room: room, user: try user("bob"), seconds: seconds)
                    #expect(try await owner.refusal(of: .tempMute(request)).code == .badParameter)
                }
                let long = TempMuteRequest(room: room, user: try user("bob"), seconds: 30 * 86_400)
                #expect(try member(try await owner.done(.tempMute(long))).tempMuteSeconds == 30 * 86_400)
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("bob"), seconds: 0)))
                let lifted = try await bob.event(.temporaryMuteLifted)
                #expect(lifted.notification?.operator?.user.text == "owner")

                // A fixed member with a nick of his own, which the end of his mute shows though he is away.
                try await owner.done(.setMember(flag(room, "eve", true)))
                let eve = try await TestClient.entered(node, "eve", room)
                let named = UpdateMeRequest(room: room, set: ProfileChanges(nick: "Eve"), save: true)
                try await eve.done(.updateMe(named))
                // Bob's lasts however long the restart takes; eve's may end before it, meanwhile or afterwards.
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("bob"), seconds: 600)))
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("eve"), seconds: 2)))
                let muted = try await told(.temporarilyMuted, of: "eve", to: owner)
                #expect(muted.notification?.data == .seconds(2))
                await node.kill()
                try await node.start()
                owner = try await TestClient.entered(node, "owner", room)
                bob = try await TestClient.entered(node, "bob", room)
                let refusal = try await bob.refusal(of: .text(room, "too early"))
                #expect(refusal.code == .muted && (1...600_000).contains(refusal.retryAfterMs ?? 0), "\(refusal)")
                var kept: Message?
                try await poll("the end of eve's mute") {
                    kept = try await owner.wholeHistory(room).first { message in
                        message.notification?.event == .temporaryMuteLifted
                            && message.notification?.targets.first?.user.text == "eve"
                    }
                    return kept != nil
                }
                let ended = try #require(kept)
                #expect(ended.notification?.operator == nil)
                #expect(ended.notification?.targets == [UserName(user: try user("eve"), nick: "Eve")])
                #expect(ended.time.milliseconds >= muted.time.milliseconds + 2000)
                #expect(try await owner.members(room, .muted).map(\.user.text) == ["bob"])

                // A shorter one takes the longer one's place.
                try await owner.done(.tempMute(TempMuteRequest(room: room, user: try user("bob"), seconds: 1)))
                let begun = try await told(.temporarilyMuted, of: "bob", to: owner)
                let over = try await told(.temporaryMuteLifted, of: "bob", to: bob)
                #expect(over.notification?.operator == nil)
                #expect(over.notification?.targets == [UserName(user: try user("bob"), nick: "nick of bob")])
                #expect(over.time.milliseconds >= begun.time.milliseconds + 1000)
                try await bob.send(room, "at last")
                #expect(try await owner.members(room, .muted).isEmpty)
            }
        }

        @Test func `a kick puts out, a ban keeps out for its time, the blacklist for good`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("kicks", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                let bob = try await TestClient.entered(node, "bob", room)
                #expect(
                    try await owner.refusal(of: .kick(KickRequest(room: room, user: user("eve")))).code == .notFound)
                var kick = KickRequest(room: room, user: try user("bob"))
                kick.options.notifyExt = "why"
                kick.clientID = "k1"
                // What comes right behind a kick is not proposed any more.
                try await owner.done(.kick(kick))
                #expect(try await bob.kicked(from: room).ext == "why")
                #expect(try await bob.refusal(of: .text(room, "x")).code == .notInRoom)
                try await owner.done(.kick(kick))
                try await bob.enter(room)
                // A ban that outlasts the questions about it, and one whose end can be waited for.
                let eve = try await TestClient.entered(node, "eve", room)
                try await owner.done(.kick(KickRequest(room: room, user: try user("eve"), banSeconds: 600)))
                try await eve.kicked(from: room)
                let banned = try await eve.refusal(of: .enter(EnterRequest(room: room)))
                #expect(banned.code == .blacklisted && (1...600_000).contains(banned.retryAfterMs ?? 0))
                kick.clientID = nil
                kick.banSeconds = 1
                let mark = await bob.items.count
                let ownerMark = await owner.items.count
                try await owner.done(.kick(kick))
                try await bob.kicked(from: room, from: mark)
                let begun = try await told(.kicked, of: "bob", to: owner, from: ownerMark)
                try await poll("the end of the ban") {
                    if case .success = try await bob.ask(.enter(EnterRequest(room: room))) { true } else { false }
                }
                #expect(try await bob.send(room, "back").time.milliseconds >= begun.time.milliseconds + 1000)

                let request = BlacklistRequest(room: room, user: try user("bob"), enable: true)
                let listed = try member(try await owner.done(.setBlacklist(request)))
                #expect(listed.blacklisted && !listed.online && listed.role == .restricted)
                let forbidden = try await bob.refusal(of: .enter(EnterRequest(room: room)))
                #expect(forbidden.code == .blacklisted && forbidden.retryAfterMs == nil)
                #expect(try await owner.members(room, .blacklisted).map(\.user.text) == ["bob"])
                await node.kill()
                try await node.start()
                let again = try await TestClient.connected(node, "bob")
                #expect(try await again.refusal(of: .enter(EnterRequest(room: room))).code == .blacklisted)
                let boss = try await TestClient.entered(node, "owner", room)
                try await boss.done(
                    .setBlacklist(BlacklistRequest(room: room, user: try user("bob"), enable: false)))
                try await again.enter(room)
                let kept = try await boss.wholeHistory(room).compactMap(\.notification?.event)
                #expect(kept == [.kicked, .kicked, .kicked, .blacklisted, .unblacklisted])
            }
        }

        @Test func `slow mode holds users and not managers, and a repeat costs nothing`() async throws {
            try await TestNode.run { node in
                // What is refused, where nothing ends meanwhile.
                let room = try await node.createRoom("slow", creator: "owner", fields: #","slowModeSeconds":600"#)
                let owner = try await TestClient.entered(node, "owner", room)
                let bob = try await TestClient.entered(node, "bob", room)
                let first = try await bob.send(room, "1", clientID: "c1")
                let wait = try await bob.refusal(of: .text(room, "2", clientID: "c2"))
                #expect(wait.code == .tooOften && (1...600_000).contains(wait.retryAfterMs ?? 0))
                #expect(try await bob.send(room, "1", clientID: "c1") == first)
                try await owner.send(room, "a")
                try await owner.send(room, "b")

                // Where the wait is short, it is kept, and then over.
                let brief = try await node.createRoom("brief", creator: "owner", fields: #","slowModeSeconds":2"#)
                try await bob.enter(brief)
                let before = try await bob.send(brief, "1")
                var sent: SendResult?
                try await poll("the end of slow mode") {
                    guard case .success(.send(let result)) = try await bob.ask(.text(brief, "2", clientID: "c3")) else {
                        return false
                    }
                    sent = result
                    return true
                }
                #expect(try #require(sent).time.milliseconds >= before.time.milliseconds + 2000)
            }
        }

        @Test func `listings go through pages and know who is here`() async throws {
            try await TestNode.run { node in
                let room = try await node.createRoom("lists", creator: "owner")
                let owner = try await TestClient.entered(node, "owner", room)
                for name in ["a", "b", "c"] { try await owner.done(.setMember(flag(room, name, true))) }
                let a = try await TestClient.entered(node, "a", room)
                for name in ["g1", "g2", "g3"] { _ = try await TestClient.entered(node, name, room) }
                func page(_ kind: MemberKind, after: String? = nil, limit: Int64 = 2) async throws -> MembersResult {
                    var request = MembersRequest(room: room, kind: kind)
                    request.after = after
                    request.limit = limit
                    guard case .members(let result) = try await a.done(.members(request)) else {
                        throw TestFailure("no members")
                    }
                    return result
                }
                func all(_ kind: MemberKind) async throws -> [String] {
                    var names: [String] = []
                    var after: String?
                    repeat {
                        let next = try await page(kind, after: after)
                        names += next.members.map(\.user.text)
                        after = next.next
                    } while after != nil
                    return names
                }
                #expect(try await all(.fixed) == ["owner", "a", "b", "c"])
                #expect(try await all(.fixedOnline) == ["owner", "a"])
                #expect(try await all(.temporary) == ["g3", "g2", "g1"])
                #expect(try await all(.temporaryReversed) == ["g1", "g2", "g3"])
                #expect(try await all(.managers) == ["owner"])
                for limit in [Int64(0), 101] {
                    var request = MembersRequest(room: room, kind: .fixed)
                    request.limit = limit
                    #expect(try await a.refusal(of: .members(request)).code == .badParameter)
                }
                var bad = MembersRequest(room: room, kind: .fixed)
                bad.after = "not a cursor"
                #expect(try await a.refusal(of: .members(bad)).code == .badParameter)
                let users = try (0..<20).map { try user("u\($0)") }
                let request = MembersByIDRequest(room: room, users: users + [try user("g1")])
                #expect(try await a.refusal(of: .membersById(request)).code == .badParameter)
                let some = MembersByIDRequest(room: room, users: try ["g1", "nobody", "b"].map { try user($0) })
                guard case .membersById(let found) = try await a.done(.membersById(some)) else {
                    throw TestFailure("no members")
                }
                #expect(found.members.map(\.user.text) == ["g1", "b"] && found.members.map(\.online) == [true, false])
            }
        }
    }
}
