import ChatModel
import Testing

@testable import RoomCore

/// Tallies as `apply` decides them; each command also restores the room from its rows (`Dialogue`).
@Suite struct TallyTests {
    private static func batch(
        _ window: UInt64, life: UInt64 = 7, of incarnation: Incarnation? = nil, _ sums: [String: Int64]
    ) -> TapBatch {
        TapBatch(
            life: life, window: window,
            sums: sums.map { TallyCount(key: $0.key, count: $0.value) }.sorted { $0.key < $1.key }, of: incarnation)
    }

    @discardableResult
    private static func tap(_ it: inout Dialogue, _ batch: TapBatch) -> CommandResult? {
        it.run(.tap(batch), by: .system).result
    }

    private static func total(_ it: Dialogue, _ key: String = Tally.like) -> Int64? { it.state.tally(key)?.total }

    @discardableResult
    private static func set(_ it: inout Dialogue, _ key: String, _ settings: TallySettings = TallySettings())
        -> [Effect]
    {
        it.run(.tally(key: key, .set(settings)), by: .system)
    }

    @Test func `a window is counted once, whatever its repeat finds`() {
        var it = Dialogue()
        #expect(Self.tap(&it, Self.batch(1, ["like": 40])) == .tapped([40]))
        #expect(Self.tap(&it, Self.batch(2, ["like": 2])) == .tapped([42]))
        #expect(Self.tap(&it, Self.batch(2, ["like": 2])) == .tapped([42]), "the same answer")
        #expect(Self.tap(&it, Self.batch(1, ["like": 40])) == .tapped([]), "a later one was counted")
        #expect(Self.tap(&it, Self.batch(1, life: 8, ["like": 1])) == .tapped([43]), "windows count per life")
        it.run(.tally(key: "like", .add(100)), by: .system)
        #expect(Self.tap(&it, Self.batch(2, ["like": 2])) == .tapped([42]), "as it was then")
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(Self.tap(&it, Self.batch(2, ["like": 2])) == .tapped([42]), "also in a closed room")
        #expect(it.run(.tap(Self.batch(3, ["like": 2])), by: .system).code == .roomClosed)
        it.run(.reopenRoom, by: .system)
        #expect(Self.total(it) == 143)
        #expect(Self.tap(&it, Self.batch(3, ["like": 2])) == .tapped([145]), "a refused window is not used up")
    }

    @Test func `a refused sum does not hold up the others, and stays refused for a repeat`() {
        var it = Dialogue()
        Self.set(&it, "closed", TallySettings(closed: true))
        Self.set(&it, "gifts", TallySettings(by: .server))
        let window = Self.batch(1, ["closed": 1, "gifts": 1, "like": 1, "unknown": 1])
        #expect(Self.tap(&it, window) == .tapped([-409, -403, 1, -404]))
        Self.set(&it, "unknown")
        Self.set(&it, "closed", TallySettings(closed: false))
        #expect(Self.tap(&it, window) == .tapped([-409, -403, 1, -404]), "nobody is told of what was not counted")
        #expect(Self.total(it, "unknown") == 0 && Self.total(it, "closed") == 0)
        #expect(it.run(.tap(window), by: member("bob")).code == .forbidden)
    }

    @Test func `who may not speak may not tap`() {
        var it = Dialogue()
        func tap(_ actor: Actor) -> ErrorCode? { it.run(.tally(key: "like", .tap(3)), by: actor).code }
        #expect(tap(member("bob")) == nil && Self.total(it) == 3)
        #expect(tap(member("eve", anonymous: true)) == .forbidden)
        it.run(.setMute(user("bob"), enable: true, NotifyOptions()), by: .system)
        #expect(tap(member("bob")) == .muted)
        it.run(.muteRoom(enable: true, NotifyOptions()), by: .system)
        #expect(tap(member("ann")) == .roomMuted && tap(member("manager")) == nil)
        it.run(.setBlacklist(user("ann"), enable: true, NotifyOptions()), by: .system)
        #expect(tap(member("ann")) == .blacklisted)
        it.run(.closeRoom(NotifyOptions()), by: .system)
        #expect(tap(member("manager")) == .roomClosed)
        #expect(Self.total(it) == 6)
    }

