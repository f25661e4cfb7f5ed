import BotSwarmCore
import ChatModel
import Testing

@Suite struct ResumeLedgerTests {
    @Test func `what was missed and the live stream balance`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        room.ledger.disconnect(room.viewers[1])
        #expect(!room.ledger.isSettled())
        history += [room.say(2, to: [0]), room.say(3, to: [0])]
        #expect(room.ledger.book(of: room.viewers[1]).resumePoint == 1)
        let rest = room.enter(room.viewers[1], seq: 3, since: 1, missed: Array(history[1...]))
        #expect(rest == nil)
        history.append(room.say(4))
        #expect(room.ledger.isSettled())
        #expect(room.close(history: history) == [:])
        #expect(room.ledger.totals.recovered == 2)
    }

    @Test func `a client that had received nothing yet resumes too`() throws {
        var room = try LedgerFixture(viewers: 2)
        room.ledger.disconnect(room.viewers[1])
        let first = room.say(1, to: [0])
        room.enter(room.viewers[1], seq: 1, since: 0, missed: [first])
        #expect(room.close(history: [first]) == [:])
    }

    @Test func `recovered false does not balance`() throws {
        var room = try LedgerFixture(viewers: 2)
        let first = room.say(1)
        room.ledger.disconnect(room.viewers[1])
        let second = room.say(2, to: [0])
        room.enter(room.viewers[1], seq: 2, since: 1, recovered: false)
        #expect(room.close(history: [first, second]) == [.notRecovered: 1])
    }

    @Test func `another epoch does not balance`() throws {
        var room = try LedgerFixture(viewers: 1)
        room.ledger.disconnect(room.viewers[0])
        room.enter(room.viewers[0], seq: 0, since: 0, epoch: "e2")
        #expect(room.close(history: []) == [.notRecovered: 1])
    }

    @Test func `a room that has fallen back does not balance`() throws {
        var room = try LedgerFixture(viewers: 1)
        let history = [room.say(1), room.say(2)]
        room.ledger.disconnect(room.viewers[0])
        room.enter(room.viewers[0], seq: 1, since: 2)
        #expect(room.ledger.findings.counts == [.notRecovered: 1])
        #expect(room.close(history: [history[0]])[.notInHistory] == 2)
    }

    @Test func `missed with a hole, a double or too few does not balance`() throws {
        let cases: [(missed: [Int], finding: Finding.Kind)] = [
            ([2, 4], .hole), ([2, 2, 3, 4], .reordered), ([2, 3], .hole), ([1, 2, 3, 4], .reordered),
            ([3, 2, 4], .hole), ([2, 3, 4, 5], .contradiction),
        ]
        for (missed, finding) in cases {
            var room = try LedgerFixture(viewers: 2)
            var history = [room.say(1)]
            room.ledger.disconnect(room.viewers[1])
            for seq in 2...5 { history.append(room.say(UInt64(seq), to: [0])) }
            room.enter(room.viewers[1], seq: 4, since: 1, missed: missed.map { history[$0 - 1] })
            #expect(room.ledger.findings.counts[finding, default: 0] >= 1, "\(missed)")
        }
    }

    @Test func `missedMore is read from history while live pushes go on`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        room.ledger.disconnect(room.viewers[1])
        for seq in 2...10 { history.append(room.say(UInt64(seq), to: [0])) }
        let rest = room.enter(room.viewers[1], seq: 10, since: 1, missed: Array(history[1...3]), more: true)
        #expect(rest == 5...10)
        history.append(room.say(11))
        #expect(!room.ledger.isSettled())
        #expect(room.ledger.catchUp(room.viewers[1], page: Array(history[4...6])) == 8...10)
        #expect(room.ledger.book(of: room.viewers[1]).resumePoint == 7)
        // The last page may go beyond the reply's seq.
        #expect(room.ledger.catchUp(room.viewers[1], page: Array(history[7...10])) == nil)
        #expect(room.ledger.isSettled())
        #expect(room.close(history: history) == [:])
        #expect(room.ledger.totals.recovered == 9)
    }

    @Test func `a hole in the pages after missedMore does not balance`() throws {
        for page in [[], [5, 7, 8], [6, 7, 8], [8]] {
            var room = try LedgerFixture(viewers: 2)
            var history = [room.say(1)]
            room.ledger.disconnect(room.viewers[1])
            for seq in 2...8 { history.append(room.say(UInt64(seq), to: [0])) }
            room.enter(room.viewers[1], seq: 8, since: 1, missed: Array(history[1...3]), more: true)
            _ = room.ledger.catchUp(room.viewers[1], page: page.map { history[$0 - 1] })
            #expect(room.ledger.findings.counts[.notInHistory, default: 0] >= 1, "\(page)")
        }
    }

    @Test func `what is not caught up with until the end does not balance`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        room.ledger.disconnect(room.viewers[1])
        for seq in 2...4 { history.append(room.say(UInt64(seq), to: [0])) }
        room.enter(room.viewers[1], seq: 4, since: 1, missed: [history[1]], more: true)
        #expect(room.close(history: history) == [.hole: 1])
    }

    @Test func `missedMore with nothing more is a contradiction`() throws {
        var room = try LedgerFixture(viewers: 1)
        let first = room.say(1)
        room.ledger.disconnect(room.viewers[0])
        room.enter(room.viewers[0], seq: 1, since: 1, more: true)
        #expect(room.close(history: [first]) == [.contradiction: 1])
    }

    @Test func `a bot with an open hole resumes before it`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1), room.say(2, to: [0]), room.say(3)]
        room.ledger.disconnect(room.viewers[1])
        #expect(room.ledger.book(of: room.viewers[1]).resumePoint == 1)
        room.enter(room.viewers[1], seq: 3, since: 1, missed: Array(history[1...2]))
        history.append(room.say(4))
        #expect(room.close(history: history) == [:])
    }

    @Test func `whoever is away at the end does not balance`() throws {
        var room = try LedgerFixture(viewers: 1)
        room.ledger.disconnect(room.viewers[0])
        #expect(room.close(history: []) == [.notHere: 1])
    }

    @Test func `a push to somebody who is not in the room any more is a finding`() throws {
        var room = try LedgerFixture(viewers: 1)
        let n = room.send(.kept)
        room.ledger.disconnect(room.viewers[0])
        room.receive(room.kept(n, 1), 0)
        #expect(room.ledger.findings.counts == [.hereAlthoughPutOut: 1])
    }

    @Test func `a send repeated after a crash is acked as what it was`() throws {
        var room = try LedgerFixture(viewers: 2)
        let n = room.send(.kept)
        let sighting = room.kept(n, 1)
        room.receive(sighting, 1)
        for viewer in room.viewers { room.ledger.disconnect(viewer) }
        room.enter(room.viewers[0], seq: 1, since: 0, missed: [sighting])
        room.enter(room.viewers[1], seq: 1, since: 1)
        room.ack(n, 1)
        #expect(room.close(history: [sighting]) == [:])
    }

    @Test func `the room going away and coming back keeps the positions`() throws {
        var room = try LedgerFixture(viewers: 2)
        var history = [room.say(1)]
        for viewer in room.viewers { room.ledger.interrupt(viewer, at: room.tick()) }
        history.append(room.say(2))
        #expect(room.close(history: history) == [:])
    }
}
