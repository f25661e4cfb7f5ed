import ChatModel
import Testing

@testable import RoomCore

@Suite struct SanctionTests {
    private static func mute(_ name: String, _ enable: Bool) -> CommandBody {
        .setMute(user(name), enable: enable, NotifyOptions())
    }

    private static func blacklist(_ name: String, _ enable: Bool) -> CommandBody {
        .setBlacklist(user(name), enable: enable, NotifyOptions())
    }

    private static func tempMute(_ name: String, _ seconds: Int64) -> CommandBody {
        .tempMute(user(name), seconds: seconds, NotifyOptions())
    }

    private static func kick(_ name: String, _ banSeconds: Int64? = nil) -> CommandBody {
        .kick(user(name), banSeconds: banSeconds, NotifyOptions(notifyExt: "why"))
    }

    private static let seat = CommandBody.queueSet(QueueWrite(key: "mic", value: "v", transient: true), NotifyOptions())

    @Test func `muting a guest makes it restricted until the last flag is gone`() {
        var it = Dialogue()
        #expect(it.run(Self.mute("bob", true), by: member("manager")).events == [.muted])
        #expect(it.state.role(of: user("bob")) == .restricted)
        #expect(it.run(Self.mute("bob", true), by: member("manager")).events.isEmpty)
        it.run(Self.blacklist("bob", true), by: member("manager"))
        #expect(it.run(Self.mute("bob", false), by: member("manager")).events == [.unmuted])
        #expect(it.state.role(of: user("bob")) == .restricted)
        #expect(it.run(Self.blacklist("bob", false), by: member("manager")).events == [.unblacklisted])
        #expect(it.state.role(of: user("bob")) == .guest)
        #expect(it.state.memberRecord(of: user("bob")) == nil)
    }

    @Test func `muting leaves a role, blacklisting removes it`() {
        var it = Dialogue()
        #expect(it.run(Self.mute("normal", true), by: member("manager")).member?.role == .normal)
        let effects = it.run(Self.blacklist("manager", true), by: member("creator"))
        #expect(effects.events == [.blacklisted])
        #expect(effects.member?.role == .restricted)
        #expect(effects.member?.blacklisted == true)
        #expect(it.run(Self.blacklist("manager", false), by: member("creator")).member?.role == .guest)
    }

