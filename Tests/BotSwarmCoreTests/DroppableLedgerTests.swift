import BotSwarmCore
import ChatModel
import Testing

@Suite struct DroppableLedgerTests {
    @Test func `unkept messages that all came balance`() throws {
        var room = try LedgerFixture(viewers: 2)
        for _ in 1...3 {
            let n = room.send(.unkept)
            room.accept(n)
            for index in 0...1 { room.receive(room.unkept(n, after: 0), index) }
        }
        #expect(room.ledger.isSettled())
        #expect(room.close(history: []) == [:])
        #expect(room.ledger.totals.unkeptReceived == 6)
    }

    @Test func `a lost unkept message is a silent loss unless it is told`() throws {
        for told in [0, 1] as [Int64] {
            var room = try LedgerFixture(viewers: 2)
            let n = room.send(.unkept)
            room.accept(n)
            room.receive(room.unkept(n, after: 0), 0)
            room.ledger.skip(room.viewers[1], unkept: told, barrage: 0)
            #expect(room.ledger.isSettled() == (told == 1))
            #expect(room.close(history: []) == (told == 1 ? [:] : [.silentLoss: 1]))
        }
    }

    @Test func `skipped barrage does not explain a lost unkept message`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.unkept)
        room.accept(n)
        room.receive(room.unkept(n, after: 0), 0)
        room.ledger.skip(room.viewers[1], unkept: 0, barrage: 5)
        #expect(room.close(history: []) == [.silentLoss: 1])
    }

    @Test func `a message that one saw is owed to all, acked or not`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.unkept)
        room.receive(room.unkept(n, after: 0), 0)
        #expect(room.close(history: []) == [.silentLoss: 1])
    }

    @Test func `an unkept message that nobody saw and nobody acked is owed to none`() throws {
        var room = try LedgerFixture(viewers: 2)
        _ = room.send(.unkept)
        #expect(room.close(history: []) == [:])
    }

    @Test func `a disconnect explains losses`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.unkept)
        room.accept(n)
        room.receive(room.unkept(n, after: 0), 0)
        room.ledger.disconnect(room.viewers[1])
        room.enter(room.viewers[1], seq: 0, since: 0)
        #expect(room.close(history: []) == [:])
    }

    @Test func `what was skipped before a disconnect does not explain losses after it`() throws {
        var room = try LedgerFixture(viewers: 2)
        room.ledger.skip(room.viewers[1], unkept: 5, barrage: 0)
        room.ledger.disconnect(room.viewers[1])
        room.enter(room.viewers[1], seq: 0, since: 0)
        let n = room.send(.unkept)
        room.accept(n)
        room.receive(room.unkept(n, after: 0), 0)
        #expect(room.close(history: []) == [.silentLoss: 1])
    }

    @Test func `the room's owner going away explains losses before it is back`() throws {
        var room = try LedgerFixture(viewers: 2)
        let lost = room.send(.unkept)
        room.accept(lost)
        room.receive(room.unkept(lost, after: 0), 0)
        for viewer in room.viewers { room.ledger.interrupt(viewer, at: room.tick()) }
        #expect(room.ledger.isSettled())
        let later = room.send(.unkept)
        room.accept(later)
        room.receive(room.unkept(later, after: 0), 0)
        #expect(room.close(history: []) == [.silentLoss: 1])
    }

    @Test func `an unkept message that comes twice is a duplicate, also after a reconnect`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.unkept)
        room.accept(n)
        room.receive(room.unkept(n, after: 0), 0)
        room.ledger.disconnect(room.viewers[0])
        room.enter(room.viewers[0], seq: 0, since: 0)
        room.receive(room.unkept(n, after: 0), 0)
        #expect(room.close(history: []) == [.duplicate: 1])
    }

    @Test func `an unkept message after a seq that it does not follow is reordered`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.unkept)
        room.accept(n)
        let first = room.say(1)
        room.receive(room.unkept(n, after: 0), 0)
        #expect(room.close(history: [first]) == [.reordered: 1])
    }

    @Test func `an unkept notification is nobody's text`() throws {
        var room = try LedgerFixture(viewers: 1)
        let entered = UnkeptSighting(
            after: 0, messageID: Fingerprint("u"), body: Fingerprint(kind: "event", 301),
            origin: .notification(.other(301)))
        room.receive(entered, 0)
        let foreign = UnkeptSighting(
            after: 0, messageID: Fingerprint("v"), body: Fingerprint("hello"), origin: .foreign)
        room.receive(foreign, 0)
        #expect(room.close(history: []) == [.foreign: 1])
    }

    @Test func `an unkept message with two messageIds is a contradiction`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.unkept)
        let sighting = room.unkept(n, after: 0)
        room.receive(sighting, 0)
        room.receive(
            UnkeptSighting(after: 0, messageID: Fingerprint("x"), body: sighting.body, origin: sighting.origin), 1)
        #expect(room.close(history: []) == [.contradiction: 1])
    }

    @Test func `an ack with a seq for what was sent unkept is a contradiction`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.unkept)
        room.ack(n, 1)
        #expect(room.ledger.findings.counts == [.contradiction: 1])
    }

    @Test func `sampled barrage balances when the spared ones are told`() throws {
        var room = try LedgerFixture(viewers: 2)
        for n in 1...10 {
            #expect(room.send(.barrage) == n)
            room.accept(n)
            room.receive(room.barrage(n), 0)
            if n % 2 == 0 { room.receive(room.barrage(n), 1) }
        }
        #expect(!room.ledger.isSettled())
        room.ledger.skip(room.viewers[1], unkept: 0, barrage: 5)
        #expect(room.ledger.isSettled())
        #expect(room.close(history: []) == [:])
    }

    @Test func `one's own barrage must come back even if it was told as skipped`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.barrage)
        room.accept(n)
        room.receive(room.barrage(n), 1)
        room.ledger.skip(room.viewers[0], unkept: 0, barrage: 1)
        #expect(!room.ledger.isSettled())
        #expect(room.close(history: []) == [.ownBarrageLost: 1])
    }

    @Test func `one's own barrage is forgiven after a disconnect, a refusal or without answer`() throws {
        var room = try LedgerFixture(viewers: 1)
        let refused = room.send(.barrage)
        room.ledger.refuse(refused, of: room.viewers[0])
        let before = room.send(.barrage)
        room.accept(before)
        room.ledger.disconnect(room.viewers[0])
        room.enter(room.viewers[0], seq: 0, since: 0)
        _ = room.send(.barrage)
        #expect(room.close(history: []) == [:])
    }

    @Test func `a barrage that comes twice or counts for two is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.send(.barrage)
        room.receive(room.barrage(first), 0)
        room.receive(room.barrage(first), 0)
        let second = room.send(.barrage)
        room.receive(room.barrage(second, count: 2), 0)
        #expect(room.close(history: []) == [.duplicate: 2])
    }

    @Test func `a barrage that nobody sent is foreign`() throws {
        var room = try LedgerFixture(viewers: 1)
        room.receive(BarrageSighting(body: Fingerprint("hi"), claim: nil, count: 1), 0)
        room.receive(room.barrage(3), 0)
        #expect(room.close(history: []) == [.foreign: 2])
    }

    @Test(arguments: [Int64.min, -1, .max])
    func `an impossible number of skipped is malformed`(count: Int64) throws {
        var room = try LedgerFixture(viewers: 1)
        room.ledger.skip(room.viewers[0], unkept: count, barrage: 0)
        #expect(room.ledger.findings.counts == [.malformed: 1])
    }

    @Test func `a request without answer on a living connection is a finding`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.ledger.noteUnanswered(n, of: room.viewers[0])
        #expect(room.close(history: []) == [.unanswered: 1])
    }

    @Test func `so is a change of the queue or an act of a manager without one`() throws {
        var room = try LedgerFixture(viewers: 1)
        room.ledger.noteUnanswered("a change of the queue", of: room.viewers[0])
        #expect(room.close(history: []) == [.unanswered: 1])
    }
}

@Suite struct ReceiptWindowTests {
    @Test func `doubles are noticed until the window has moved on`() {
        var window = ReceiptWindow()
        #expect(window.insert(5) == .first)
        #expect(window.insert(5) == .again)
        #expect(window.insert(4) == .first)
        #expect(window.insert(ReceiptWindow.itemsMax - 1) == .first)
        #expect(window.insert(4) == .again)
        #expect(window.insert(ReceiptWindow.itemsMax) == .first)
        #expect(window.insert(5) == .tooOld)
        #expect(window.insert(ReceiptWindow.itemsMax - 1) == .again)
        #expect(window.insert(10 * ReceiptWindow.itemsMax) == .first)
        #expect(window.insert(10 * ReceiptWindow.itemsMax) == .again)
        #expect(window.insert(10 * ReceiptWindow.itemsMax - 1) == .first)
        #expect(window.insert(ReceiptWindow.itemsMax) == .tooOld)
    }
}

@Suite struct BotNamesTests {
    @Test func `a text names its bot and its number`() throws {
        let names = try #require(BotNames(run: "k3"))
        for bytes in [0, 20, 200] {
            let text = names.text(of: BotID(17), 42, bytes: bytes)
            #expect(text.utf8.count == max(bytes, "bot-k3-17-42".utf8.count) || bytes == 0)
            #expect(
                names.claim(in: text, sender: UserID("bot-k3-17")) == Claim(bot: BotID(17), n: 42))
            #expect(names.claim(in: text, sender: UserID("bot-k3-18")) == nil)
            #expect(names.claim(in: text, sender: nil) == nil)
        }
    }

    @Test(arguments: [
        "", "hello", "bot-k3-17", "bot-k3-17-", "bot-k3-17-0", "bot-k3-017-1", "bot-k4-17-1", "bot-k3-17-1x",
        "bot-k3-17-99999999999999999999", "bot-k3--17-1", "bot-k3-17-1-1", "bot-k3-17-+1",
    ])
    func `other texts claim nothing`(text: String) throws {
        let names = try #require(BotNames(run: "k3"))
        #expect(names.claim(in: text, sender: UserID("bot-k3-17")) == nil)
    }

    @Test(arguments: ["", "a b", "A", "a-b", "12345678901234567"])
    func `a tag that would not make names is refused`(tag: String) { #expect(BotNames(run: tag) == nil) }
}
