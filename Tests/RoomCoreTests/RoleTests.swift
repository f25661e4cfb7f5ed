import ChatModel
import Testing

@testable import RoomCore

@Suite struct RoleTests {
    private static func setManager(_ name: String, _ enable: Bool) -> CommandBody {
        .setManager(user(name), enable: enable, NotifyOptions())
    }

    private static func setMember(_ name: String, _ enable: Bool) -> CommandBody {
        .setMember(user(name), enable: enable, NotifyOptions())
    }

    private static func setRole(_ name: String, _ role: FixedRole) -> CommandBody {
        .setRole(user(name), role, NotifyOptions())
    }

    @Test func `only the creator and the server API set managers`() {
        var it = Dialogue()
        for name in ["manager", "normal", "guest"] {
            #expect(it.run(Self.setManager("bob", true), by: member(name)).code == .forbidden)
        }
        let effects = it.run(Self.setManager("bob", true), by: member("creator"))
        #expect(effects.events == [.managerSet])
        #expect(effects.member?.role == .manager)
        #expect(it.run(Self.setManager("eve", true), by: .system).member?.role == .manager)
    }

    @Test func `a manager that is unset becomes normal by 308`() {
        var it = Dialogue()
        let effects = it.run(Self.setManager("manager", false), by: member("creator"))
        #expect(effects.events == [.managerRemoved])
        #expect(effects.member?.role == .normal)
        #expect(it.run(Self.setManager("manager", false), by: member("creator")).events.isEmpty)
        #expect(it.run(Self.setManager("normal", false), by: member("creator")).member?.role == .normal)
    }

    @Test func `a manager set to guest is told by 308 and 310`() {
        var it = Dialogue()
        let effects = it.run(Self.setRole("manager", .guest), by: .system)
        #expect(effects.events == [.managerRemoved, .fixedMemberRemoved])
        #expect(effects.member?.role == .guest)
        #expect(it.state.memberRecord(of: user("manager")) == nil)
    }

    @Test func `the server API's roles tell each step`() {
        var it = Dialogue()
        #expect(it.run(Self.setRole("bob", .normal), by: .system).events == [.madeFixedMember])
        #expect(it.run(Self.setRole("bob", .normal), by: .system).events.isEmpty)
        #expect(it.run(Self.setRole("bob", .manager), by: .system).events == [.managerSet])
        #expect(it.run(Self.setRole("bob", .normal), by: .system).events == [.managerRemoved])
        #expect(it.run(Self.setRole("bob", .guest), by: .system).events == [.fixedMemberRemoved])
        #expect(it.run(Self.setRole("bob", .guest), by: .system).events.isEmpty)
        #expect(it.run(Self.setRole("bob", .manager), by: .system).events == [.managerSet])
    }

    @Test func `managers make and remove fixed members`() {
        var it = Dialogue()
        #expect(it.run(Self.setMember("bob", true), by: member("normal")).code == .forbidden)
        #expect(it.run(Self.setMember("bob", true), by: member("guest")).code == .forbidden)
        #expect(it.run(Self.setMember("bob", true), by: member("manager")).events == [.madeFixedMember])
        #expect(it.run(Self.setMember("bob", true), by: member("manager")).events.isEmpty)
        #expect(it.run(Self.setMember("bob", false), by: member("manager")).events == [.fixedMemberRemoved])
        #expect(it.run(Self.setMember("bob", false), by: member("manager")).events.isEmpty)
    }

