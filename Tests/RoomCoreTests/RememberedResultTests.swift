import ChatModel
import Testing

@testable import RoomCore

/// What is remembered of commands is small, is enough for the first answer, and is bounded.
@Suite struct RememberedResultTests {
    private static func long(_ bytes: Int) -> String { String(repeating: "x", count: bytes) }

    private static let longUser = user(long(64))

    /// As large as a client or the server may send it.
    private static var changes: [(body: CommandBody, actor: Actor)] {
        var set = RoomChanges()
        (set.name, set.announcement) = (long(Limits.roomNameBytes), long(Limits.announcementBytes))
        (set.ext, set.broadcastUrl) = (long(Limits.extBytes), long(Limits.urlBytes))
        var profile = ProfileChanges()
        (profile.nick, profile.avatar) = (long(Limits.nickBytes), long(Limits.urlBytes))
        profile.ext = long(Limits.extBytes)
        let options = NotifyOptions(notifyExt: long(Limits.notifyExtBytes))
        let key = long(Limits.queueKeyBytes)
        let value = long(Limits.queueValueBytes)
        let pairs = (0..<Limits.queueBatchItems).map {
            QueuePair(key: "\($0)" + long(Limits.queueBatchKeyBytes - 3), value: value)
        }
        var unkept = MessageDraft(body: .text(long(Limits.textBytes)))
        unkept.keep = false
        let robots = (0..<Limits.robots).map {
            Robot(
                user: user("\($0)" + long(60)), profile: Profile(nick: long(256), avatar: long(1024), ext: long(4096)))
        }
        let speaker = Actor.member(
            longUser, Profile(nick: long(256), avatar: long(1024), ext: long(4096)), anonymous: false)
        return [
            (.updateRoom(set: set, options), member("creator")), (.updateMe(profile, save: true, options), speaker),
            (.setMember(longUser, enable: true, options), member("creator")),
            (.updateMe(profile, save: true, options), speaker),
            (.tempMute(longUser, seconds: 60, options), member("manager")),
            (.tempMute(longUser, seconds: 0, options), member("manager")),
            (
                .queueSet(QueueWrite(key: key, value: value), options),
                speaker
            ),
            (.queueSetMany(pairs, options), speaker), (.queueTake(key: nil, options), speaker),
            (.post(unkept), speaker), (.addRobots(robots), .system), (.addRobots(robots), .system),
            (.removeRobots(robots.map(\.user)), .system), (.muteRoom(enable: false, options), member("creator")),
            (.queueClear(options), member("creator")), (.recall([], options), speaker),
        ]
    }

    @Test func `whatever is asked, what is remembered of it is small`() throws {
        var it = Dialogue()
        for (number, change) in Self.changes.enumerated() {
            let before = it.state.ledger.bytes
            let effects = it.run(change.body, by: change.actor, key: UInt64(number))
            #expect(effects.error == nil, "\(number)")
            let memory = try #require(it.state.ledger.results[CommandKey(high: 7, low: UInt64(number))])
            #expect(it.state.ledger.bytes - before == memory.bytes)
            #expect(memory.bytes <= CommandMemory.bytesMax)
            if case .taken(let element) = memory.result {
                #expect(element.value.utf8.count == Limits.queueValueBytes)
            } else {
                #expect(memory.bytes < 600, "\(memory.result)")
                #expect(!"\(memory.result)".contains(Self.long(65)), "a long text: \(memory.result)")
            }
        }
    }