    @Test func `blacklisting kicks with reason 5, takes seats and forbids entering`() {
        var it = Dialogue()
        it.run(Self.seat, by: member("bob"))
        let effects = it.run(
            .setBlacklist(user("bob"), enable: true, NotifyOptions(notifyExt: "spam")), by: member("manager"))
        #expect(effects.events == [.blacklisted, .queueBatchChanged])
        #expect(effects.contains(.kick(user("bob"), reason: .blacklisted, ext: "spam")))
        #expect(it.state.queueCount == 0)
        let error = #expect(throws: ChatError.self) {
            try it.state.mayEnter(user("bob"), anonymous: false, isHere: false, invitedByToken: true, at: it.now)
        }
        #expect(error?.code == .blacklisted)
        #expect(error?.retryAfterMs == nil)
        let again = it.run(Self.blacklist("bob", true), by: member("manager"))
        #expect(again.count == 1)
        #expect(it.run(.post(MessageDraft(body: .text("x"))), by: member("bob")).code == .blacklisted)
    }

    @Test func `there are at most so many blacklisted users`() {
        var it = Dialogue()
        it.facts.blacklistedMax = 1
        #expect(it.run(Self.blacklist("a", true), by: .system).error == nil)
        #expect(it.run(Self.blacklist("b", true), by: .system).code == .badParameter)
        #expect(it.run(Self.blacklist("a", true), by: .system).error == nil)
        it.run(Self.blacklist("a", false), by: .system)
        #expect(it.run(Self.blacklist("b", true), by: .system).error == nil)
    }

    @Test func `a temporary mute is told by 314, and ends by 315 without operator`() {
        var it = Dialogue()
        let effects = it.run(Self.tempMute("bob", 60), by: member("manager"))
        #expect(effects.events == [.temporarilyMuted])
        #expect(effects.notifications.first?.data == .seconds(60))
        #expect(effects.member?.tempMuted == true)
        #expect(effects.member?.tempMuteSeconds == 60)
        #expect(effects.member?.role == .guest)
        #expect(effects.rows.first?.deadline == it.now.adding(seconds: 60))
        #expect(it.state.nextDeadline == it.now.adding(seconds: 60))

        it.pass(milliseconds: 59_999)
        #expect(it.state.member(user("bob"), at: it.now).tempMuteSeconds == 1)
        #expect(it.run(.expire, by: .system).events.isEmpty)
        it.pass(milliseconds: 1)
        #expect(!it.state.member(user("bob"), at: it.now).tempMuted)
        let ended = it.run(.expire, by: .system)
        #expect(ended.events == [.temporaryMuteLifted])
        #expect(ended.notifications.first?.operator == nil)
        #expect(ended.notifications.first?.targets.map(\.user) == [user("bob")])
        #expect(it.state.nextDeadline == nil)
        #expect(it.run(.expire, by: .system).events.isEmpty)
    }

    @Test func `a temporary mute ends in a closed room too`() {
        var it = Dialogue()
        it.run(Self.tempMute("bob", 1), by: .system)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        it.pass(seconds: 1)
        #expect(it.run(.expire, by: .system).events == [.temporaryMuteLifted])
    }

    @Test func `a new duration replaces the old one, and 0 lifts once`() {
        var it = Dialogue()
        it.run(Self.tempMute("bob", 60), by: member("manager"))
        #expect(it.run(Self.tempMute("bob", 10), by: member("manager")).events == [.temporarilyMuted])
        #expect(it.state.nextDeadline == it.now.adding(seconds: 10))
        let lifted = it.run(Self.tempMute("bob", 0), by: member("manager"))
        #expect(lifted.events == [.temporaryMuteLifted])
        #expect(lifted.notifications.first?.operator?.user == user("manager"))
        #expect(it.run(Self.tempMute("bob", 0), by: member("manager")).events.isEmpty)
    }

    @Test func `mute and temporary mute are independent`() {
        var it = Dialogue()
        it.run(Self.mute("bob", true), by: member("manager"))
        it.run(Self.tempMute("bob", 10), by: member("manager"))
        it.run(Self.mute("bob", false), by: member("manager"))
        #expect(it.state.role(of: user("bob")) == .guest)
        #expect(it.run(.post(MessageDraft(body: .text("x"))), by: member("bob")).error?.retryAfterMs == 10_000)
        it.run(Self.mute("bob", true), by: member("manager"))
        it.pass(seconds: 10)
        it.run(.expire, by: .system)
        #expect(it.run(.post(MessageDraft(body: .text("x"))), by: member("bob")).code == .muted)
    }

    @Test(arguments: [
        (Int64(-1), ErrorCode.badParameter), (2_592_000, nil), (2_592_001, .badParameter), (.max, .badParameter),
    ])
    func `durations reach to 30 days`(seconds: Int64, code: ErrorCode?) {
        var it = Dialogue()
        #expect(it.run(Self.tempMute("bob", seconds), by: .system).code == code)
        #expect(it.run(Self.kick("bob", seconds), by: .system).code == code)
    }

    @Test func `a kick is one 313, and a ban says when it ends`() {
        var it = Dialogue()
        it.run(Self.seat, by: member("bob"))
        let effects = it.run(Self.kick("bob", 30), by: member("manager"))
        #expect(effects.events == [.kicked, .queueBatchChanged])
        #expect(effects.contains(.kick(user("bob"), reason: .byManager, ext: "why")))
        #expect(effects.result == .done)
        let error = #expect(throws: ChatError.self) {
            try it.state.mayEnter(user("bob"), anonymous: false, isHere: false, invitedByToken: false, at: it.now)
        }
        #expect(error?.code == .blacklisted)
        #expect(error?.retryAfterMs == 30_000)
        it.pass(seconds: 30)
        #expect(throws: Never.self) {
            try it.state.mayEnter(user("bob"), anonymous: false, isHere: false, invitedByToken: false, at: it.now)
        }
        #expect(it.run(.expire, by: .system).events.isEmpty)
        #expect(it.state.memberRecord(of: user("bob")) == nil)
    }

    @Test func `a kick without a ban leaves nothing behind`() {
        var it = Dialogue()
        it.run(Self.kick("bob"), by: member("manager"))
        #expect(it.state.memberRecord(of: user("bob")) == nil)
        #expect(throws: Never.self) {
            try it.state.mayEnter(user("bob"), anonymous: false, isHere: false, invitedByToken: false, at: it.now)
        }
    }

    @Test func `mute and ban of one user end each in its time`() {
        var it = Dialogue()
        it.run(Self.tempMute("bob", 20), by: .system)
        it.run(Self.kick("bob", 10), by: .system)
        #expect(it.state.nextDeadline == it.now.adding(seconds: 10))
        it.pass(seconds: 10)
        #expect(it.run(.expire, by: .system).events.isEmpty)
        #expect(it.state.nextDeadline == it.now.adding(seconds: 10))
        it.pass(seconds: 10)
        #expect(it.run(.expire, by: .system).events == [.temporaryMuteLifted])
    }

    @Test func `many ends at once come in bounded portions`() {
        var it = Dialogue()
        for number in 0..<300 { it.run(Self.tempMute("u\(number)", 5), by: .system) }
        it.pass(seconds: 5)
        #expect(it.run(.expire, by: .system).events.count == 256)
        #expect(it.state.nextDeadline == it.now)
        #expect(it.run(.expire, by: .system).events.count == 44)
        #expect(it.state.nextDeadline == nil)
    }

    @Test func `entry levels`() {
        var it = Dialogue()
        func may(_ name: String, anonymous: Bool = false, token: Bool = false) -> ErrorCode? {
            do throws(ChatError) {
                try it.state.mayEnter(
                    user(name), anonymous: anonymous, isHere: false, invitedByToken: token, at: it.now)
                return nil
            } catch { return error.code }
        }
        func set(_ entry: EntryLevel) {
            var set = RoomChanges()
            set.entry = entry
            it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        }
        #expect(may("anon", anonymous: true) == nil)
        set(.users)
        #expect(may("anon", anonymous: true) == .forbidden)
        #expect(may("bob") == nil)
        set(.invited)
        #expect(may("anon", anonymous: true) == .forbidden)
        #expect(may("bob") == .forbidden)
        #expect(may("bob", token: true) == nil)
        #expect(may("normal") == nil)
        #expect(may("creator") == nil)
    }

    @Test func `barrage asks what a post asks, slow mode aside`() {
        var set = RoomChanges()
        set.slowModeSeconds = 100
        var it = Dialogue(set: set)
        func code(_ name: String, anonymous: Bool = false) -> ErrorCode? {
            do throws(ChatError) {
                try it.state.maySpeak(user(name), anonymous: anonymous, at: it.now)
                return nil
            } catch { return error.code }
        }
        it.run(.post(MessageDraft(body: .text("x"))), by: member("bob"))
        #expect(code("bob") == nil)
        #expect(code("anon", anonymous: true) == .forbidden)
        it.run(Self.mute("bob", true), by: .system)
        #expect(code("bob") == .muted)
        it.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        #expect(code("normal") == .roomMuted)
        #expect(code("manager") == nil)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(code("manager") == .roomClosed)
    }

    @Test func `banSeconds 0 lifts a ban of somebody who is away, without 313, and nil leaves it`() {
        var it = Dialogue()
        it.run(Self.kick("bob", 600), by: member("manager"))
        it.run(Self.kick("bob", nil), by: member("manager"))
        #expect(it.state.isBanned(user("bob"), at: it.now))
        let lifted = it.run(Self.kick("bob", 0), by: member("manager"))
        #expect(lifted.events.isEmpty && lifted.code == nil)
        #expect(!it.state.isBanned(user("bob"), at: it.now) && it.state.nextDeadline == nil)
        // The ban may have ended since the leader looked: nobody is told of a kick of nobody.
        #expect(it.run(Self.kick("bob", 0), by: member("manager")).events.isEmpty)
        // Whoever is here is put out by it as by any other kick.
        it.facts.names = [user("bob"): Profile()]
        #expect(it.run(Self.kick("bob", 0), by: member("manager")).events == [.kicked])
        #expect(it.run(Self.kick("bob", 0), by: member("normal")).code == .forbidden)
    }

    @Test func `the address of an anonymous member who is blacklisted stays out for its time, the member for good`()
        throws
    {
        var it = Dialogue()
        (it.facts.addressHash, it.facts.addressBarSeconds) = (77, 600)
        it.run(.setBlacklist(user("anon-1"), enable: true, NotifyOptions()), by: member("manager"))
        func refusal(_ name: String, anonymous: Bool = true, from hash: UInt64?) -> ChatError? {
            do throws(ChatError) {
                try it.state.mayEnter(
                    user(name), anonymous: anonymous, isHere: false, invitedByToken: false, addressHash: hash,
                    at: it.now)
                return nil
            } catch { return error }
        }
        #expect(refusal("anon-1", from: 5)?.code == .blacklisted)
        #expect(refusal("anon-2", from: 77)?.retryAfterMs == 600_000)
        #expect(refusal("anon-2", from: 78) == nil && refusal("anon-2", from: nil) == nil)
        // Users are known by their names.
        #expect(refusal("bob", anonymous: false, from: 77) == nil)
        it.pass(seconds: 600)
        #expect(refusal("anon-2", from: 77) == nil)
        // And the address is forgotten then.
        it.run(.expire, by: .system)
        #expect(it.state.memberRecord(of: user("anon-1"))?.barredAddress == nil && it.state.nextDeadline == nil)
        #expect(refusal("anon-1", from: 5)?.code == .blacklisted)
    }

    @Test(arguments: [["anon-1", "anon-2"], ["anon-2", "anon-1"]])
    func `an address of which two are blacklisted stays out until the later end, whoever is taken out`(
        order: [String]
    ) throws {
        var it = Dialogue()
        (it.facts.addressHash, it.facts.addressBarSeconds) = (77, 600)
        it.run(.setBlacklist(user(order[0]), enable: true, NotifyOptions()), by: member("manager"))
        it.pass(seconds: 100)
        it.run(.setBlacklist(user(order[1]), enable: true, NotifyOptions()), by: member("manager"))
        func wait(_ state: RoomState) -> Int64? {
            do throws(ChatError) {
                try state.mayEnter(
                    user("anon-3"), anonymous: true, isHere: false, invitedByToken: false, addressHash: 77, at: it.now)
                return nil
            } catch { return error.retryAfterMs }
        }
        #expect(wait(it.state) == 600_000)
        // The second one is let in again; the first one's ten minutes go on.
        it.run(.setBlacklist(user(order[1]), enable: false, NotifyOptions()), by: member("manager"))
        #expect(wait(it.state) == 500_000)
        it.run(.setBlacklist(user(order[1]), enable: true, NotifyOptions()), by: member("manager"))
        // As the rows come from the disk, in either order.
        for users in [order, order.reversed()] {
            var loaded = it.state
            for name in users {
                let record = loaded.memberRecord(of: user(name))
                loaded.members.set(nil, of: user(name))
                loaded.members.set(record, of: user(name))
            }
            #expect(wait(loaded) == 600_000, "\(users)")
        }
        it.run(.setBlacklist(user(order[0]), enable: false, NotifyOptions()), by: member("manager"))
        #expect(wait(it.state) == 600_000)
        it.run(.setBlacklist(user(order[1]), enable: false, NotifyOptions()), by: member("manager"))
        #expect(wait(it.state) == nil)
    }

    @Test func `taking an anonymous member from the blacklist opens the address again`() throws {
        var it = Dialogue()
        (it.facts.addressHash, it.facts.addressBarSeconds) = (77, 600)
        it.run(.setBlacklist(user("anon-1"), enable: true, NotifyOptions()), by: member("manager"))
        it.run(.setBlacklist(user("anon-1"), enable: false, NotifyOptions()), by: member("manager"))
        try it.state.mayEnter(
            user("anon-2"), anonymous: true, isHere: false, invitedByToken: false, addressHash: 77, at: it.now)
        try it.state.mayEnter(
            user("anon-1"), anonymous: true, isHere: false, invitedByToken: false, addressHash: 77, at: it.now)
    }
}