    @Test func `nobody acts on an equal or higher rank, nor on oneself`() {
        var it = Dialogue()
        it.run(Self.setRole("manager2", .manager), by: .system)
        for target in ["manager", "manager2", "creator"] {
            for body: CommandBody in [
                Self.setMember(target, false), .setMute(user(target), enable: true, NotifyOptions()),
                .setBlacklist(user(target), enable: true, NotifyOptions()),
                .tempMute(user(target), seconds: 1, NotifyOptions()),
                .kick(user(target), banSeconds: nil, NotifyOptions()),
            ] {
                #expect(it.run(body, by: member("manager")).code == .forbidden)
            }
        }
        #expect(
            it.run(.kick(user("creator"), banSeconds: nil, NotifyOptions()), by: member("creator")).code == .forbidden)
        #expect(it.run(Self.setManager("creator", false), by: member("creator")).code == .forbidden)
        #expect(
            it.run(.setMute(user("guest2"), enable: true, NotifyOptions()), by: member("guest")).code == .forbidden)
    }

    @Test func `an operator of the server API has the rank of its own, and the system is above all`() {
        var it = Dialogue()
        it.run(Self.setRole("manager2", .manager), by: .system)
        func by(_ name: String) -> Actor { .server(UserName(user: user(name), nick: "")) }
        func mute(_ name: String) -> CommandBody { .setMute(user(name), enable: true, NotifyOptions()) }
        let options = NotifyOptions()
        #expect(it.run(mute("normal"), by: by("manager")).error == nil)
        #expect(it.run(Self.setRole("normal", .guest), by: by("manager")).error == nil)
        for body in [
            mute("manager2"), mute("manager"), .tempMute(user("creator"), seconds: 5, options),
            Self.setRole("zoe", .manager),
        ] {
            #expect(it.run(body, by: by("manager")).code == .forbidden)
        }
        for name in ["normal", "nobody"] {
            for body in [
                mute("zoe"), .setBlacklist(user("zoe"), enable: true, options),
                .kick(user("zoe"), banSeconds: 5, options), .muteRoom(enable: true, options),
            ] {
                #expect(it.run(body, by: by(name)).code == .forbidden)
            }
        }
        #expect(it.run(.muteRoom(enable: true, options), by: by("manager")).error == nil)
        #expect(it.run(Self.setRole("manager2", .guest), by: by("creator")).error == nil)
        #expect(it.run(mute("creator"), by: .system).error == nil)
    }

    @Test func `the creator keeps the role, whoever asks`() {
        var it = Dialogue()
        for body in [
            Self.setRole("creator", .guest), Self.setRole("creator", .manager), Self.setManager("creator", true),
            Self.setMember("creator", true), .setBlacklist(user("creator"), enable: true, NotifyOptions()),
        ] {
            #expect(it.run(body, by: .system).code == .forbidden)
        }
        #expect(it.run(Self.setMember("creator", false), by: .system).member?.role == .creator)
        #expect(it.state.role(of: user("creator")) == .creator)
    }

    @Test func `notifications name operator and target`() {
        var it = Dialogue()
        it.facts.names = [user("bob"): Profile(nick: "Bobby")]
        let effects = it.run(
            .setMember(user("bob"), enable: true, NotifyOptions(notifyExt: "why")), by: member("manager"))
        let notification = effects.notifications.first
        #expect(notification?.operator == UserName(user: user("manager"), nick: "nick-manager"))
        #expect(notification?.targets == [UserName(user: user("bob"), nick: "Bobby")])
        #expect(notification?.notifyExt == "why")
        #expect(effects.shown.first?.from == nil)
        #expect(effects.member?.profile.nick == "Bobby")
        let silent = it.run(.setMember(user("bob"), enable: false, NotifyOptions()), by: .system)
        #expect(silent.notifications.map(\.operator) == [nil])
    }

    @Test func `there are at most so many managers`() {
        var it = Dialogue()
        it.facts.managersMax = 2
        #expect(it.run(Self.setManager("m2", true), by: member("creator")).error == nil)
        #expect(it.run(Self.setManager("m3", true), by: member("creator")).code == .badParameter)
        it.run(Self.setManager("m2", false), by: member("creator"))
        #expect(it.run(Self.setManager("m3", true), by: member("creator")).error == nil)
    }

    @Test func `there are at most so many fixed members, blacklisted ones aside`() {
        var it = Dialogue()
        it.facts.fixedMembersMax = 4
        #expect(it.run(Self.setMember("a", true), by: member("manager")).error == nil)
        #expect(it.run(Self.setMember("b", true), by: member("manager")).code == .badParameter)
        #expect(it.run(.setMute(user("b"), enable: true, NotifyOptions()), by: .system).code == .badParameter)
        #expect(it.run(Self.setManager("b", true), by: member("creator")).code == .badParameter)
        #expect(it.run(Self.setManager("a", true), by: member("creator")).error == nil)
        #expect(it.run(.setBlacklist(user("b"), enable: true, NotifyOptions()), by: .system).error == nil)
        it.run(.setBlacklist(user("a"), enable: true, NotifyOptions()), by: member("creator"))
        #expect(it.run(Self.setMember("c", true), by: member("manager")).error == nil)
    }

    @Test func `a blacklisted user gets no role`() {
        var it = Dialogue()
        it.run(.setBlacklist(user("bob"), enable: true, NotifyOptions()), by: .system)
        #expect(it.run(Self.setMember("bob", true), by: member("creator")).code == .conflict)
        #expect(it.run(Self.setManager("bob", true), by: member("creator")).code == .conflict)
    }

    @Test func `updating oneself tells 316, and save is for fixed members`() {
        var it = Dialogue()
        let changes = ProfileChanges(nick: "New")
        let effects = it.run(.updateMe(changes, save: true, NotifyOptions()), by: member("normal"))
        #expect(effects.events == [.memberUpdatedInfo])
        #expect(effects.notifications.first?.data == .member(set: changes))
        #expect(effects.notifications.first?.operator?.nick == "New")
        #expect(effects.member?.profile.nick == "New")
        #expect(it.state.member(user("normal"), at: it.now).profile.nick == "New")

        it.run(.updateMe(changes, save: true, NotifyOptions()), by: member("guest"))
        #expect(it.state.memberRecord(of: user("guest")) == nil)
        it.run(.updateMe(ProfileChanges(avatar: "a"), save: false, NotifyOptions()), by: member("normal"))
        #expect(it.state.member(user("normal"), at: it.now).profile == Profile(nick: "New"))
        it.run(.updateMe(ProfileChanges(avatar: "a"), save: true, NotifyOptions()), by: member("normal"))
        #expect(it.state.member(user("normal"), at: it.now).profile == Profile(nick: "New", avatar: "a"))
        #expect(it.run(.updateMe(changes, save: false, NotifyOptions()), by: .system).code == .badParameter)
    }

    @Test func `a muted member updates its own`() {
        var it = Dialogue()
        it.run(.setMute(user("bob"), enable: true, NotifyOptions()), by: .system)
        it.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        let update = CommandBody.updateMe(ProfileChanges(nick: "x"), save: true, NotifyOptions())
        #expect(it.run(update, by: member("bob")).error == nil)
        #expect(it.state.memberRecord(of: user("bob"))?.savedProfile?.nick == "x")
        it.run(.setMute(user("bob"), enable: false, NotifyOptions()), by: .system)
        #expect(it.state.memberRecord(of: user("bob")) == nil)
    }
}