    @Test func `a repeat gets the first answer, also from a replica that was restored`() throws {
        var it = Dialogue()
        var answers: [CommandResult] = []
        for (number, change) in Self.changes.enumerated() {
            let effects = it.run(change.body, by: change.actor, key: UInt64(number))
            answers.append(try #require(effects.result))
            it.pass(seconds: 1)
        }
        for (number, change) in Self.changes.enumerated() {
            let command = Command(id: nil, room: it.room, actor: change.actor, body: change.body, facts: it.facts)
            let key = CommandKey(high: 7, low: UInt64(number))
            let restored = it.store.restored()
            for state in [it.state, restored] {
                let repeated = state.remembered(key, of: command, at: it.now)
                guard case .member(var first) = answers[number] else {
                    #expect(repeated == answers[number], "\(number)")
                    continue
                }
                // What a member shows of itself is as it is now, unless the command sets it.
                guard case .member(let again)? = repeated else {
                    Issue.record("\(number) answers \(String(describing: repeated))")
                    continue
                }
                if case .updateMe = change.body {} else { first.profile = again.profile }
                #expect(again == first, "\(number)")
            }
            let before = it.state.lastSeq
            it.run(change.body, by: change.actor, key: UInt64(number))
            #expect(it.state.lastSeq == before, "a repeat changes nothing")
        }
    }

    @Test func `an element that was set is answered with its value, whoever has overwritten it`() {
        var it = Dialogue()
        func set(_ value: String) -> CommandBody {
            .queueSet(QueueWrite(key: "mic", value: value), NotifyOptions())
        }
        let first = it.run(set("one"), by: member("ann"), key: 1)
        it.run(set("two"), by: member("bob"), key: 2)
        #expect(it.run(set("one"), by: member("ann"), key: 1) == first.suffix(1))
        let taken = it.run(.queueTake(key: "mic", NotifyOptions()), by: member("bob"), key: 3)
        it.run(set("three"), by: member("bob"), key: 4)
        #expect(it.run(.queueTake(key: "mic", NotifyOptions()), by: member("bob"), key: 3) == taken.suffix(1))
        #expect(it.state.queue["mic"]?.value == "three")
    }

    // MARK: - Bounds

    private func memory(_ index: UInt64, of owner: UInt64, bytes: Int = CommandMemory.fixedBytes) -> CommandMemory {
        var element = QueueElement(key: "k", value: "", owner: user("u"))
        let rest = bytes - CommandMemory.fixedBytes - 202
        guard rest >= 0 else {
            return CommandMemory(result: .done, time: Timestamp(Int64(index)), index: index, owner: owner)
        }
        element.value = Self.long(rest)
        return CommandMemory(
            result: .taken(element), time: Timestamp(Int64(index)), index: index, owner: owner)
    }

    private func key(_ number: UInt64) -> CommandKey { CommandKey(high: 1, low: number) }

    @Test func `a user's oldest are forgotten when the user has too much, and nobody else's`() {
        let one = CommandMemory.fixedBytes
        var ledger = CommandLedger(userBytesMax: 3 * one, roomBytesMax: 100 * one)
        #expect(ledger.remember(memory(1, of: 5), of: key(1)).isEmpty)
        for number in 2...4 as ClosedRange<UInt64> {
            #expect(ledger.remember(memory(number, of: 6), of: key(number)).isEmpty)
        }
        #expect(ledger.remember(memory(5, of: 6), of: key(5)) == [key(2)])
        #expect(ledger.remember(memory(6, of: 6), of: key(6)) == [key(3)])
        #expect(ledger.result(key(1), at: Timestamp(10)) == .done)
        // The server's have the room's bound only.
        for number in 10..<20 as Range<UInt64> {
            #expect(ledger.remember(memory(number, of: 0), of: key(number)).isEmpty)
        }
        #expect(ledger.bytes == 14 * one)
    }

    @Test func `in a room with too much the one with more than an equal part pays, else the oldest goes`() {
        let one = CommandMemory.fixedBytes
        var ledger = CommandLedger(userBytesMax: 100 * one, roomBytesMax: 8 * one)
        #expect(ledger.remember(memory(1, of: 5), of: key(1)).isEmpty)
        for number in 2...8 as ClosedRange<UInt64> {
            #expect(ledger.remember(memory(number, of: 6), of: key(number)).isEmpty)
        }
        #expect(ledger.remember(memory(9, of: 6), of: key(9)) == [key(2)], "its own, though another is older")
        #expect(ledger.remember(memory(10, of: 7), of: key(10)) == [key(1)], "somebody with little: the oldest")
        #expect(ledger.bytes == 8 * one)
    }

    @Test func `votes push out votes, and no other result that is older`() {
        func vote(_ number: UInt64) -> CommandMemory {
            let poll = Poll(id: "p", title: "", options: [], counts: [1], closesAt: Timestamp(0))
            return CommandMemory(result: .poll(poll), time: Timestamp(0), index: number, owner: 10 + number)
        }
        let one = memory(1, of: 0).bytes
        var ledger = CommandLedger(userBytesMax: 100 * one, roomBytesMax: one + 3 * vote(2).bytes)
        #expect(ledger.remember(memory(1, of: 0), of: key(1)).isEmpty)
        for number in 2...4 as ClosedRange<UInt64> {
            #expect(ledger.remember(vote(number), of: key(number)).isEmpty)
        }
        #expect(ledger.remember(vote(5), of: key(5)) == [key(2)])
        #expect(ledger.remember(vote(6), of: key(6)) == [key(3)])
        #expect(ledger.result(key(1), at: Timestamp(10)) == .done)
    }

    @Test func `a room never has more than its bound, however it is filled, and restored it goes on alike`() {
        var random = Seed(3)
        let (userMax, roomMax) = (20_000, 60_000)
        var ledger = CommandLedger(userBytesMax: userMax, roomBytesMax: roomMax)
        var rows: [CommandKey: CommandMemory] = [:]
        for number in 1...4_000 as ClosedRange<UInt64> {
            let bytes =
                Int.random(in: 0..<6, using: &random) == 0
                ? Int.random(in: 400...CommandMemory.bytesMax, using: &random) : CommandMemory.fixedBytes
            let made = memory(number, of: .random(in: 0...12, using: &random), bytes: bytes)
            // Some keys come again.
            let key = key(.random(in: 0...2_000, using: &random))
            rows[key] = made
            for forgotten in ledger.remember(made, of: key) { rows[forgotten] = nil }
            if number % 50 == 0 {
                for forgotten in ledger.prune(at: Timestamp(Int64(number) - 300).adding(seconds: 600)) {
                    rows[forgotten] = nil
                }
                ledger = CommandLedger(
                    results: rows.map { (key: $0.key, memory: $0.value) }, userBytesMax: userMax,
                    roomBytesMax: roomMax)
            }
            #expect(ledger.results == rows)
            #expect(ledger.bytes <= roomMax)
            #expect(ledger.bytes == rows.values.reduce(0) { $0 + $1.bytes })
            for owner in 1...12 as ClosedRange<UInt64> {
                #expect(rows.values.filter { $0.owner == owner }.reduce(0) { $0 + $1.bytes } <= userMax)
            }
        }
    }

    @Test func `what is forgotten before its time leaves the catalogue, and may be done again`() {
        var it = Dialogue()
        let option = NotifyOptions(notify: false)
        var forgotten: [String] = []
        // Taken elements are the largest there are: some 480 of them.
        let value = Self.long(Limits.queueValueBytes)
        for number in 0..<600 as Range<UInt64> {
            it.state.queue.put(QueueElement(key: "k", value: value, owner: user("ann")), at: Int64(number) + 1)
            let stamp = Stamp(index: 1_000 + number, time: it.now)
            let command = Command(id: nil, room: it.room, actor: member("ann"), body: .queueTake(key: "k", option))
            let effects = it.state.apply(command, key: key(number), at: stamp)
            forgotten += effects.rows.filter { $0.kind == .command && $0.value == nil }.map(\.key)
        }
        #expect(it.state.ledger.bytes <= Limits.rememberedBytesPerUser)
        #expect(forgotten == (0..<UInt64(forgotten.count)).map { key($0).text })
        #expect(forgotten.count > 50 && forgotten.count < 200)
        #expect(!it.state.remembers(key(0), at: it.now))
        #expect(it.state.remembers(key(599), at: it.now))
    }
}
