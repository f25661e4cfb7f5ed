import ChatModel
import Testing

@testable import RoomCore

/// A presence that is talked to, and its clock.
private struct Scene {
    var presence: Presence
    var now = Timestamp(1_700_000_000_000)
    var notify = EnterExitNotify.all

    init(_ policy: ConflictPolicy = .kickOlder, digestAbove: Int = 1000) {
        var settings = RoomPolicy()
        settings.conflictPolicy = policy
        settings.digestAboveOnline = digestAbove
        presence = Presence(policy: settings)
    }

    static func key(_ session: String, node: String = "n1") -> PresenceKey {
        guard let node = NodeID(node), let session = SessionID(session) else { fatalError("a key") }
        return PresenceKey(node: node, session: session)
    }

    func visitor(_ name: String, _ session: String, device: Device = .web, node: String = "n1") -> Visitor {
        Visitor(
            key: Self.key(session, node: node), laneNumber: 0, user: user(name), profile: Profile(nick: session),
            anonymous: false, device: device, enteredAt: now)
    }

    @discardableResult
    mutating func enter(
        _ name: String, _ session: String, device: Device = .web, role: Role = .guest, node: String = "n1",
        _ change: (inout Visitor) -> Void = { _ in }
    ) throws -> [PresenceEffect] {
        var visitor = visitor(name, session, device: device, node: node)
        change(&visitor)
        return try presence.enter(visitor, role: role, notify: notify, at: now)
    }

    @discardableResult
    mutating func exit(_ session: String, node: String = "n1") -> [PresenceEffect] {
        presence.exit(Self.key(session, node: node), notify: notify, at: now)
    }

    mutating func tick(after milliseconds: Int64 = 0) -> [PresenceEffect] {
        now = now.adding(milliseconds: milliseconds)
        return presence.tick(at: now)
    }
}

extension [PresenceEffect] {
    fileprivate var shown: [ChatModel.Notification] {
        compactMap { if case .show(let notification) = $0 { notification } else { nil } }
    }

    fileprivate var events: [EventCode] { shown.map(\.event) }

    fileprivate var kickedSessions: [String] {
        compactMap { if case .kick(let visitor, .conflictingLogin) = $0 { visitor.key.session.text } else { nil } }
    }
}

@Suite struct PresenceTests {
    @Test func `an enter is told by 301 and an exit by 302`() throws {
        var it = Scene()
        let effects = try it.enter("bob", "s1", role: .normal) {
            $0.notifyExt = "hi"
            $0.profile = Profile(nick: "Bob", avatar: "a", ext: "e")
        }
        #expect(effects.first == .arrived(user("bob")))
        #expect(effects.shown.first?.event == .enter)
        #expect(effects.shown.first?.operator == UserName(user: user("bob"), nick: "Bob"))
        #expect(effects.shown.first?.notifyExt == "hi")
        #expect(effects.shown.first?.data == .entered(avatar: "a", ext: "e", role: .normal, online: 1))
        let exits = it.exit("s1")
        #expect(exits.first == .departed(UserName(user: user("bob"), nick: "Bob")))
        #expect(exits.shown.first?.event == .exit)
        #expect(exits.shown.first?.data == .exited(online: 0))
        #expect(it.exit("s1").isEmpty)
    }

    @Test func `anonymous members are shown as such`() throws {
        var it = Scene()
        let effects = try it.enter("anon", "s1") { $0.anonymous = true }
        #expect(effects.shown.first?.data == .entered(avatar: "", ext: "", role: .anonymous, online: 1))
        #expect(it.presence.isAnonymous(user("anon")))
        #expect(it.presence.overlay(Member(user: user("anon"), profile: Profile(), role: .guest)).role == .anonymous)
    }

    @Test func `whose comings and goings are told is the room's choice`() throws {
        var it = Scene()
        it.notify = .fixedOnly
        #expect(try it.enter("g", "s1").events.isEmpty)
        #expect(try it.enter("f", "s2", role: .normal).events == [.enter])
        #expect(it.exit("s1").events.isEmpty)
        #expect(it.exit("s2").events == [.exit])
        it.notify = .none
        #expect(try it.enter("f", "s3", role: .creator).events.isEmpty)
        #expect(it.exit("s3") == [.departed(UserName(user: user("f"), nick: "s3"))])
    }

