import ChatModel
import RoomProtocol
import StorageTestKit
import Testing
import Wire

@testable import Rooms

/// What happens between proposing a command and applying it: everything that one turn brings is decided in that time.
struct RoomRaceTests {
    private static func kick(_ hosted: HostedRooms, _ name: String) throws -> RoomRequest {
        try hosted.call("owner", .operation(.kick(KickRequest(room: HostedRooms.room, user: try user(name)))))
    }

    private static func code(_ result: Result<OperationResult, ChatError>) -> ErrorCode? {
        if case .failure(let error) = result { error.code } else { nil }
    }

    private static func events(_ messages: [Message]) -> [EventCode] {
        messages.compactMap { if case .notification(let it) = $0.body { it.event } else { nil } }
    }

    @Test func `what a user sends between the proposal of the kick and its end is refused`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            let answers = try await hosted.ask(
                hosted.send("eve", "before"), Self.kick(hosted, "eve"), hosted.send("eve", "behind"),
                hosted.call("eve", .operation(.queueSet(QueueSetRequest(room: HostedRooms.room, key: "k", value: "v"))))
            )
            #expect(answers.map(Self.code) == [nil, nil, .notInRoom, .notInRoom])
            let kept = try await hosted.history()
            #expect(kept.count == 2 && kept.first?.body == .text("before") && Self.events(kept) == [.kicked])
        }
    }

    @Test func `what was done before its sender was put out is answered so when it is asked again`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            let request = SendRequest(
                room: HostedRooms.room, clientID: "once", draft: MessageDraft(body: .text("before")))
            let first = try await hosted.ask(hosted.call("eve", .operation(.send(request))))
            try await hosted.ask(Self.kick(hosted, "eve"))
            // As the gateway asks a leader whose predecessor has died: eve is not in the room any more.
            let again = try await hosted.ask(hosted.call("eve", .operation(.send(request))))
            #expect(first.map(Self.code) == [nil])
            guard case .success(.send(let sent)) = first[0], case .success(.send(let repeated)) = again[0] else {
                return #expect(Bool(false), "\(again)")
            }
            #expect(sent == repeated)
            // Another one is not taken.
            #expect(try await hosted.ask(hosted.send("eve", "behind")).map(Self.code) == [.notInRoom])
            #expect(try await hosted.history().count == 2)
        }
    }

    @Test func `what a user sends who is announced to a new leader behind the proposal of its kick is refused`()
        async throws
    {
        let directory = try TemporaryDirectory()
        let enteredAt = try await HostedRooms.run(directory) { hosted in
            try await hosted.createRoom()
            let enteredAt = HostedRooms.now()
            try await hosted.ask(hosted.enter("eve"))
            return enteredAt
        }
        try await HostedRooms.run(directory, create: false) { hosted in
            await hosted.told.led(times: 1)
            try await hosted.ask(hosted.enter("owner"))
            var announce = try hosted.call("eve", .announce(SessionStay(profile: Profile(), enteredAt: enteredAt)))
            announce.session?.request = nil
            let (kick, behind) = (try Self.kick(hosted, "eve"), try hosted.send("eve", "behind"))
            hosted.rooms.receive([kick, announce, behind])
            let answers = [
                await hosted.told.answer(to: try #require(kick.number)),
                await hosted.told.answer(to: try #require(behind.number)),
            ]
            #expect(answers.map(Self.code) == [nil, .notInRoom])
            #expect(Self.events(try await hosted.history()) == [.kicked])
            #expect(try await hosted.history().count == 1)
        }
    }

    @Test func `a session that enters while its user is being thrown out enters after it`() async throws {
        var options = HostedRooms.Options()
        options.policy.conflictPolicy = .allow
        try await HostedRooms.run(try TemporaryDirectory(), options) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            let answers = try await hosted.ask(
                Self.kick(hosted, "eve"), hosted.enter("eve", session: "other"),
                hosted.send("eve", session: "other", "hello again"))
            #expect(answers.map(Self.code) == [nil, nil, nil])
            guard case .success(.enter(let entered)) = answers[1] else {
                Issue.record("not answered")
                return
            }
            #expect(entered.seq == 1, "the kick is before it")
            #expect(try await hosted.calls.member(user("eve"), of: HostedRooms.room).online)
            #expect(try await hosted.history().map(\.body.type) == [.notification, .text])
        }
    }

    @Test func `a session that is put out while it moves is told so where it has come to`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"), hosted.enter("ann"))
            try await hosted.ask(Self.kick(hosted, "eve"))
            let eve = try #require(SessionID("eve"))
            func ends() -> Int {
                hosted.told.all.count { if case .kicked(eve, .byManager, _) = $0 { true } else { false } }
            }
            #expect(ends() == 1, "where it was")
            hosted.rooms.receive([
                try hosted.call("eve", .moved(from: nil)), try hosted.call("ann", .moved(from: nil)),
            ])
            try await hosted.ask(hosted.send("owner", "behind"))
            #expect(ends() == 2)
            #expect(
                !hosted.told.all.contains {
                    if case .kicked = $0 { $0 != .kicked(eve, .byManager, ext: nil) } else { false }
                })
        }
    }

    @Test func `what a lane says of itself does not wait for a session that waits`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            let kick = try Self.kick(hosted, "eve")
            var follow = try hosted.call("eve", .follow(StreamPlace(epoch: "", seq: .max)))
            follow.session?.number = 7
            follow.session?.request = nil
            let stay = SessionStay(profile: Profile(), enteredAt: Timestamp(.max))
            hosted.rooms.receive([kick, try hosted.call("eve", .announce(stay)), follow])
            let request = try #require(kick.number)
            _ = try await hosted.told.answer(to: request).get()
            let told = hosted.told.all
            let going = told.firstIndex { $0 == .following(7, through: 0) }
            let kicked = told.firstIndex { if case .reply(_, request, _, _, _) = $0 { true } else { false } }
            #expect(try #require(going) < #require(kicked))
        }
    }

    @Test func `an enter of the turn in which its user is blacklisted is refused`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"))
            let blacklist = ClientOperation.setBlacklist(
                BlacklistRequest(room: HostedRooms.room, user: try user("eve"), enable: true))
            let answers = try await hosted.ask(
                hosted.enter("eve"), hosted.call("owner", .operation(blacklist)), hosted.send("eve", "spam"))
            #expect(answers.map(Self.code) == [.blacklisted, nil, .notInRoom])
            #expect(Self.events(try await hosted.history()) == [.blacklisted])
        }
    }

    @Test func `what a user says while his messages are looked for, to go with him, is refused`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("eve"))
            try await hosted.ask(hosted.send("eve", "spam"))
            var request = BlacklistRequest(room: HostedRooms.room, user: try user("eve"), enable: true)
            request.recall = true
            let answers = try await hosted.ask(
                hosted.call("owner", .operation(.setBlacklist(request))), hosted.send("eve", "more spam"))
            #expect(answers.map(Self.code) == [nil, .notInRoom])
            let kept = try await hosted.history()
            #expect(kept.map(\.isRecalled) == [true, false, false])
            #expect(Self.events(kept) == [.blacklisted, .recalled])
        }
    }

    @Test func `a message that two recall at the same time is told as recalled once`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("owner"), hosted.enter("ann"), hosted.enter("eve"))
            guard case .success(.send(let sent)) = try await hosted.ask(hosted.send("ann", "oops"))[0] else {
                Issue.record("not answered")
                return
            }
            func recall(_ name: String) throws -> RoomRequest {
                let request = RecallRequest(room: HostedRooms.room, messageID: sent.messageID)
                return try hosted.call(name, .operation(.recall(request)))
            }
            // Who may not does not spoil it for who may.
            let answers = try await hosted.ask(recall("eve"), recall("ann"), recall("owner"), hosted.send("owner", "x"))
            #expect(answers.map(Self.code) == [.forbidden, nil, nil, nil])
            let kept = try await hosted.history()
            #expect(kept.first?.isRecalled == true && Self.events(kept) == [.recalled])
            // An app server's call waits for a client's too.
            guard case .success(.send(let second)) = try await hosted.ask(hosted.send("ann", "oops 2"))[0] else {
                Issue.record("not answered")
                return
            }
            let request = RecallRequest(room: HostedRooms.room, messageID: second.messageID)
            async let client = hosted.ask(hosted.call("ann", .operation(.recall(request))))
            async let server: Void = hosted.calls.recall(second.messageID, in: HostedRooms.room, as: .system, id: nil)
            _ = try await (client, server)
            #expect(Self.events(try await hosted.history()) == [.recalled, .recalled])
        }
    }

    @Test func `two changes of a profile in one turn both stay`() async throws {
        try await HostedRooms.run(try TemporaryDirectory()) { hosted in
            try await hosted.createRoom()
            try await hosted.ask(hosted.enter("ann"))
            func update(_ set: ProfileChanges) throws -> RoomRequest {
                try hosted.call("ann", .operation(.updateMe(UpdateMeRequest(room: HostedRooms.room, set: set))))
            }
            let answers = try await hosted.ask(
                update(ProfileChanges(nick: "Ann")), update(ProfileChanges(avatar: "https://a")))
            guard case .success(.updateMe(let last)) = answers[1] else {
                Issue.record("not answered")
                return
            }
            #expect(last.member.profile == Profile(nick: "Ann", avatar: "https://a"))
            let shown = try await hosted.calls.member(user("ann"), of: HostedRooms.room).profile
            #expect(shown == Profile(nick: "Ann", avatar: "https://a"))
        }
    }
}
