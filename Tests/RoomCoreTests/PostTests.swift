import ChatModel
import Testing

@testable import RoomCore

@Suite struct PostTests {
    private static func text(_ text: String = "hello") -> CommandBody { .post(MessageDraft(body: .text(text))) }

    private static func draft(_ change: (inout MessageDraft) -> Void) -> CommandBody {
        var draft = MessageDraft(body: .text("hello"))
        change(&draft)
        return .post(draft)
    }

    @Test func `seq begins at 1 and has no holes, and unkept messages follow it`() {
        var it = Dialogue()
        #expect(it.run(Self.text(), by: member("guest")).posted?.place == .kept(seq: 1))
        #expect(it.run(Self.draft { $0.keep = false }, by: member("guest")).posted?.place == .unkept(after: 1))
        #expect(it.run(Self.draft { $0.to = [user("bob")] }, by: member("guest")).posted?.place == .unkept(after: 1))
        let command = CommandBody.post(MessageDraft(body: .command(payload: [1, 2])))
        #expect(it.run(command, by: member("guest")).posted?.place == .unkept(after: 1))
        #expect(it.run(Self.text(), by: member("guest")).posted?.place == .kept(seq: 2))
    }

    @Test func `unkept messages of one entry have different IDs`() {
        var it = Dialogue()
        let unkept = Self.draft { $0.keep = false }
        let first = it.run(unkept, by: .system).posted?.messageID
        it.index -= 1
        let second = it.run(unkept, by: .system).posted?.messageID
        let third = it.run(unkept, by: .system).posted?.messageID
        #expect(Set([first, second, third]).count == 3)
    }

    @Test func `a message carries who sent it as of then, and its draft`() {
        var it = Dialogue()
        let body = Self.draft {
            $0.mentions = [user("bob")]
            $0.mentionAll = true
            $0.ext = "e"
        }
        let effects = it.run(body, by: member("manager"), key: 5, id: CommandID(scope: "manager", text: "c1"))
        let message = effects.shown.first
        #expect(message?.from == Sender(user: user("manager"), profile: Profile(nick: "nick-manager"), role: .manager))
        #expect(message?.mentions == [user("bob")])
        #expect(message?.mentionAll == true)
        #expect(message?.ext == "e")
        #expect(message?.clientID == "c1")
        #expect(message?.time == it.now)
        #expect(message?.messageID == effects.posted?.messageID)
        #expect(effects.contains { $0 == message.map { .append($0, commandKey: CommandKey(high: 7, low: 5)) } })
    }

    @Test func `an ID that no client chose is not shown`() {
        var it = Dialogue()
        let effects = it.run(Self.text(), by: member("bob"), id: CommandID(scope: "", text: "session#1"))
        #expect(effects.shown.first?.clientID == nil)
    }

    @Test func `the server API sends for anybody or for nobody, past mutes and slow mode`() {
        var set = RoomChanges()
        set.slowModeSeconds = 60
        var it = Dialogue(set: set)
        it.run(.setMute(user("bob"), enable: true, NotifyOptions()), by: .system)
        it.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        let bob = Actor.server(UserName(user: user("bob"), nick: "Bob"))
        #expect(it.run(Self.text(), by: bob).shown.first?.from?.role == .guest)
        #expect(it.run(Self.text(), by: bob).shown.first?.from?.profile.nick == "Bob")
        #expect(it.run(Self.text(), by: .system).shown.map(\.from) == [nil])
    }

    @Test func `nobody posts notifications`() {
        var it = Dialogue()
        let body = CommandBody.post(MessageDraft(body: .notification(ChatModel.Notification(.enter))))
        #expect(it.run(body, by: .system).code == .badParameter)
        #expect(it.run(.post(MessageDraft(body: .recalled(.text))), by: .system).code == .badParameter)
    }

    @Test func `anonymous members change nothing`() {
        var it = Dialogue()
        let anonymous = member("anon", anonymous: true)
        for body: CommandBody in [
            Self.text(), .queueSet(QueueWrite(key: "k", value: "v"), NotifyOptions()),
            .updateMe(ProfileChanges(nick: "x"), save: false, NotifyOptions()), .queueTake(key: nil, NotifyOptions()),
            .muteRoom(enable: true, NotifyOptions()),
        ] {
            #expect(it.run(body, by: anonymous).code == .forbidden)
        }
    }

    @Test func `a muted member does not send, a manager neither`() {
        var it = Dialogue()
        it.run(.setMute(user("manager"), enable: true, NotifyOptions()), by: member("creator"))
        let error = it.run(Self.text(), by: member("manager")).error
        #expect(error?.code == .muted)
        #expect(error?.retryAfterMs == nil)
    }

    @Test func `a temporary mute says when it ends, and ends by itself`() {
        var it = Dialogue()
        it.run(.tempMute(user("bob"), seconds: 42, NotifyOptions()), by: member("manager"))
        let error = it.run(Self.text(), by: member("bob")).error
        #expect(error?.code == .muted)
        #expect(error?.retryAfterMs == 42_000)
        it.pass(milliseconds: 41_999)
        #expect(it.run(Self.text(), by: member("bob")).error?.retryAfterMs == 1)
        it.pass(milliseconds: 1)
        #expect(it.run(Self.text(), by: member("bob")).error == nil)
    }

    @Test func `in a muted room only creator and managers send, and the queue stays open`() {
        var it = Dialogue()
        it.run(.muteRoom(enable: true, NotifyOptions()), by: member("manager"))
        #expect(it.run(Self.text(), by: member("normal")).code == .roomMuted)
        #expect(it.run(Self.text(), by: member("guest")).code == .roomMuted)
        #expect(it.run(Self.text(), by: member("manager")).error == nil)
        #expect(it.run(Self.text(), by: member("creator")).error == nil)
        let queue = CommandBody.queueSet(QueueWrite(key: "k", value: "v"), NotifyOptions())
        #expect(it.run(queue, by: member("guest")).error == nil)
    }