    @Test func `the same session enters again to update its info`() throws {
        var it = Scene()
        try it.enter("bob", "s1")
        it.now = it.now.adding(seconds: 5)
        #expect(try it.enter("bob", "s1") { $0.profile.nick = "new" }.isEmpty)
        #expect(it.presence.profile(of: user("bob"))?.nick == "new")
        #expect(it.presence.enteredAt(of: user("bob")) == it.now.adding(seconds: -5))
        #expect(it.presence.sessionCount == 1)
    }

    @Test func `a session that moves to another node stays what it was`() throws {
        var scene = Scene()
        try scene.enter("ann", "s1")
        let (old, moved) = (Scene.key("s1"), Scene.key("s1", node: "n9"))
        scene.presence.move(old, to: moved, lane: 3, encoding: .protobuf)
        #expect(scene.presence.online == 1 && scene.presence.visitor(old) == nil)
        #expect(scene.presence.lanes == [Lane(node: moved.node, number: 3)])
        #expect(scene.presence.encodings == .protobuf)
        #expect(scene.presence.visitors(of: user("ann")).map(\.key) == [moved])
        #expect(scene.exit("s1").isEmpty, "the former node's leave comes late")
        // A place that is taken is left alone.
        try scene.enter("ben", "s2")
        scene.presence.move(Scene.key("s2"), to: moved, lane: 0, encoding: .json)
        #expect(scene.presence.visitor(moved)?.user == user("ann"))
        #expect(scene.presence.visitor(Scene.key("s2"))?.user == user("ben"))
        #expect(scene.exit("s1", node: "n9").events == [.exit])
    }

    @Test func `kickOlder: the newer session replaces the older one, and the user stays`() throws {
        var it = Scene(.kickOlder)
        try it.enter("bob", "s1")
        let effects = try it.enter("bob", "s2")
        #expect(effects.kickedSessions == ["s1"])
        #expect(effects.count == 1)
        #expect(it.presence.online == 1)
        #expect(it.presence.visitor(Scene.key("s1")) == nil)
        #expect(it.presence.profile(of: user("bob"))?.nick == "s2")
        #expect(it.exit("s1").isEmpty)
        #expect(it.exit("s2").events == [.exit])
    }

    @Test func `rejectNewer: 409, and nothing changes`() throws {
        var it = Scene(.rejectNewer)
        try it.enter("bob", "s1")
        let error = #expect(throws: ChatError.self) { try it.enter("bob", "s2") }
        #expect(error?.code == .conflict)
        #expect(it.presence.sessionCount == 1)
        #expect(try it.enter("bob", "s1").isEmpty)
    }

    @Test func `perDevice: mobile against mobile, desktop and web against each other`() throws {
        var it = Scene(.perDevice)
        try it.enter("bob", "mobile", device: .mobile)
        #expect(try it.enter("bob", "web", device: .web).isEmpty)
        #expect(try it.enter("bob", "server", device: .server).isEmpty)
        #expect(try it.enter("bob", "desktop", device: .desktop).kickedSessions == ["web"])
        #expect(try it.enter("bob", "mobile2", device: .mobile).kickedSessions == ["mobile"])
        #expect(it.presence.online == 1)
        #expect(it.presence.sessionCount == 3)
    }

    @Test func `allow: 301 for the first session, 302 for the last, one in the count`() throws {
        var it = Scene(.allow)
        #expect(try it.enter("bob", "s1").events == [.enter])
        #expect(try it.enter("bob", "s2").isEmpty)
        #expect(it.presence.online == 1)
        #expect(it.presence.profile(of: user("bob"))?.nick == "s2")
        #expect(it.exit("s2").isEmpty)
        #expect(it.presence.profile(of: user("bob"))?.nick == "s1")
        #expect(it.exit("s1").events == [.exit])
    }

    @Test func `robots count, receive nothing and conflict with nobody`() throws {
        var it = Scene(.rejectNewer)
        let key = try #require(PresenceKey.robot(user("bob")))
        try it.enter("bob", "s1")
        try it.enter("bob", "x") {
            $0.key = key
            $0.isRobot = true
        }
        #expect(it.presence.lanes == [Lane(node: Scene.key("s1").node, number: 0)])
        #expect(!it.presence.isWithoutPeople)
        #expect(it.presence.sessions(of: [user("bob")]).map(\.sessions) == [[Scene.key("s1").session]])
        it.exit("s1")
        #expect(it.presence.lanes.isEmpty && it.presence.isWithoutPeople)
        #expect(it.presence.online == 1)
    }

