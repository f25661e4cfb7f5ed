import BotSwarmCore
import ChatModel
import Testing

@Suite struct KeptLedgerTests {
    @Test func `messages that all came once and in order balance`() throws {
        var room = try LedgerFixture(viewers: 3)
        let history = (1...5).map { room.say($0) }
        #expect(room.ledger.isSettled())
        #expect(room.close(history: history) == [:])
        let totals = room.ledger.totals
        #expect(totals.kept.accepted == 5)
        #expect(totals.received == 15)
        #expect(totals.inHistory == 5)
    }

    @Test func `a push that never came is a hole`() throws {
        var room = try LedgerFixture(viewers: 2)
        let history = [room.say(1), room.say(2, to: [0]), room.say(3)]
        #expect(!room.ledger.isSettled())
        #expect(room.close(history: history) == [.hole: 1])
        #expect(room.ledger.findings.told.first?.text == "bot-t1-1 in room: seq 2 did not come and no gap named it")
    }

    @Test func `a last push that never came is a hole`() throws {
        var room = try LedgerFixture(viewers: 2)
        let history = [room.say(1), room.say(2, to: [0]), room.say(3, to: [0])]
        #expect(!room.ledger.isSettled())
        #expect(room.close(history: history) == [.hole: 1])
    }

    @Test func `a push that came twice is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 2)
        let history = [room.say(1), room.say(2)]
        room.receive(history[0], 1)
        #expect(room.close(history: history) == [.duplicate: 1])
    }

    @Test func `a push after a higher one is reordered`() throws {
        var room = try LedgerFixture(viewers: 2)
        let first = room.say(1, to: [0])
        let second = room.say(2)
        room.receive(first, 1)
        #expect(room.close(history: [first, second]) == [.reordered: 1])
    }

    @Test func `a push from before the entry is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 2, entered: false)
        room.enter(room.viewers[0], seq: 0)
        let first = room.say(1, to: [0])
        room.enter(room.viewers[1], seq: 1)
        room.receive(first, 1)
        #expect(room.close(history: [first]) == [.duplicate: 1])
    }

    @Test func `an acked message that history lacks is found out`() throws {
        var room = try LedgerFixture(viewers: 1)
        let history = [room.say(1), room.say(2)]
        // The page lacks seq 2, and what was acked is not there.
        #expect(room.close(history: [history[0]], end: 2) == [.notInHistory: 2])
    }

    @Test func `a room that ends before what was acked is found out`() throws {
        var room = try LedgerFixture(viewers: 1)
        let history = [room.say(1), room.say(2)]
        #expect(room.close(history: [history[0]])[.notInHistory] == 2)
    }

    @Test func `a history that was not read does not balance`() throws {
        var room = try LedgerFixture(viewers: 1)
        room.say(1)
        room.ledger.close()
        // Said once: nobody knows of single messages.
        #expect(room.ledger.findings.counts[.notInHistory] == 1)
    }

    @Test func `an acked message that only history shows balances for nobody`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.say(1, to: [])
        #expect(room.close(history: [first]) == [.hole: 1])
    }

    @Test func `another message at an acked seq is a contradiction`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.send(.kept)
        let second = room.send(.kept)
        room.ack(first, 1)
        room.receive(room.kept(second, 1), 0)
        #expect(room.ledger.findings.counts == [.contradiction: 1])
    }

    @Test func `another messageId at a seq is a contradiction`() throws {
        var room = try LedgerFixture(viewers: 2)
        let first = room.say(1, to: [0])
        let other = KeptSighting(seq: 1, messageID: Fingerprint("x"), body: first.body, origin: first.origin)
        room.receive(other, 1)
        #expect(room.close(history: [first]) == [.contradiction: 1])
    }

    @Test func `one message at two seqs is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.say(1)
        let again = room.kept(1, 2)
        room.receive(again, 0)
        #expect(room.close(history: [first, again]) == [.duplicate: 1])
    }

    @Test func `a repeat that is acked with another seq is a duplicate`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.ack(n, 1)
        room.ack(n, 1)
        #expect(room.ledger.findings.isEmpty)
        room.ack(n, 2)
        #expect(room.ledger.findings.counts == [.duplicate: 1])
    }

    @Test func `a text that nobody sent is foreign`() throws {
        var room = try LedgerFixture(viewers: 2)
        let claimed = room.kept(7, 1)
        room.receive(claimed, 0)
        let foreign = KeptSighting(
            seq: 2, messageID: Fingerprint("m2"), body: Fingerprint("hello"), origin: .foreign)
        room.receive(foreign, 0)
        room.receive(foreign, 1)
        #expect(room.ledger.findings.counts[.foreign] == 2)
    }

    @Test func `a text that differs from the one sent is a contradiction`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.receive(
            KeptSighting(
                seq: 1, messageID: Fingerprint("m1"), body: Fingerprint("cut"), origin: .bot(Claim(bot: BotID(0), n: n))
            ),
            0)
        #expect(room.ledger.findings.counts == [.contradiction: 1])
    }

    @Test func `a barrage that comes as a kept message is foreign`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.barrage)
        room.receive(room.kept(n, 1), 0)
        #expect(room.ledger.findings.counts == [.foreign: 1])
    }

    @Test func `a kept notification has a seq and needs no sender`() throws {
        var room = try LedgerFixture(viewers: 2)
        let first = room.say(1)
        let notification = KeptSighting(
            seq: 2, messageID: Fingerprint("m2"), body: Fingerprint(kind: "event", 312),
            origin: .notification(.other(301)))
        room.receive(notification, 0)
        room.receive(notification, 1)
        #expect(room.close(history: [first, notification]) == [:])
    }

    @Test(arguments: [true, false])
    func `a send without ack may appear or not`(appears: Bool) throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.kept)
        let sighting = room.kept(n, 1)
        if appears { for index in 0...1 { room.receive(sighting, index) } }
        #expect(room.close(history: appears ? [sighting] : []) == [:])
        #expect(room.ledger.totals.kept.unansweredButSeen == (appears ? 1 : 0))
        #expect(room.ledger.totals.kept.unanswered == (appears ? 0 : 1))
    }

    @Test func `a refused send must not appear`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.ledger.refuse(n, of: room.viewers[0])
        #expect(room.ledger.findings.isEmpty)
        let sighting = room.kept(n, 1)
        room.receive(sighting, 0)
        #expect(room.close(history: [sighting]) == [.refusedButAppeared: 1])
    }

    @Test func `a send that appeared must not be refused`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        let sighting = room.kept(n, 1)
        room.receive(sighting, 0)
        room.ledger.refuse(n, of: room.viewers[0])
        #expect(room.close(history: [sighting]) == [.refusedButAppeared: 1])
    }

    @Test func `an ack and a refusal of one send contradict each other`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.ack(n, 1)
        room.ledger.refuse(n, of: room.viewers[0])
        #expect(room.ledger.findings.counts == [.contradiction: 1])
    }

    @Test(arguments: [UInt64(0), SeqSet.seqMax + 1, .max])
    func `an impossible seq is malformed and harmless`(seq: UInt64) throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.receive(room.kept(n, seq), 0)
        _ = room.gap(0, [seq...seq], .slow)
        #expect(room.ledger.findings.counts == [.malformed: 2])
        room.ack(n, seq)
        #expect(room.ledger.findings.counts == [.malformed: 3])
        _ = room.gap(0, [0...UInt64.max], .budget)
        #expect(room.ledger.findings.counts == [.malformed: 4])
        #expect(room.ledger.book(of: room.viewers[0]).position == 0)
    }

    @Test func `whoever never entered or was put out does not balance`() throws {
        var room = try LedgerFixture(viewers: 3, entered: false)
        room.enter(room.viewers[0], seq: 0)
        room.enter(room.viewers[1], seq: 0)
        room.ledger.expel(room.viewers[1], "kicked with reason 2")
        #expect(room.close(history: []) == [.notHere: 2])
    }

    @Test func `the latency of a push counts from its first sending`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.kept)
        let sentAt = SwarmInstant(nanoseconds: room.now)
        let latency = room.ledger.receive(room.kept(n, 1), room.viewers[1])
        #expect(latency == sentAt)
        #expect(SwarmInstant(nanoseconds: room.now + 5_000).microseconds(since: sentAt) == 5)
    }
}
