import ChatModel
import Testing

@testable import RoomCore

/// Reports of messages (PROTOCOL.md, "Reports"). That every state can be restored from its rows is checked by `Dialogue`.
@Suite struct ReportTests {
    private typealias Posted = (id: String, original: OriginalMessage)

    @discardableResult
    private static func report(
        _ it: inout Dialogue, _ message: Posted, _ reason: String? = nil, by actor: Actor = member("ann"),
        key: UInt64? = nil
    ) -> [Effect] {
        it.facts.original = message.original
        defer { it.facts.original = nil }
        return it.run(.report(messageID: message.id, reason: reason), by: actor, key: key)
    }

    private static func recall(_ it: inout Dialogue, _ message: Posted) {
        let target = RecallTarget(
            seq: message.original.seq, sender: message.original.user, time: message.original.time, type: .text)
        it.run(.recall([target], NotifyOptions()), by: .system)
    }

    private static func all(_ it: Dialogue) throws -> [MessageReport] {
        try it.state.reportPage(after: nil, limit: 2_000, at: it.now).items
    }

    @Test func `a report is in the list with what moderators need, and tells nobody in the room`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it, "rude")
        it.pass(seconds: 1)
        let effects = Self.report(&it, message, "insults")
        #expect(effects.result == .done && effects.shown.isEmpty)
        let report = try #require(try Self.all(it).first)
        #expect(report.messageID == message.id && report.seq == message.original.seq && report.index == it.index)
        #expect(report.from == UserName(user: user("bob"), nick: "nick-bob") && report.excerpt == "rude")
        #expect(report.reporter == UserName(user: user("ann"), nick: "nick-ann") && report.reason == "insults")
        #expect(report.time == it.now && report.after == it.state.lastSeq)
        // A message of nobody.
        let note = try #require(it.run(.post(MessageDraft(body: .text("x"))), by: .system).shown.first)
        let system = (note.messageID, try #require(OriginalMessage(note)))
        #expect(Self.report(&it, system, by: member("eve")).error == nil)
        #expect(try Self.all(it).last?.from == nil && Self.all(it).count == 2)
    }

    @Test func `whoever is in the room reports, muted or not; anonymous members and the server do not`() throws {
        var it = Dialogue()
        it.run(.setMute(user("mute"), enable: true, NotifyOptions(notify: false)), by: .system)
        it.run(.muteRoom(enable: true, NotifyOptions(notify: false)), by: .system)
        let message = try #require(it.run(.post(MessageDraft(body: .text("x"))), by: .system).shown.first)
        let posted = (message.messageID, try #require(OriginalMessage(message)))
        for name in ["mute", "manager", "creator", "guest"] {
            #expect(Self.report(&it, posted, by: member(name)).error == nil, "\(name)")
        }
        let server = Actor.server(UserName(user: user("bob"), nick: ""))
        for actor in [member("eve", anonymous: true), .system, server] {
            #expect(Self.report(&it, posted, by: actor).code == .forbidden, "\(actor)")
        }
        it.run(.setBlacklist(user("out"), enable: true, NotifyOptions(notify: false)), by: .system)
        #expect(Self.report(&it, posted, by: member("out")).code == .blacklisted)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(Self.report(&it, posted, by: member("late")).code == .roomClosed)
    }

    @Test func `a user reports a message once, and a repeat after a lost answer gets it again`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it)
        #expect(Self.report(&it, message, key: 1).result == .done)
        #expect(Self.report(&it, message, key: 1) == [.result(.done)])
        // Nor does it need the fact.
        #expect(it.run(.report(messageID: message.id, reason: nil), by: member("ann"), key: 1) == [.result(.done)])
        #expect(Self.report(&it, message, key: 2).code == .conflict)
        it.pass(seconds: 3_600)
        #expect(Self.report(&it, message).code == .conflict)
        #expect(Self.report(&it, message, by: member("eve")).error == nil)
        #expect(try Self.all(it).map(\.reporter.user) == [user("ann"), user("eve")])
    }

    @Test func `a user reports once in ten seconds, and what is refused does not count`() throws {
        var it = Dialogue()
        let (first, second) = (try PinTests.post(&it), try PinTests.post(&it))
        #expect(Self.report(&it, ("m", first.original)).code == .notFound)
        #expect(Self.report(&it, first).error == nil)
        it.pass(milliseconds: 4_000)
        let refused = Self.report(&it, second)
        #expect(refused.code == .tooOften && refused.error?.retryAfterMs == 6_000)
        #expect(Self.report(&it, second, by: member("eve")).error == nil, "each user for itself")
        it.pass(milliseconds: 5_999)
        #expect(Self.report(&it, second).code == .tooOften)
        it.pass(milliseconds: 1)
        #expect(Self.report(&it, second).error == nil)
    }

    @Test func `what is no kept message of this life of the room is not found`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it)
        #expect(it.run(.report(messageID: message.id, reason: nil), by: member("ann")).code == .notFound)
        for id in ["", "m", "1-1", message.id + "0"] {
            #expect(Self.report(&it, (id, message.original)).code == .notFound, "\(id)")
        }
        it.run(.deleteRoom, by: .system)
        #expect(Self.report(&it, message).code == .notFound)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        #expect(Self.report(&it, message).code == .notFound)
    }

    @Test func `a recall takes the text of all reports of its message, and they stay`() throws {
        var it = Dialogue()
        let (first, second) = (try PinTests.post(&it, "one"), try PinTests.post(&it, "two"))
        Self.report(&it, first, by: member("ann"))
        Self.report(&it, first, by: member("eve"))
        Self.report(&it, second, by: member("zoe"))
        Self.recall(&it, first)
        #expect(try Self.all(it).map(\.excerpt) == [nil, nil, "two"])
        #expect(it.store.deadlines.count { $0 > it.now.adding(seconds: 86_400) } == 1, "nothing of the others ends")
        // The recall was first: there is nothing to quote.
        var recalled = first
        (recalled.original.isRecalled, recalled.original.excerpt) = (true, "one")
        #expect(Self.report(&it, recalled, by: member("max")).error == nil)
        #expect(try Self.all(it).last?.excerpt == nil)
        // By a blacklisting, too.
        it.facts.recalled = [
            RecallTarget(seq: second.original.seq, sender: user("bob"), time: second.original.time, type: .text)
        ]
        it.run(.setBlacklist(user("bob"), enable: true, NotifyOptions()), by: member("manager"))
        #expect(try Self.all(it).allSatisfy { $0.excerpt == nil } && Self.all(it).count == 4)
    }

    @Test func `the text goes when its message expires, at once for readers, and then on disk`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it, "one")
        it.pass(seconds: 60)
        // Messages are kept for an hour.
        it.facts.keptSince = it.now.adding(seconds: -3_600)
        Self.report(&it, message)
        it.facts.keptSince = nil
        let end = message.original.time.adding(seconds: 3_600)
        #expect(try Self.all(it).first?.keptUntil == end && it.store.deadlines.contains(end))
        it.now = end
        #expect(try Self.all(it).first?.excerpt == nil && it.state.reports.reports.values.first?.excerpt == "one")
        #expect(it.state.nextDeadline.map { $0 <= end } == true)
        it.run(.expire, by: .system)
        #expect(it.state.reports.reports.values.map(\.excerpt) == [nil] && !it.store.deadlines.contains(end))
    }

    @Test func `a room keeps so many reports, and the oldest goes`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it)
        for number in 0..<Limits.reportsPerRoom {
            #expect(Self.report(&it, message, by: member("u\(number)")).error == nil)
        }
        let first = try #require(try Self.all(it).first)
        let effects = Self.report(&it, message, by: member("more"))
        #expect(effects.rows.contains { $0.kind == .report && $0.key == first.id && $0.value == nil })
        #expect(try Self.all(it).count == Limits.reportsPerRoom)
        #expect(try Self.all(it).first?.reporter.user == user("u1") && Self.all(it).last?.reporter.user == user("more"))
        #expect(it.store.rowCount < Limits.reportsPerRoom + 10)
        // Its place is free, for everybody; whoever is in the list is still refused.
        #expect(Self.report(&it, message, by: member("u0")).error == nil)
        #expect(Self.report(&it, message, by: member("u2")).code == .conflict)
    }

    @Test func `pages come in order, behind the report that the cursor names or named`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it)
        for name in ["a", "b", "c", "d"] { Self.report(&it, message, by: member(name)) }
        let first = try it.state.reportPage(after: nil, limit: 2, at: it.now)
        #expect(first.items.map(\.reporter.user.text) == ["a", "b"] && first.next == first.items.last?.id)
        let second = try it.state.reportPage(after: first.next, limit: 2, at: it.now)
        #expect(second.items.map(\.reporter.user.text) == ["c", "d"] && second.next == nil)
        let behind = MessageReport.id(first.items[0].index - 1)
        #expect(try it.state.reportPage(after: behind, limit: 9, at: it.now).items.count == 4)
        let last = try it.state.reportPage(after: MessageReport.id(.max), limit: 1, at: it.now)
        #expect(last.items.isEmpty && last.next == nil)
        for cursor in ["", "-1", "A", "+a", "01", " ", "zzzzzzzzzzzzzzzzz", "é"] {
            #expect(throws: ChatError.self, "\(cursor)") {
                try it.state.reportPage(after: cursor, limit: 1, at: it.now)
            }
        }
    }

    @Test func `a room that is had back has its reports, but those of messages that expired`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it, "one")
        it.facts.keptSince = it.now.adding(seconds: -60)
        Self.report(&it, message)
        it.facts.keptSince = nil
        Self.report(&it, message, by: member("eve"))
        it.facts.keepDeletedSeconds = 3_600
        it.run(.deleteRoom, by: .system)
        #expect(try Self.all(it).isEmpty)
        it.pass(seconds: 61)
        it.run(.expire, by: .system)
        it.run(.undeleteRoom, by: .system)
        #expect(try Self.all(it).map(\.reporter.user.text) == ["eve"] && Self.all(it).first?.excerpt == "one")
        it.run(.purgeRoom, by: .system)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        #expect(try Self.all(it).isEmpty)
    }

    // MARK: - The webhook

    private static func delivered(_ it: Dialogue, event: UInt64) -> CommandBody {
        .webhookDelivered(
            WebhookProgress(
                incarnation: it.state.incarnation ?? Incarnation(0), seq: 0, time: it.now, eventIndex: event))
    }

    private static func owed(_ it: Dialogue, after index: UInt64 = 0) -> [String] {
        it.state.owedReports(after: index, countMax: 100).map(\.reporter.user.text)
    }

    @Test func `the webhook is owed the first report, and all that follow from it, until they are delivered`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it)
        Self.report(&it, message, by: member("before"))
        #expect(it.state.webhook == nil && Self.owed(it).isEmpty)
        it.facts.webhook = true
        Self.report(&it, message, by: member("a"))
        let first = it.index
        let second = Self.report(&it, message, by: member("b"))
        #expect(it.state.webhook?.firstReport == first && !second.rows.contains { $0.kind == .webhook })
        #expect(Self.owed(it) == ["a", "b"] && Self.owed(it, after: first) == ["b"])
        let progress = WebhookProgress(incarnation: Incarnation(0), eventIndex: first)
        #expect(!it.state.knowsDelivered(progress))
        it.run(Self.delivered(it, event: first), by: .system)
        #expect(Self.owed(it) == ["b"] && it.state.knowsDelivered(progress))
        // A closing that came between is before it, and not forgotten with it.
        it.run(.closeRoom(NotifyOptions(notify: false)), by: .system)
        it.run(Self.delivered(it, event: it.index - 1), by: .system)
        #expect(it.state.webhook?.firstReport == 0 && it.state.webhook?.events.map(\.kind) == [.closed])
        it.run(Self.delivered(it, event: it.index), by: .system)
        #expect(it.state.webhook == nil)
    }

    @Test func `owed reports that go at the bound or with their room are counted`() throws {
        var it = Dialogue()
        let message = try PinTests.post(&it)
        it.facts.webhook = true
        for number in 0..<Limits.reportsPerRoom + 2 { Self.report(&it, message, by: member("u\(number)")) }
        #expect(it.state.webhook?.forgotten == 2 && Self.owed(it).first == "u2")
        it.facts.keepDeletedSeconds = 60
        it.run(.deleteRoom, by: .system)
        #expect(it.state.webhook?.forgotten == Int64(Limits.reportsPerRoom) + 2 && it.state.webhook?.firstReport == 0)
        it.run(.undeleteRoom, by: .system)
        #expect(try Self.all(it).count == Limits.reportsPerRoom && Self.owed(it).isEmpty)
    }

    @Test(arguments: Seed.seeds(10)) func `what the table tells is what a walk over it finds`(seed: UInt64) {
        var random = Seed(seed)
        var table = ReportTable()
        let names = ["ann", "bob", "eve"]
        for step in 1...300 {
            let seq = UInt64.random(in: 1...5, using: &random)
            let name = user(names[Int.random(in: 0..<3, using: &random)])
            if table.has(seq, by: name) {
                if let oldest = table.oldest { table.remove(oldest) }
            } else {
                var report = MessageReport(
                    index: UInt64(step), messageID: "m", seq: seq, from: nil, reporter: UserName(user: name, nick: ""),
                    time: Timestamp(Int64(step)), keptUntil: Timestamp(Int64.random(in: 0..<9, using: &random)),
                    after: 0)
                if Bool.random(using: &random) { report.excerpt = "x" }
                table.set(report)
            }
            if Bool.random(using: &random), var again = table.reports.values.first {
                again.excerpt = nil
                table.set(again)
            }
            let all = table.reports.values.sorted { $0.index < $1.index }
            #expect(table.after(0, countMax: 1_000) == all && table.oldest == all.first?.index)
            #expect(table.newest == all.last?.index && table.count == all.count)
            #expect(table.nextDeadline == all.compactMap(\.deadline).min())
            for seq in 1...5 as ClosedRange<UInt64> {
                #expect(table.indexes(of: seq) == all.filter { $0.seq == seq }.map(\.index))
                for name in names.map(user) {
                    #expect(table.has(seq, by: name) == all.contains { $0.seq == seq && $0.reporter.user == name })
                }
            }
            for name in names.map(user) {
                #expect(table.latest(by: name) == all.last { $0.reporter.user == name }?.time)
            }
        }
    }
}