    @Test func `a kick takes all sessions, without 302`() throws {
        var it = Scene(.allow)
        try it.enter("bob", "s1")
        try it.enter("bob", "s2")
        try it.enter("eve", "s3")
        #expect(it.presence.kick(user: user("bob")).map(\.key.session.text) == ["s1", "s2"])
        #expect(it.presence.kick(user: user("bob")).isEmpty)
        #expect(it.presence.online == 1)
        #expect(it.presence.kickAll().map(\.key.session.text) == ["s3"])
        #expect(it.presence.online == 0)
        #expect(it.presence.lanes.isEmpty)
    }

    @Test func `announced sessions are told to nobody`() throws {
        var it = Scene(.kickOlder)
        for session in ["s1", "s2"] {
            _ = it.presence.announce(
                Visitor(
                    key: Scene.key(session), laneNumber: 0, user: user("bob"), profile: Profile(), anonymous: false,
                    device: .web, enteredAt: it.now), role: .normal)
        }
        #expect(it.presence.sessionCount == 2)
        #expect(it.presence.online == 1)
        #expect(try it.presence.users(.fixedOnline, after: nil, limit: 9).items == [user("bob")])
    }

    @Test func `of announced sessions that do not go together the newer stays, whoever comes first`() throws {
        let never = Timestamp(.max)
        for isOlderFirst in [true, false] {
            var it = Scene(.kickOlder)
            var (older, newer) = (it.visitor("bob", "s1"), it.visitor("bob", "s2"))
            newer.enteredAt = it.now.adding(seconds: 1)
            // The newer one's former key: it has moved.
            var moved = newer
            moved.key = Scene.key("s2", node: "n2")
            if isOlderFirst {
                #expect(!it.presence.isSuperseded(older, ledSince: never))
                let first = it.presence.announce(older, role: .normal)
                #expect(first.isEmpty && !it.presence.isSuperseded(newer, ledSince: never))
                let second = it.presence.announce(newer, role: .normal)
                #expect(second.kickedSessions == ["s1"])
            } else {
                let first = it.presence.announce(newer, role: .normal)
                #expect(first.isEmpty && it.presence.isSuperseded(older, ledSince: never))
                // By the clock of another leader it had entered later.
                older.enteredAt = newer.enteredAt.adding(seconds: 1)
                #expect(!it.presence.isSuperseded(older, ledSince: never))
                #expect(it.presence.isSuperseded(older, ledSince: newer.enteredAt))
            }
            let third = it.presence.announce(moved, role: .normal)
            #expect(third.isEmpty && !it.presence.isSuperseded(moved, ledSince: never))
            older.isRobot = true
            #expect(!it.presence.isSuperseded(older, ledSince: never))
        }
    }

    @Test func `lanes are those with viewers`() throws {
        var it = Scene(.allow)
        try it.enter("a", "s1", node: "n2")
        try it.enter("b", "s2", node: "n1")
        try it.enter("c", "s3", node: "n2") { $0.laneNumber = 1 }
        #expect(it.presence.lanes.map { "\($0.node)/\($0.number)" } == ["n1/0", "n2/0", "n2/1"])
        it.presence.move(Scene.key("s1", node: "n2"), lane: 1, encoding: .json)
        #expect(it.presence.lanes.map { "\($0.node)/\($0.number)" } == ["n1/0", "n2/1"])
        #expect(it.presence.sessions(of: [user("c"), user("a")]).map { $0.sessions.map(\.text) } == [["s1", "s3"]])
        #expect(it.presence.keys(on: Scene.key("s", node: "n2").node).map(\.session.text) == ["s1", "s3"])
        let lane = try #require(it.presence.lanes.last)
        #expect(Set(it.presence.keys(on: lane).map(\.session.text)) == ["s1", "s3"])
        it.presence.move(Scene.key("s3", node: "n2"), to: Scene.key("s3"), lane: 0, encoding: .json)
        #expect(it.presence.keys(on: lane).map(\.session.text) == ["s1"])
        let version = it.presence.laneVersion
        it.exit("s2")
        it.exit("s3")
        #expect(it.presence.lanes.count == 1)
        #expect(it.presence.laneVersion != version)
    }