    @Test func `slow mode is for messages`() {
        var changes = RoomChanges()
        changes.slowModeSeconds = 60
        var it = Dialogue(set: changes)
        for _ in 1...3 { #expect(it.run(.tally(key: "like", .tap(1)), by: member("bob")).error == nil) }
    }

    @Test func `the server makes, changes, adds and removes; members do not`() {
        var it = Dialogue()
        let made = Self.set(&it, "gifts", TallySettings(total: 5, by: .server))
        #expect(made.result == .tally(Tally(key: "gifts", total: 5, by: .server)))
        #expect(it.run(.tally(key: "gifts", .add(-5)), by: .system).result == .tally(Tally(key: "gifts", by: .server)))
        #expect(it.run(.tally(key: "gifts", .add(-1)), by: .system).code == .conflict, "never below 0")
        #expect(it.run(.tally(key: "gifts", .tap(1)), by: member("bob")).code == .forbidden)
        Self.set(&it, "gifts", TallySettings(closed: true))
        #expect(it.state.tally("gifts") == Tally(key: "gifts", closed: true, by: .server), "the rest stays")
        #expect(it.run(.tally(key: "gifts", .add(1)), by: .system).code == .conflict, "closed")
        for change in [TallyChange.add(1), .remove, .set(TallySettings())] {
            #expect(it.run(.tally(key: "like", change), by: member("creator")).code == .forbidden)
        }
        #expect(it.run(.tally(key: "gifts", .remove), by: .system).result == .done)
        for change in [TallyChange.add(1), .remove, .tap(1)] {
            #expect(it.run(.tally(key: "gifts", change), by: .system).code == .notFound)
        }
        #expect(it.state.tallyList == [Tally(key: "like")])
    }

    @Test func `every room has like, which begins anew when it is removed`() {
        var it = Dialogue()
        #expect(it.state.tallyList == [Tally(key: "like")])
        Self.set(&it, "like", TallySettings(total: 9, closed: true))
        #expect(it.run(.tally(key: "like", .tap(1)), by: member("bob")).code == .conflict)
        #expect(it.run(.tally(key: "like", .remove), by: .system).result == .done)
        #expect(it.state.tallyList == [Tally(key: "like")])
        #expect(it.run(.tally(key: "like", .remove), by: .system).result == .done)
    }

    @Test func `what viewers may have been told stays known when it is 0 again`() {
        var it = Dialogue()
        #expect(it.state.writtenTallies == [])
        Self.set(&it, "gifts", TallySettings(total: 7))
        Self.set(&it, "gifts", TallySettings(total: 0))
        Self.tap(&it, Self.batch(1, ["like": 1]))
        it.run(.tally(key: "like", .remove), by: .system)
        #expect(it.state.writtenTallies == [Tally(key: "like"), Tally(key: "gifts")])
    }

    @Test func `totals end at 2^53 - 1`() {
        var it = Dialogue()
        Self.set(&it, "like", TallySettings(total: Limits.tallyTotal - 1))
        #expect(Self.tap(&it, Self.batch(1, ["like": 2])) == .tapped([-409]))
        #expect(Self.tap(&it, Self.batch(2, ["like": 1])) == .tapped([Limits.tallyTotal]))
        #expect(it.run(.tally(key: "like", .add(.max)), by: .system).code == .conflict)
        #expect(Self.total(it) == Limits.tallyTotal)
    }

    @Test func `a room has a hundred tallies besides like, and none that looks like a poll's`() {
        var it = Dialogue()
        for number in 1...100 { #expect(Self.set(&it, "k\(number)").error == nil) }
        #expect(Self.set(&it, "more").code == .badParameter)
        #expect(Self.set(&it, "like").error == nil && Self.set(&it, "k7").error == nil, "they are there")
        it.run(.tally(key: "k1", .remove), by: .system)
        for wrong in ["poll:a:0", "", "a b", "\u{e4}", String(repeating: "k", count: 33)] {
            #expect(Self.set(&it, wrong).code == .badParameter, "\(wrong)")
        }
        #expect(Self.set(&it, "A-z_0.9:k").error == nil)
        let keys = it.state.tallyList.map(\.key).dropFirst()
        #expect(keys.elementsEqual(keys.sorted()))
    }

    @Test func `a repeat of a command gets the first answer and adds nothing`() {
        var it = Dialogue()
        let first = it.run(.tally(key: "like", .add(5)), by: .system, key: 1).result
        #expect(first == .tally(Tally(key: "like", total: 5)))
        it.run(.tally(key: "like", .tap(1)), by: member("bob"), key: 2)
        #expect(it.run(.tally(key: "like", .add(5)), by: .system, key: 1).result == first)
        #expect(Self.total(it) == 6)
    }

    @Test func `lives that are silent for an hour are forgotten, and their rows go`() {
        var it = Dialogue()
        Self.tap(&it, Self.batch(1, ["like": 1]))
        it.pass(seconds: 1_800)
        Self.tap(&it, Self.batch(1, life: 8, ["like": 1]))
        #expect(it.store.deadlines.count == 2)
        it.pass(seconds: 1_801)
        it.run(.expire, by: .system)
        #expect(it.store.deadlines.count == 1 && it.state.counted(Self.batch(1, ["like": 1])) == nil)
        #expect(it.state.nextDeadline == it.store.deadlines.first, "the room is woken for the other")
        it.pass(seconds: 1_860)
        it.run(.expire, by: .system)
        #expect(it.store.deadlines.isEmpty && it.state.nextDeadline == nil)
    }

    @Test func `beyond the bound of lives the one that was silent for longest goes`() {
        var it = TapLives()
        for life in 1...UInt64(Limits.tapLives) {
            let memory = TapMemory(window: life, time: Timestamp(Int64(life)), results: [])
            #expect(it.remember(memory, of: life) == nil)
        }
        #expect(it.remember(TapMemory(window: 2, time: Timestamp(100_000), results: []), of: 1) == nil)
        #expect(it.remember(TapMemory(window: 1, time: Timestamp(100_001), results: []), of: .max) == 2)
        #expect(it.lives.count == Limits.tapLives && it.memory(of: 1)?.window == 2)
    }

    @Test func `a deleted room that is had back has its tallies, and one that is made anew has none`() {
        var it = Dialogue()
        Self.set(&it, "gifts", TallySettings(total: 3, by: .server))
        Self.tap(&it, Self.batch(1, ["like": 1]))
        it.facts.keepDeletedSeconds = 60
        it.run(.deleteRoom, by: .system)
        #expect(it.state.tallyList == [Tally(key: "like")])
        it.run(.undeleteRoom, by: .system)
        #expect(it.state.tallyList == [Tally(key: "like", total: 1), Tally(key: "gifts", total: 3, by: .server)])
        it.facts.keepDeletedSeconds = 0
        it.run(.deleteRoom, by: .system)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        #expect(it.state.tallyList == [Tally(key: "like")])
    }

    @Test func `a window that comes again is known behind a deletion, and never counted by another room`() {
        var it = Dialogue()
        let first = it.state.incarnation
        let counted = Self.batch(1, of: first, ["like": 5])
        let lost = Self.batch(2, of: first, ["like": 3])
        #expect(Self.tap(&it, counted) == .tapped([5]))
        it.facts.keepDeletedSeconds = 60
        it.run(.deleteRoom, by: .system)
        #expect(Self.tap(&it, counted) == .tapped([5]), "as it was, though there is no room")
        #expect(it.run(.tap(lost), by: .system).code == .notFound)
        it.run(.undeleteRoom, by: .system)
        it.run(.reopenRoom, by: .system)
        #expect(Self.tap(&it, counted) == .tapped([5]) && Self.total(it) == 5)
        #expect(Self.tap(&it, lost) == .tapped([8]), "the same room again")
        it.facts.keepDeletedSeconds = 0
        it.run(.deleteRoom, by: .system)
        it.run(.createRoom(creator: user("creator"), set: RoomChanges()), by: .system)
        #expect(Self.tap(&it, lost) == .tapped([8]) && Self.total(it) == 0)
        #expect(it.run(.tap(Self.batch(3, of: first, ["like": 1])), by: .system).code == .notFound)
        #expect(Self.tap(&it, Self.batch(4, of: it.state.incarnation, ["like": 1])) == .tapped([1]))
        it.run(.deleteRoom, by: .system)
        it.pass(seconds: 3_600)
        it.run(.expire, by: .system)
        #expect(it.store.rowCount == 0 && it.state.nextDeadline == nil, "nothing is left of the windows")
    }

    /// Two rooms, one of which is restored all the time, decide alike: over repeats, refusals and time.
    @Test func `random windows and gifts add up to what was counted`() {
        var random = Seed(11)
        var it = Dialogue()
        for key in ["a", "b"] { Self.set(&it, key, TallySettings(by: key == "b" ? .server : .anyone)) }
        var expected: [String: Int64] = [:]
        var last: [UInt64: (window: UInt64, batch: TapBatch, results: [Int64])] = [:]
        for _ in 0..<600 {
            let life = UInt64.random(in: 1...3, using: &random)
            switch Int.random(in: 0...9, using: &random) {
            case 0:
                let delta = Int64.random(in: -5...50, using: &random)
                if case .tally(let tally)? = it.run(.tally(key: "b", .add(delta)), by: .system).result {
                    expected["b", default: 0] += delta
                    #expect(tally.total == expected["b"])
                }
            case 1: it.pass(seconds: Int64.random(in: 0...60, using: &random))
            case 2...4:
                guard let known = last[life] else { continue }
                #expect(Self.tap(&it, known.batch) == .tapped(known.results))
            default:
                let keys = ["a", "b", "like", "none"].filter { _ in Bool.random(using: &random) }
                let window = (last[life]?.window ?? 0) + UInt64.random(in: 1...5, using: &random)
                let sums = Dictionary(uniqueKeysWithValues: keys.map { ($0, Int64.random(in: 1...99, using: &random)) })
                let batch = Self.batch(window, life: life, sums)
                guard case .tapped(let results)? = Self.tap(&it, batch) else { continue }
                for (sum, result) in zip(batch.sums, results) where result >= 0 {
                    expected[sum.key, default: 0] += sum.count
                    #expect(result == expected[sum.key])
                }
                last[life] = (window, batch, results)
            }
        }
        for (key, total) in expected { #expect(Self.total(it, key) == total) }
        #expect(expected["like", default: 0] > 1_000)
    }
}
