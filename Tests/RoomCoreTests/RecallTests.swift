import ChatModel
import Testing

@testable import RoomCore

@Suite struct RecallTests {
    private static func post(_ it: inout Dialogue, _ actor: Actor) -> RecallTarget {
        let message = it.run(.post(MessageDraft(body: .text("x"))), by: actor).shown.first
        return RecallTarget(
            seq: message?.seq ?? 0, sender: message?.from?.user, time: it.now, type: message?.body.type ?? .text)
    }

    @Test func `a sender recalls within the window`() {
        var it = Dialogue()
        let target = Self.post(&it, member("bob"))
        it.pass(seconds: 120)
        let effects = it.run(.recall([target], NotifyOptions()), by: member("bob"))
        #expect(effects.events == [.recalled])
        #expect(effects.contains(.erase(seq: target.seq, day: it.now.day)))
        let messageID = it.state.incarnation.map { MessageID.kept($0, seq: target.seq).text }
        #expect(effects.notifications.first?.data == .recalled(messageIDs: [messageID ?? ""]))
        #expect(effects.notifications.first?.targets.map(\.user) == [user("bob")])
        #expect(effects.result == .done)
    }

    @Test func `a millisecond later only managers do`() {
        var it = Dialogue()
        let target = Self.post(&it, member("bob"))
        let managers = Self.post(&it, member("manager"))
        it.pass(milliseconds: 120_001)
        #expect(it.run(.recall([target], NotifyOptions()), by: member("bob")).code == .forbidden)
        #expect(it.run(.recall([target], NotifyOptions()), by: member("normal")).code == .forbidden)
        #expect(it.run(.recall([target], NotifyOptions()), by: member("manager")).error == nil)
        #expect(it.run(.recall([managers], NotifyOptions()), by: member("manager")).error == nil)
    }

    @Test func `nobody recalls what is of an equal or higher rank`() {
        var it = Dialogue()
        let creators = Self.post(&it, member("creator"))
        let systems = Self.post(&it, .system)
        #expect(it.run(.recall([creators], NotifyOptions()), by: member("manager")).code == .forbidden)
        #expect(it.run(.recall([systems], NotifyOptions()), by: member("creator")).code == .forbidden)
        it.run(.setRole(user("manager2"), .manager, NotifyOptions()), by: .system)
        let managers = Self.post(&it, member("manager"))
        #expect(it.run(.recall([managers], NotifyOptions()), by: member("manager2")).code == .forbidden)
        #expect(it.run(.recall([managers], NotifyOptions()), by: member("creator")).error == nil)
        #expect(it.run(.recall([creators, systems], NotifyOptions()), by: .system).error == nil)
    }

    @Test func `a muted member recalls`() {
        var it = Dialogue()
        let target = Self.post(&it, member("bob"))
        it.run(.setMute(user("bob"), enable: true, NotifyOptions()), by: .system)
        #expect(it.run(.recall([target], NotifyOptions()), by: member("bob")).error == nil)
    }

    @Test func `several are one 323, whose senders come once`() {
        var it = Dialogue()
        let targets = [member("bob"), member("eve"), member("bob")].map { Self.post(&it, $0) }
        let effects = it.run(.recall(targets, NotifyOptions()), by: .system)
        #expect(effects.events == [.recalled])
        #expect(effects.notifications.first?.targets.map(\.user) == [user("bob"), user("eve")])
        #expect(effects.count { if case .erase = $0 { true } else { false } } == 3)
    }

    @Test func `nothing left to recall is done in silence`() {
        var it = Dialogue()
        #expect(it.run(.recall([], NotifyOptions()), by: .system) == [.result(.done)])
    }

    @Test func `what was never there is not found, and one bad target refuses all`() {
        var it = Dialogue()
        let target = Self.post(&it, member("bob"))
        var unknown = target
        unknown.seq = it.state.lastSeq + 1
        #expect(it.run(.recall([target, unknown], NotifyOptions()), by: .system).code == .notFound)
        unknown.seq = 0
        #expect(it.run(.recall([unknown], NotifyOptions()), by: .system).code == .notFound)
    }

    @Test func `a notification stays`() {
        var it = Dialogue()
        it.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        let target = RecallTarget(seq: 1, sender: nil, time: it.now, type: .notification)
        #expect(it.run(.recall([target], NotifyOptions()), by: .system).code == .forbidden)
    }

    @Test func `a recalled post is still remembered`() {
        var it = Dialogue()
        let body = CommandBody.post(MessageDraft(body: .text("x")))
        let first = it.run(body, by: member("bob"), key: 1)
        let target = RecallTarget(seq: 1, sender: user("bob"), time: it.now, type: .text)
        it.run(.recall([target], NotifyOptions()), by: member("bob"))
        #expect(it.run(body, by: member("bob"), key: 1) == first.suffix(1))
    }
}