    @Test func `one whose exit was told and that is back is told to enter, once, and one that never left is not`()
        throws
    {
        var it = Scene()
        try it.enter("a", "s1")
        #expect(it.exit("s1").events == [.exit])
        let back = it.presence.announce(it.visitor("a", "s1"), role: .guest, telling: .all, at: it.now)
        #expect(back.events == [.enter])
        #expect(back.contains(.arrived(user("a"))))
        #expect(it.presence.announce(it.visitor("a", "s1"), role: .guest, telling: .all, at: it.now).isEmpty)
        #expect(it.presence.announce(it.visitor("b", "s2"), role: .guest).isEmpty)
        var other = Scene(.allow)
        try other.enter("a", "s1")
        let second = other.presence.announce(other.visitor("a", "s2"), role: .guest, telling: .all, at: other.now)
        #expect(second.isEmpty, "the user was here all the time")
    }

    @Test func `encodings are those of the sessions here`() throws {
        var it = Scene(.allow)
        #expect(it.presence.encodings == [])
        try it.enter("a", "s1")
        try it.enter("b", "s2") { $0.encoding = .protobuf }
        try it.enter("c", "s3") { $0.encoding = .protobuf }
        try it.enter("robot", "s4") { $0.isRobot = true }
        #expect(it.presence.encodings == [.json, .protobuf])
        it.exit("s2")
        #expect(it.presence.encodings == [.json, .protobuf])
        it.presence.move(Scene.key("s3"), lane: 0, encoding: .json)
        #expect(it.presence.encodings == .json)
        try it.enter("a", "s1") { $0.encoding = .protobuf }
        #expect(it.presence.encodings == [.json, .protobuf])
        _ = it.presence.kick(user: user("c"))
        #expect(it.presence.encodings == .protobuf)
        _ = it.presence.kickAll()
        #expect(it.presence.encodings == [])
    }

    @Test func `a change of standing moves a member between the listings`() throws {
        var it = Scene()
        try it.enter("a", "s1")
        try it.enter("b", "s2", role: .normal)
        it.presence.setRole(user("a"), .normal)
        it.presence.setRole(user("b"), .guest)
        it.presence.setRole(user("nobody"), .normal)
        #expect(try it.presence.users(.fixedOnline, after: nil, limit: 9).items == [user("a")])
        #expect(try it.presence.users(.temporary, after: nil, limit: 9).items == [user("b")])
    }

    @Test func `who is RESTRICTED is fixed to managers and a guest to all others, page by page`() throws {
        var it = Scene()
        for (index, role) in [Role.guest, .restricted, .normal, .restricted, .guest].enumerated() {
            try it.enter("u\(index)", "s\(index)", role: role) { $0.enteredAt = Timestamp(Int64(index)) }
        }
        func names(_ kind: MemberKind, all: Bool) throws -> [String] {
            var (names, cursor) = ([String](), String?.none)
            repeat {
                let page = try it.presence.users(kind, after: cursor, limit: 2, all: all)
                names += page.items.map(\.text)
                cursor = page.next
            } while cursor != nil && names.count < 10
            return names
        }
        #expect(try names(.fixedOnline, all: true) == ["u1", "u2", "u3"])
        #expect(try names(.temporaryReversed, all: true) == ["u0", "u4"])
        #expect(try names(.fixedOnline, all: false) == ["u2"])
        #expect(try names(.temporaryReversed, all: false) == ["u0", "u1", "u3", "u4"])
        #expect(try names(.temporary, all: false) == ["u4", "u3", "u1", "u0"])
    }

    @Test(arguments: [MemberKind.temporary, .temporaryReversed, .fixedOnline])
    func `a listing goes on at another leader, who has heard of everybody in another order`(_ kind: MemberKind) throws {
        var (first, second) = (Scene(), Scene())
        let role: Role = kind == .fixedOnline ? .normal : .guest
        func enter(_ number: Int, _ session: Int, _ scene: inout Scene) throws {
            // Several in each millisecond, each with two sessions.
            try scene.enter("u\(number)", "s\(number)-\(session)", role: role) {
                $0.enteredAt = Timestamp(Int64(number / 20 + session))
            }
        }
        for session in 0..<2 { for number in 0..<100 { try enter(number, session, &first) } }
        for session in 0..<2 { for number in (0..<100).reversed() { try enter(number, 1 - session, &second) } }
        var (listed, cursor, isFirst) = ([UserID](), String?.none, true)
        repeat {
            let page = try (isFirst ? first : second).presence.users(kind, after: cursor, limit: 7)
            listed += page.items
            (cursor, isFirst) = (page.next, !isFirst)
        } while cursor != nil && listed.count <= 100
        #expect(listed.count == 100 && Set(listed).count == 100)
        #expect(try first.presence.users(kind, after: nil, limit: 100).items == listed)
    }

