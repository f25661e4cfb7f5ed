import ChatModel
import Testing

@testable import RoomCore

/// Messages of before (PROTOCOL.md, "Import").
@Suite struct ImportTests {
    private static func message(_ time: Timestamp, key: UInt64? = nil) -> ImportedMessage {
        var message = ImportedMessage(
            time: time, from: Sender(user: user("ann"), profile: Profile(nick: "Ann"), role: .manager),
            body: .text("at \(time.milliseconds)"))
        message.clientID = key.map { "c\($0)" }
        message.key = key.map { CommandKey(high: 7, low: $0) }
        return message
    }

    private static func bring(
        _ messages: [ImportedMessage], after newest: NewestMessage? = nil, to it: inout Dialogue,
        by actor: Actor = .system, key: UInt64? = nil
    ) -> [Effect] {
        it.run(.importMessages(messages, after: newest), by: actor, key: key)
    }

    private static func imported(_ count: Int64, skipped: Int64 = 0, seq: UInt64) -> CommandResult {
        .imported(ImportResult(imported: count, skipped: skipped, seq: seq))
    }

    @Test func `they are kept as they were, with new seqs, and shown to nobody`() {
        var it = Dialogue()
        it.facts.webhook = true
        let times = [it.now.adding(seconds: -900_000), it.now.adding(seconds: -1), it.now]
        var given = times.map { Self.message($0) }
        (given[0].ext, given[0].mentions, given[0].priority) = ("e", [user("bob")], .high)
        let effects = Self.bring(given, to: &it)
        #expect(effects.result == Self.imported(3, seq: 3))
        let kept = effects.compactMap { effect -> Message? in
            if case .append(let message, _) = effect { message } else { nil }
        }
        #expect(kept.map(\.time) == times && kept.map(\.seq) == [1, 2, 3])
        #expect(kept.map(\.from) == given.map(\.from) && kept.map(\.body) == given.map(\.body))
        #expect(kept[0].ext == "e" && kept[0].mentions == [user("bob")] && kept[0].priority == .high)
        #expect(kept.allSatisfy { !$0.webhook } && it.state.webhook?.firstSeq ?? 0 == 0)
        #expect(effects.shown.isEmpty)
        #expect(effects.contains(.leaveOut(1...3)))
        let next = it.run(.post(MessageDraft(body: .text("now"))), by: member("bob"))
        #expect(next.posted?.place == .kept(seq: 4))
    }

    @Test func `a repeat of the command imports nothing twice`() {
        var it = Dialogue()
        let first = Self.bring([Self.message(it.now)], to: &it, key: 1)
        it.pass(seconds: 599)
        #expect(Self.bring([Self.message(it.now)], to: &it, key: 1) == first.suffix(1))
        #expect(it.state.lastSeq == 1)
    }

    @Test func `a message whose clientId the room knows is skipped, from a send and from another import`() {
        var it = Dialogue()
        it.run(.post(MessageDraft(body: .text("x"))), by: member("ann"), key: 1)
        let newest = NewestMessage(seq: 1, time: it.now)
        it.pass(seconds: 10)
        // It is older than the newest one, and is not refused for that.
        let both = [Self.message(it.now.adding(seconds: -20), key: 1), Self.message(it.now, key: 2)]
        #expect(Self.bring(both, after: newest, to: &it).result == Self.imported(1, skipped: 1, seq: 2))
        #expect(Self.bring(both, to: &it).result == Self.imported(0, skipped: 2, seq: 2))
        // The same twice in one import.
        let third = Self.message(it.now, key: 3)
        let answer = Self.bring([third, third], after: NewestMessage(seq: 2, time: it.now), to: &it)
        #expect(answer.result == Self.imported(1, skipped: 1, seq: 3))
        // And its sender's own repeat gets it.
        #expect(
            it.run(.post(MessageDraft(body: .text("x"))), by: member("ann"), key: 3).posted?.place == .kept(seq: 3))
    }

    @Test func `an old message leaves no key, for nobody asks for it any more`() {
        var it = Dialogue()
        let old = it.now.adding(seconds: -Limits.commandMemorySeconds)
        let effects = Self.bring(
            [Self.message(old, key: 1), Self.message(old.adding(milliseconds: 1), key: 2)], to: &it)
        let keys = effects.compactMap { effect -> CommandKey?? in
            if case .append(_, let key) = effect { .some(key) } else { nil }
        }
        #expect(keys == [nil, CommandKey(high: 7, low: 2)])
    }

    @Test func `what has expired is skipped, what is not of the past or out of order is refused as a whole`() {
        var it = Dialogue()
        it.facts.keptSince = it.now.adding(seconds: -100)
        let old = Self.message(it.now.adding(seconds: -101))
        let oldest = Self.message(it.now.adding(seconds: -100))
        #expect(Self.bring([old, oldest], to: &it).result == Self.imported(1, skipped: 1, seq: 1))
        let newest = NewestMessage(seq: 1, time: oldest.time)
        let future = Self.message(it.now.adding(milliseconds: 1))
        #expect(Self.bring([oldest, future], after: newest, to: &it).code == .badParameter)
        let turned = [Self.message(it.now), Self.message(it.now.adding(milliseconds: -1))]
        #expect(Self.bring(turned, after: newest, to: &it).code == .badParameter)
        #expect(it.state.lastSeq == 1)
        #expect(Self.bring([old], to: &it).result == Self.imported(0, skipped: 1, seq: 1))
    }

    @Test func `none goes before the newest message, nor behind one that the leader did not know`() {
        var it = Dialogue()
        it.run(.post(MessageDraft(body: .text("x"))), by: member("ann"))
        let known = NewestMessage(seq: 1, time: it.now)
        it.pass(seconds: 1)
        let before = Self.message(it.now.adding(milliseconds: -1_001))
        #expect(Self.bring([before], after: known, to: &it).code == .conflict)
        let same = Self.message(it.now.adding(milliseconds: -1_000))
        #expect(Self.bring([same], to: &it).code == .unavailable)
        #expect(Self.bring([same], after: NewestMessage(seq: 2, time: it.now), to: &it).code == .unavailable)
        #expect(Self.bring([same], after: known, to: &it).result == Self.imported(1, seq: 2))
        // The newest one has expired: whatever is not too old is later.
        let last = Self.bring([before], after: NewestMessage(seq: 2, time: nil), to: &it)
        #expect(last.result == Self.imported(1, seq: 3))
    }

    @Test func `no member imports, and no room that is closed or not there takes any`() {
        var it = Dialogue()
        let given = [Self.message(it.now)]
        #expect(Self.bring(given, to: &it, by: member("creator")).code == .forbidden)
        it.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        #expect(Self.bring(given, to: &it).code == .roomClosed)
        it.run(.deleteRoom, by: .system)
        #expect(Self.bring(given, to: &it).code == .notFound)
    }

    @Test func `viewers are told in one gap a second which messages they were not shown`() {
        var budget = ViewerBudget()
        let now = Timestamp(1_700_000_000_000)
        budget.leaveOut(3...102, at: now)
        budget.leaveOut(103...202, at: now)
        budget.leaveOut(300...301, at: now)
        #expect(budget.takeReport(at: now) == nil)
        #expect(budget.takeReport(at: now.adding(seconds: 1))?.ranges == [3...202, 300...301])
        #expect(budget.takeReport(at: now.adding(seconds: 9)) == nil)
        #expect(budget.untold(through: 250, at: now.adding(seconds: 9)) == 3...250)
    }
}
