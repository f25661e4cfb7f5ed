import ChatModel
import History
import RoomCore
import RoomProtocol
import StorageTestKit
import Synchronization
import Testing
import Wire

@testable import Rooms

/// Rooms on a log and a storage of their own: what they owe after a restart, without a leader, and to the server API.
struct HostedRoomTests {
    private static func name(_ number: Int) throws -> RoomID { try #require(RoomID("room\(number)")) }

    /// Rooms with a message each, of which only the log will know.
    private static func fill(_ hosted: HostedRooms, rooms count: Int) async throws {
        let rooms = try (0..<count).map(name)
        try await hosted.createRoom()
        for body in [
            CommandBody.createRoom(creator: try user("owner"), set: RoomChanges()),
            .post(MessageDraft(body: .text("hello"))),
        ] {
            try await withThrowingTaskGroup(of: Void.self) { group in
                for room in rooms {
                    group.addTask { _ = try await hosted.calls.perform(body, in: room, as: .system, id: nil) }
                }
                try await group.waitForAll()
            }
        }
        _ = try await hosted.calls.perform(
            .post(MessageDraft(body: .text("last"))), in: HostedRooms.room, as: .system, id: nil)
    }

    @Test func `no room answers after a restart until what was acked has been applied`() async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory) { try await Self.fill($0, rooms: 200) }
        var options = HostedRooms.Options()
        options.storage = "second"
        // The room is loaded first, and its message is the log's last entry.
        try await HostedRooms.run(directory, create: false, options) { hosted in
            let queue = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.queue(of: HostedRooms.room, after: nil, limit: 1)
            }
            #expect(queue.seq == 1)
        }
    }

    @Test func `rooms that storage refused to read at once are applied after a restart all the same`() async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory) { try await Self.fill($0, rooms: 20) }
        var options = HostedRooms.Options()
        options.storage = "second"
        options.waitingLoadsMax = 3
        try await HostedRooms.run(directory, create: false, options) { hosted in
            let last = try Self.name(19)
            let queue = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.queue(of: last, after: nil, limit: 1)
            }
            #expect(queue.seq == 1)
            #expect(await hosted.rooms.unreadiness() == nil)
        }
    }

    @Test func `who is here when a shard gets a leader is here, however many rooms are to be loaded`() async throws {
        let directory = try TemporaryDirectory()
        try await HostedRooms.run(directory) { try await Self.fill($0, rooms: 8) }
        var options = HostedRooms.Options()
        options.waitingLoadsMax = 3
        try await HostedRooms.run(directory, create: false, options) { hosted in
            // The room from which the last entry is: whatever was committed has been applied.
            _ = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.view(of: HostedRooms.room)
            }
            let rooms = try (0..<8).map(Self.name)
            // A gateway says of all rooms at once who is there.
            hosted.rooms.receive(
                try rooms.flatMap { room in
                    let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(.max))
                    return [
                        try hosted.call("ann", of: room, .announce(stay)),
                        try hosted.call("ann", of: room, .follow(StreamPlace(epoch: "", seq: .max))),
                    ]
                })
            for room in rooms {
                let view = try await hosted.served { () async throws(ChatError) in try await hosted.calls.view(of: room)
                }
                #expect(view.online == 1)
            }
        }
    }

    @Test func `whoever enters by a node that has gone meanwhile is not here until it is back`() async throws {
        let gone = try #require(NodeID("n2"))
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            let request = EnterRequest(room: HostedRooms.room)
            let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(.max))
            hosted.rooms.onNodeLost(gone)
            hosted.rooms.receive([
                try hosted.call("ann", from: gone, .operation(.enter(request))),
                try hosted.call("bob", from: gone, .announce(stay)),
            ])
            try await hosted.ask(hosted.enter("owner"))
            #expect(try await hosted.calls.view(of: HostedRooms.room).online == 1)
            hosted.rooms.reached(gone)
            try await hosted.ask(hosted.call("ann", from: gone, .operation(.enter(request))))
            #expect(try await hosted.calls.view(of: HostedRooms.room).online == 2)
        }
    }

    @Test func `times of messages do not go back with a clock that does, over a restart neither`() async throws {
        let directory = try TemporaryDirectory()
        let posted = try await HostedRooms.run(directory) { hosted in
            try await Self.fill(hosted, rooms: 1)
            return try await hosted.history().last?.time
        }
        let before = try #require(posted)
        var options = HostedRooms.Options()
        options.now = { HostedRooms.now().adding(seconds: -300) }
        try await HostedRooms.run(directory, create: false, options) { hosted in
            let text = CommandBody.post(MessageDraft(body: .text("behind")))
            _ = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.perform(text, in: HostedRooms.room, as: .system, id: nil)
            }
            let last = try #require(try await hosted.history().last)
            #expect(last.body == .text("behind") && last.time >= before)
        }
    }

    @Test func `history has what was acked a moment ago`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            for number in 0..<90 {
                _ = try await hosted.calls.perform(
                    .post(MessageDraft(body: .text("\(number)"))), in: HostedRooms.room, as: .system, id: nil)
                #expect(try await hosted.history().last?.body == .text("\(number)"))
            }
        }
    }

    @Test func `who leaves while the log takes nothing is not here when it does again`() async throws {
        var options = HostedRooms.Options()
        let disk = FaultDisk()
        options.disk = disk
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"), hosted.enter("bob"))
            disk.isFull = true
            guard case .failure(let error) = try await hosted.ask(hosted.send("bob", "lost"))[0] else {
                Issue.record("the log took a message without a disk")
                return
            }
            #expect(error.code == .unavailable)
            hosted.rooms.receive([try hosted.call("ann", .leave)])
            disk.isFull = false
            // Whoever leads next is told who is here, as a gateway does.
            await hosted.told.led(times: 2)
            let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(.max))
            hosted.rooms.receive([
                try hosted.call("bob", .announce(stay)),
                try hosted.call("bob", .follow(StreamPlace(epoch: "", seq: .max))),
            ])
            let view = try await hosted.served { () async throws(ChatError) in
                try await hosted.calls.view(of: HostedRooms.room)
            }
            #expect(view.online == 1)
        }
    }

    @Test func `who comes back within the last 256 messages is answered from memory, in any number`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            guard case .success(.enter(let entered)) = try await hosted.ask(hosted.enter("ann"))[0] else {
                Issue.record("not answered")
                return
            }
            let last: UInt64 = 300
            for number in 1...last { try await hosted.ask(hosted.send("ann", "hello \(number)")) }

            func comeBack(_ name: String, since: UInt64) throws -> RoomRequest {
                let request = EnterRequest(room: HostedRooms.room, since: since, epoch: entered.epoch)
                return try hosted.call(name, .operation(.enter(request)))
            }
            // As many as one turn takes, however slow it is. Of more, some might come after the others have been
            // answered, and the lane would be told anew.
            let storm = try (0..<WaitingCalls.callsAtATime).map { try comeBack("u\($0)", since: last - 256) }
            hosted.rooms.receive(storm)
            for case let request? in storm.map(\.number) {
                guard case .success(.enter(let result)) = await hosted.told.answer(to: request) else {
                    Issue.record("not answered")
                    return
                }
                #expect(result.recovered == true && result.missedMore == true)
                #expect(result.missed?.compactMap(\.seq) == Array(last - 255...last - 156))
            }
            #expect(hosted.storage.historyReadCount == 0)
            // However many turns it took to answer them all.
            #expect(hosted.told.missedCount == 1)
            guard case .success(.enter(let older)) = try await hosted.ask(comeBack("old", since: last - 257))[0] else {
                Issue.record("not answered")
                return
            }
            #expect(older.recovered == true && older.missed?.first?.seq == last - 256)
            #expect(hosted.storage.historyReadCount == 1)
        }
    }

    @Test func `recovery is refused where it can't be promised`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            guard case .enter(let first) = try await hosted.ask(hosted.enter("ann"))[0].get() else {
                throw ChatError(.internal, "not entered")
            }
            try await hosted.ask(hosted.send("ann", "one"))
            func comeBack(since: UInt64, epoch: String) async throws -> EnterResult? {
                let request = EnterRequest(room: HostedRooms.room, since: since, epoch: epoch)
                let answers = try await hosted.ask(hosted.call("ann", .operation(.enter(request))))
                guard case .success(.enter(let result)) = answers[0] else { return nil }
                return result
            }
            #expect(try await comeBack(since: 0, epoch: "another")?.recovered == false)
            #expect(try await comeBack(since: 2, epoch: first.epoch)?.recovered == false)
            #expect(try await comeBack(since: .max, epoch: first.epoch)?.recovered == false)
            let nothing = try #require(try await comeBack(since: 1, epoch: first.epoch))
            #expect(nothing.recovered == true && (nothing.missed ?? []).isEmpty)
            let whole = try #require(try await comeBack(since: 0, epoch: first.epoch))
            #expect(whole.recovered == true && whole.missed?.compactMap(\.seq) == [1])
        }
    }

    @Test func `a message for some is refused where its frame would be longer than clients need take`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            let escaped = { (count: Int) in String(repeating: "\u{1}", count: count) }
            let profile = Profile(
                nick: escaped(Limits.nickBytes), avatar: escaped(Limits.urlBytes), ext: escaped(Limits.extBytes))
            try await hosted.ask(hosted.enter("ann", token: profile))
            let long = { (character: String) in String(repeating: character, count: Limits.textBytes) }
            let names = try (0..<50).map { try user(String(repeating: "u", count: 60) + "\(100 + $0)") }
            func sent(_ text: String, to: [UserID], replyTo: String? = nil) async throws -> ChatError? {
                var draft = MessageDraft(body: .text(text))
                (draft.to, draft.mentions, draft.replyTo) = (to, names, replyTo)
                draft.ext = escaped(Limits.extBytes)
                let request = SendRequest(
                    room: HostedRooms.room, clientID: "\(text.utf8.first ?? 0)-\(to.count)", draft: draft)
                let call = try hosted.call("ann", token: profile, .operation(.send(request)))
                let result = try await hosted.ask(call)[0]
                if case .failure(let error) = result { return error }
                return nil
            }
            let refused = try await sent(long("\u{1}"), to: names, replyTo: "1-1")
            #expect(refused?.code == .tooLarge && refused?.field == "to")
            // The longest that others may be fit.
            for (text, to) in [(long("\u{1}"), []), (long("a"), names), (long("\""), names)] {
                #expect(try await sent(text, to: to) == nil)
            }
        }
    }

    @Test func `members by ID come in the order of the question, and say who is here`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("guest"))
            let flag = UserFlagRequest(room: HostedRooms.room, user: try user("fixed"), enable: true)
            try await hosted.ask(hosted.call("owner", .operation(.setMember(flag))))
            let names = try ["guest", "nobody", "fixed"].map { try user($0) }
            let request = MembersByIDRequest(room: HostedRooms.room, users: names)
            guard
                case .success(.membersById(let found)) = try await hosted.ask(
                    hosted.call("guest", .operation(.membersById(request))))[0]
            else { throw ChatError(.internal, "no members") }
            #expect(found.members.map(\.user.text) == ["guest", "fixed"])
            #expect(found.members.map(\.online) == [true, false])
        }
    }

    @Test func `the bounds of the policy hold for what a room decides`() async throws {
        let now = Mutex(HostedRooms.now())
        var options = HostedRooms.Options()
        options.now = { now.withLock { $0 } }
        // The creator is one of the fixed members.
        (options.policy.fixedMembersMax, options.policy.blacklistedMax, options.policy.queueElementsMax) = (2, 1, 1)
        options.policy.recallWindowSeconds = 60
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            func code(_ body: CommandBody) async throws -> ErrorCode? {
                do throws(ChatError) {
                    _ = try await hosted.calls.perform(body, in: HostedRooms.room, as: .system, id: nil)
                    return nil
                } catch { return error.code }
            }
            let options = NotifyOptions(notify: false)
            for (name, wanted) in [("ann", nil), ("bob", .badParameter)] as [(String, ErrorCode?)] {
                #expect(try await code(.setMember(try user(name), enable: true, options)) == wanted)
                #expect(try await code(.queueSet(QueueWrite(key: name, value: "v"), options)) == wanted)
                #expect(try await code(.setBlacklist(try user("barred-\(name)"), enable: true, options)) == wanted)
            }
            try await hosted.ask(hosted.enter("eve"))
            for (seconds, wanted) in [(60, nil), (61, .forbidden)] as [(Int64, ErrorCode?)] {
                guard case .success(.send(let sent)) = try await hosted.ask(hosted.send("eve", "\(seconds)"))[0] else {
                    throw ChatError(.internal, "no ack")
                }
                now.withLock { $0 = $0.adding(seconds: seconds) }
                let recall = RecallRequest(room: HostedRooms.room, messageID: sent.messageID)
                let answer = try await hosted.ask(hosted.call("eve", .operation(.recall(recall))))[0]
                if case .failure(let error) = answer {
                    #expect(error.code == wanted)
                } else {
                    #expect(wanted == nil)
                }
            }
        }
    }

    @Test func `nick and avatar fall back one by one, from what is saved to the token`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            let token = Profile(nick: "of the token", avatar: "https://token")
            try await hosted.ask(hosted.enter("owner", token: token))
            var update = UpdateMeRequest(room: HostedRooms.room, set: ProfileChanges(avatar: "https://saved"))
            update.save = true
            try await hosted.ask(
                hosted.call("owner", .operation(.updateMe(update))),
                hosted.call("owner", .operation(.exit(RoomNameRequest(room: HostedRooms.room)))))
            guard case .success(.enter(let entered)) = try await hosted.ask(hosted.enter("owner", token: token))[0]
            else {
                Issue.record("not answered")
                return
            }
            #expect(entered.me.profile == Profile(nick: "of the token", avatar: "https://saved"))
        }
    }

    @Test func `whoever is here enters again after the room was closed to others, with the profile of before`()
        async throws
    {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            var first = EnterRequest(room: HostedRooms.room)
            (first.nick, first.avatar) = ("A", "https://a")
            let again = ClientOperation.enter(EnterRequest(room: HostedRooms.room))
            try await hosted.ask(
                hosted.enter("owner"), hosted.enter("guest"),
                hosted.call("nobody", anonymous: true, .operation(.enter(first))))
            var invited = RoomChanges()
            invited.entry = .invited
            _ = try await hosted.calls.perform(
                .updateRoom(set: invited, NotifyOptions()), in: HostedRooms.room, as: .system, id: nil)
            let answers = try await hosted.ask(
                hosted.enter("guest"), hosted.call("nobody", anonymous: true, .operation(again)),
                hosted.enter("late"), hosted.enter("guest", session: "other"),
                hosted.call("nobody", session: "other", anonymous: true, .operation(.enter(first))))
            guard case .enter(let guest) = try answers[0].get(), case .enter(let nobody) = try answers[1].get() else {
                throw ChatError(.internal, "not entered")
            }
            #expect(guest.room.online == 3)
            #expect(nobody.me.profile.nick == "A" && nobody.me.profile.avatar == "https://a")
            for refused in answers[2...] {
                guard case .failure(let error) = refused else { throw ChatError(.internal, "entered") }
                #expect(error.code == .forbidden)
            }
            // Gone, it comes from outside.
            let exit = ClientOperation.exit(RoomNameRequest(room: HostedRooms.room))
            let back = try await hosted.ask(hosted.call("guest", .operation(exit)), hosted.enter("guest"))
            guard case .failure(let error) = back[1] else { throw ChatError(.internal, "entered") }
            #expect(error.code == .forbidden)
        }
    }

    @Test func `an anonymous member gets no role, and keeps none`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            var entry = EnterRequest(room: HostedRooms.room)
            (entry.nick, entry.avatar) = ("A", "https://a")
            try await hosted.ask(
                hosted.enter("owner"), hosted.call("nobody", anonymous: true, .operation(.enter(entry))))
            let nobody = try user("nobody")
            let flag = UserFlagRequest(room: HostedRooms.room, user: nobody, enable: true)
            for operation in [ClientOperation.setManager(flag), .setMember(flag)] {
                guard case .failure(let error) = try await hosted.ask(hosted.call("owner", .operation(operation)))[0]
                else {
                    Issue.record("\(operation) was not refused")
                    continue
                }
                #expect(error.code == .forbidden && error.field == "user")
            }
            for role in [FixedRole.manager, .normal] {
                await #expect(throws: ChatError.self) {
                    try await hosted.calls.perform(
                        .setRole(nobody, role, NotifyOptions()), in: HostedRooms.room, as: .system, id: nil)
                }
            }
            #expect(try await hosted.calls.member(nobody, of: HostedRooms.room).role == .anonymous)
            let fixed = try await hosted.calls.members(of: HostedRooms.room, kind: .fixed, after: nil, limit: 10)
            #expect(fixed.items.map(\.user.text) == ["owner"])
        }
    }

    @Test func `a repeated call of the server API is answered like the first`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            let ann = try user("ann")
            func mute() async throws(ChatError) -> CommandResult {
                try await hosted.calls.perform(
                    .setMute(ann, enable: true, NotifyOptions()), in: HostedRooms.room, as: .system,
                    id: CommandID(scope: "/", text: "key"))
            }
            let first = try await mute()
            #expect(try await mute() == first)
            guard case .member(let member) = first else {
                Issue.record("another result: \(first)")
                return
            }
            #expect(member.enteredAt != nil)
        }
    }

    @Test func `the tail of a room is bounded in bytes for what the room itself tells, too`() throws {
        var tail = HotTail()
        let elements = try (0..<100).map {
            QueueElement(key: "\($0)", value: String(repeating: "x", count: 4_096), owner: try user("ann"))
        }
        var notification = Notification(.queueBatchChanged)
        notification.data = .queueBatch(change: .partClear, elements: elements)
        for seq in UInt64(1)...100 {
            tail.append(
                Message(
                    room: HostedRooms.room, place: .kept(seq: seq), messageID: "", time: Timestamp(0), from: nil,
                    body: .notification(notification)))
        }
        #expect(tail.firstSeq == 99)
    }
}