    @Test func `mentionAll is for creator and managers`() {
        var it = Dialogue()
        let body = Self.draft { $0.mentionAll = true }
        #expect(it.run(body, by: member("normal")).code == .forbidden)
        #expect(it.run(body, by: member("manager")).error == nil)
        #expect(it.run(body, by: .system).error == nil)
    }

    @Test func `slow mode lets one message through in its time, and managers always`() {
        var set = RoomChanges()
        set.slowModeSeconds = 10
        var it = Dialogue(set: set)
        #expect(it.run(Self.text(), by: member("bob")).error == nil)
        #expect(it.run(Self.text(), by: member("eve")).error == nil)
        it.pass(milliseconds: 9_999)
        let error = it.run(Self.text(), by: member("bob")).error
        #expect(error?.code == .tooOften)
        #expect(error?.retryAfterMs == 1)
        #expect(it.run(Self.draft { $0.keep = false }, by: member("bob")).code == .tooOften, "kept or not")
        it.pass(milliseconds: 1)
        #expect(it.run(Self.text(), by: member("bob")).error == nil)
        #expect(it.run(Self.text(), by: member("bob")).code == .tooOften)
        for _ in 0..<3 { #expect(it.run(Self.text(), by: member("manager")).error == nil) }
    }

    @Test func `who spoke under slow mode is forgotten when it no longer matters`() {
        var set = RoomChanges()
        set.slowModeSeconds = 10
        var it = Dialogue(set: set)
        for name in 0..<40 { it.run(Self.text(), by: member("u\(name)")) }
        #expect(it.state.slow.times.count == 40)
        set.slowModeSeconds = 0
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        for _ in 0..<10 { it.run(Self.text(), by: member("bob")) }
        #expect(it.state.slow.times.isEmpty)
    }

    @Test func `who spoke under slow mode is swept from a room in which nobody speaks any more`() {
        var set = RoomChanges()
        set.slowModeSeconds = 10
        var it = Dialogue(set: set)
        var due = it.now
        for name in 0..<40 {
            let row = it.run(Self.text(), by: member("u\(name)")).rows.first
            due = it.now.adding(seconds: 70)
            #expect(row?.kind == .slow && row?.deadline == due)
        }
        #expect(it.state.nextDeadline == due)
        it.now = due
        let gone = it.run(.expire, by: .system).rows
        #expect(gone.count == 40 && gone.allSatisfy { $0.kind == .slow && $0.value == nil })
        #expect(it.state.nextDeadline == nil)
    }

    @Test func `a slow mode that is made longer holds for who has spoken under the shorter one`() {
        var set = RoomChanges()
        set.slowModeSeconds = 10
        var it = Dialogue(set: set)
        it.run(Self.text(), by: member("bob"))
        set.slowModeSeconds = 1_000
        it.run(.updateRoom(set: set, NotifyOptions()), by: .system)
        it.pass(seconds: 70)
        #expect(it.run(.expire, by: .system).rows.first?.deadline == it.now.adding(seconds: 990))
        it.pass(seconds: 929)
        #expect(it.run(Self.text(), by: member("bob")).error?.retryAfterMs == 1_000)
        it.pass(seconds: 1)
        #expect(it.run(Self.text(), by: member("bob")).error == nil)
        #expect(it.state.slow.times.count == 1)
    }

    @Test func `HIGH holds for managers ten times in any second`() {
        var it = Dialogue()
        let high = Self.draft { $0.priority = .high }
        #expect(it.run(high, by: member("normal")).posted?.priority == .normal)
        for place in 0..<10 {
            #expect(it.run(high, by: member("manager")).posted?.priority == .high)
            if place < 9 { it.pass(milliseconds: 100) }
        }
        #expect(it.run(high, by: member("creator")).shown.first?.priority == .normal)
        it.pass(milliseconds: 99)
        #expect(it.run(high, by: member("manager")).posted?.priority == .normal)
        it.pass(milliseconds: 1)
        #expect(it.run(high, by: member("manager")).posted?.priority == .high)
        #expect(it.run(high, by: member("manager")).posted?.priority == .normal)
        #expect(it.run(Self.draft { $0.priority = .low }, by: member("bob")).posted?.priority == .low)
    }

    @Test func `the server API has as many HIGH again, also in the name of a user`() {
        var it = Dialogue()
        it.facts.highPerSecondMax = 2
        let high = Self.draft { $0.priority = .high }
        for _ in 0..<2 { #expect(it.run(high, by: member("manager")).posted?.priority == .high) }
        #expect(it.run(high, by: .system).posted?.priority == .high)
        #expect(it.run(high, by: .server(UserName(user: user("manager"), nick: ""))).posted?.priority == .high)
        #expect(it.run(high, by: .system).posted?.priority == .normal)
        #expect(it.run(high, by: member("manager")).posted?.priority == .normal)
        it.pass(seconds: 1)
        #expect(it.run(high, by: .system).posted?.priority == .high)
    }

    @Test func `HIGH is counted for unkept messages too`() {
        var it = Dialogue()
        it.facts.highPerSecondMax = 1
        let high = Self.draft {
            $0.priority = .high
            $0.keep = false
        }
        #expect(it.run(high, by: .system).posted?.priority == .high)
        #expect(it.run(high, by: .system).posted?.priority == .normal)
    }
}
