import ChatModel
import Testing

@testable import RoomCore

/// Held messages that the app's webhook is owed by rows of their own. That every state can be restored from its rows is
/// checked by `Dialogue`.
@Suite struct OwedHoldTests {
    private static let quiet = NotifyOptions(notify: false)

    private static func room() -> Dialogue {
        var it = Dialogue()
        (it.facts.webhook, it.facts.owesByRow) = (true, true)
        return it
    }

    /// - Parameter byRow: false: as a leader of before has held it.
    @discardableResult
    private static func hold(
        _ it: inout Dialogue, byRow: Bool = true, _ policy: HoldPolicy = HoldPolicy(), key: UInt64? = nil
    ) throws -> (id: String, effects: [Effect]) {
        (it.facts.hold, it.facts.owesByRow) = (policy, byRow)
        defer { (it.facts.hold, it.facts.owesByRow) = (nil, true) }
        let effects = it.run(.post(MessageDraft(body: .text("x"))), by: member("bob"), key: key)
        return (try #require(effects.heldID), effects)
    }

    private static func delivered(_ it: inout Dialogue, through event: UInt64) -> [Effect] {
        it.run(
            .webhookDelivered(
                WebhookProgress(
                    incarnation: it.state.incarnation ?? Incarnation(0), seq: 0, time: it.now, eventIndex: event)),
            by: .system)
    }

    /// The log entries of held messages that are owed, whichever way.
    private static func owed(_ it: Dialogue) -> [UInt64] {
        let former = (it.state.webhook?.events ?? []).filter { $0.kind == .held }
        return (it.state.owedHolds(after: 0, countMax: .max) + former).map(\.index).sorted()
    }

    @Test func `each is a row of its own, and the webhook's row says only that there are some`() throws {
        var it = Self.room()
        let first = try Self.hold(&it).effects
        #expect(first.owedRows.map(\.key) == [String(it.index, radix: 36)])
        #expect(it.state.webhook?.firstHeld == it.index && it.state.webhook?.events.isEmpty == true)
        #expect(first.rows.contains { $0.kind == .webhook })
        let later = try Self.hold(&it).effects
        #expect(later.owedRows.count == 1 && !later.rows.contains { $0.kind == .webhook })
        #expect(Self.owed(it) == [it.index - 1, it.index])
        #expect(it.state.lastOwedEvent == it.index)
        it.facts.webhook = false
        #expect(try Self.hold(&it).effects.owedRows.isEmpty, "there is no webhook")
    }

    @Test func `it is owed whatever becomes of the message before it is delivered`() throws {
        var it = Self.room()
        let policy = HoldPolicy(seconds: 10, onExpiry: .allow)
        let ids = try (0..<5).map { _ in try Self.hold(&it, policy).id }
        let indexes = Self.owed(it)
        #expect(indexes.count == 5)
        it.run(.decideHeld(heldID: ids[0], HeldDecision(isAllowed: true)), by: .system)
        it.run(.decideHeld(heldID: ids[1], HeldDecision(isAllowed: false)), by: member("manager"))
        it.run(.withdrawHeld(heldID: ids[2]), by: member("bob"))
        it.pass(seconds: 11)
        it.run(.expire, by: .system)
        #expect(it.state.heldCount == 0)
        try Self.hold(&it)
        it.run(.kick(user("bob"), banSeconds: 0, Self.quiet), by: .system)
        #expect(Self.owed(it) == indexes + [Self.owed(it).last])
        #expect(it.state.owedHolds(after: indexes[2], countMax: 2).map(\.index) == Array(indexes[3...]))
    }

    @Test func `rows go as they are delivered, and the webhook's with the last one`() throws {
        var it = Self.room()
        for _ in 0..<4 { try Self.hold(&it) }
        let indexes = Self.owed(it)
        let knows = { (event: UInt64) in
            it.state.knowsDelivered(WebhookProgress(incarnation: Incarnation(0), eventIndex: event))
        }
        #expect(knows(indexes[0] - 1) && !knows(indexes[0]))
        let some = Self.delivered(&it, through: indexes[1])
        #expect(some.owedRows.map(\.key) == indexes[...1].map { String($0, radix: 36) })
        #expect(some.owedRows.allSatisfy { $0.value == nil })
        #expect(Self.owed(it) == Array(indexes[2...]) && it.state.webhook?.firstHeld == indexes[2])
        #expect(Self.delivered(&it, through: indexes[1]).rows.isEmpty, "a repeat")
        let rest = Self.delivered(&it, through: indexes[3])
        #expect(rest.owedRows.count == 2 && it.state.webhook == nil && !it.state.isOwing)
        #expect(rest.rows.contains { $0.kind == .webhook && $0.value == nil })
    }

    @Test func `beyond the bound the oldest is forgotten and counted, and openings are counted apart`() throws {
        var it = Self.room()
        it.restores = false
        for _ in 0..<(WebhookRecord.heldMax + 2) {
            let id = try Self.hold(&it).id
            it.run(.decideHeld(heldID: id, HeldDecision(isAllowed: false)), by: .system)
        }
        it.restores = true
        let last = try Self.hold(&it).effects
        #expect(last.owedRows.map { $0.value == nil } == [false, true])
        #expect(Self.owed(it).count == WebhookRecord.heldMax && it.state.webhook?.forgotten == 3)
        it.run(.closeRoom(Self.quiet), by: .system)
        #expect(it.state.webhook?.events.map(\.kind) == [.closed] && Self.owed(it).count == WebhookRecord.heldMax)
        _ = Self.delivered(&it, through: it.index)
        #expect(it.state.webhook == nil)
    }

    @Test func `a log of before is applied as it was, and the next one that is held gives those rows`() throws {
        var it = Self.room()
        for _ in 0..<3 {
            let former = try Self.hold(&it, byRow: false).effects
            #expect(former.owedRows.isEmpty && former.rows.contains { $0.kind == .webhook })
        }
        it.run(.closeRoom(Self.quiet), by: .system)
        it.run(.reopenRoom, by: .system)
        let former = Self.owed(it)
        #expect(it.state.webhook?.events.map(\.kind) == [.held, .held, .held, .closed, .reopened])
        let effects = try Self.hold(&it).effects
        #expect(effects.owedRows.map(\.key) == (former + [it.index]).map { String($0, radix: 36) })
        #expect(it.state.webhook?.events.map(\.kind) == [.closed, .reopened])
        #expect(Self.owed(it) == former + [it.index])
        #expect(try Self.hold(&it).effects.owedRows.count == 1, "once")
        _ = Self.delivered(&it, through: former[1])
        #expect(Self.owed(it) == [former[2], it.index - 2, it.index - 1])
    }

    @Test func `entries of the former form alone are delivered and forgotten`() throws {
        var it = Self.room()
        for _ in 0..<3 { try Self.hold(&it, byRow: false) }
        let former = Self.owed(it)
        #expect(it.state.lastOwedEvent == former[2])
        _ = Self.delivered(&it, through: former[0])
        #expect(Self.owed(it) == Array(former[1...]))
        _ = Self.delivered(&it, through: former[2])
        #expect(it.state.webhook == nil)
    }

    @Test func `both forms count against one bound, and the oldest of both is forgotten`() throws {
        var it = Self.room()
        it.restores = false
        let isByRow = { (number: Int) in number < 2 || number == 500 }
        for number in 0..<WebhookRecord.heldMax {
            let id = try Self.hold(&it, byRow: isByRow(number)).id
            it.run(.decideHeld(heldID: id, HeldDecision(isAllowed: false)), by: .system)
        }
        let before = Self.owed(it)
        #expect(before.count == WebhookRecord.heldMax)
        // A leader of before: the oldest have rows.
        for count in 1...3 {
            let id = try Self.hold(&it, byRow: false).id
            it.run(.decideHeld(heldID: id, HeldDecision(isAllowed: false)), by: .system)
            #expect(Self.owed(it).count == WebhookRecord.heldMax && Self.owed(it).first == before[count])
            #expect(it.state.webhook?.forgotten == Int64(count))
        }
        it.restores = true
        try Self.hold(&it)
        #expect(Self.owed(it).first == before[4] && it.state.webhook?.events.isEmpty == true)
    }

    @Test(arguments: [Int64(0), 3_600])
    func `they are lost with the room, and counted`(keepDeletedSeconds: Int64) throws {
        var it = Self.room()
        try Self.hold(&it, byRow: false)
        try Self.hold(&it)
        try Self.hold(&it)
        it.facts.keepDeletedSeconds = keepDeletedSeconds
        let effects = it.run(.deleteRoom, by: .system)
        #expect(effects.owedRows.map { $0.value == nil } == [true, true, true])
        #expect(it.state.webhook?.forgotten == 3 && it.state.webhook?.events.map(\.kind) == [.deleted])
        #expect(it.state.owedHolds(after: 0, countMax: 9).isEmpty)
    }
}

extension [Effect] {
    fileprivate var owedRows: [CatalogueChange] { rows.filter { $0.kind == .owedHeld } }
}