    @Test func `who is RESTRICTED comes and goes as a guest does`() throws {
        var it = Scene()
        let effects = try it.enter("muted", "s1", role: .restricted)
        let roles = effects.compactMap { effect -> Role? in
            guard case .show(let shown) = effect, case .entered(_, _, let role, _) = shown.data else { return nil }
            return role
        }
        #expect(roles == [.guest])
    }

    @Test func `updating oneself holds for all sessions until exit`() throws {
        var it = Scene(.allow)
        try it.enter("bob", "s1")
        try it.enter("bob", "s2")
        it.presence.setProfile(user("bob"), Profile(nick: "new"))
        #expect(it.presence.profile(of: user("bob"))?.nick == "new")
        #expect(it.presence.visitors(of: user("bob")).map(\.profile.nick) == ["new", "new"])
        it.exit("s2")
        #expect(it.presence.profile(of: user("bob"))?.nick == "new")
    }

    // MARK: - Time

    @Test func `above so many online guests are told once a second, fixed members at once`() throws {
        var it = Scene(digestAbove: 2)
        #expect(try it.enter("a", "s1").events == [.enter])
        #expect(try it.enter("b", "s2").events == [.enter])
        #expect(try it.enter("c", "s3").events.isEmpty)
        #expect(try it.enter("m", "s4", role: .manager).events == [.enter])
        #expect(it.exit("s1").events.isEmpty)
        #expect(it.exit("s4").events == [.exit])
        #expect(it.exit("s3").events == [.exit])
        #expect(it.tick(after: 999).events.isEmpty)
        let digest = it.tick(after: 1).shown
        #expect(digest.map(\.event) == [.digest])
        #expect(
            digest.first?.data
                == .digest(
                    entered: 1, exited: 1, online: 1,
                    members: [DigestMember(user: user("c"), profile: Profile(nick: "s3"), notifyExt: nil)]))
        #expect(it.tick(after: 5000).events.isEmpty)
    }

    @Test func `a digest names at most five, those with notifyExt first`() throws {
        var it = Scene(digestAbove: 0)
        try it.enter("u0", "s0") { $0.notifyExt = "" }
        for number in 1..<7 { try it.enter("u\(number)", "s\(number)") }
        for number in 7..<10 { try it.enter("u\(number)", "s\(number)") { $0.notifyExt = "hi" } }
        guard case .digest(10, 0, 10, let members)? = it.tick(after: 1000).shown.first?.data else {
            Issue.record("no digest")
            return
        }
        #expect(members.map(\.user.text) == ["u7", "u8", "u9", "u0", "u1"])
    }

    @Test func `the count is pushed on change, at most every 2 seconds`() throws {
        var it = Scene()
        #expect(it.presence.nextTick == nil)
        #expect(it.tick().isEmpty)
        try it.enter("a", "s1")
        #expect(it.presence.nextTick.map { $0 <= it.now } == true)
        #expect(it.tick() == [.online(1)])
        try it.enter("b", "s2")
        #expect(it.presence.nextTick == it.now.adding(seconds: 2))
        #expect(it.tick(after: 1999).isEmpty)
        try it.enter("c", "s3")
        #expect(it.tick(after: 1) == [.online(3)])
        try it.enter("d", "s4")
        it.exit("s4")
        #expect(it.presence.nextTick == nil)
        #expect(it.tick(after: 2000).isEmpty)
    }

    @Test func `a leader that learns who is here pushes the count when it may have heard of all`() throws {
        var it = Scene()
        it.presence.beginCounting(at: it.now)
        try it.enter("a", "s1")
        #expect(it.presence.nextTick == it.now.adding(seconds: 2))
        #expect(it.tick(after: 1_999).isEmpty)
        try it.enter("b", "s2")
        #expect(it.tick(after: 1) == [.online(2)])
    }

    @Test func `what it tells follows the room's last seq, under an ID of its own`() throws {
        var it = Scene()
        let room = try #require(RoomID("r"))
        let notification = ChatModel.Notification(.enter)
        let first = it.presence.message(notification, in: room, Incarnation(9), after: 4, at: it.now)
        let second = it.presence.message(notification, in: room, Incarnation(9), after: 4, at: it.now)
        #expect(first.place == .unkept(after: 4))
        #expect(first.messageID != second.messageID)
        #expect(MessageID.parse(first.messageID) != nil)
    }
}
