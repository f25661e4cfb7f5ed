import BotSwarmCore
import ChatModel
import Testing

/// One room with the bots of two workers, each with its own ledger.
@Suite struct RemoteLedgerTests {
    private struct Pair {
        var ledgers: [RoomLedger] = []
        var viewers: [RoomLedger.Viewer] = []
        let names: BotNames
        var now: UInt64 = 100

        init() throws {
            names = try #require(BotNames(run: "t1"))
            let room = try #require(RoomID("room"))
            for bot in 0...1 {
                var ledger = RoomLedger(
                    room: room, names: names, others: OtherBots(bots: 2, rooms: 1, room: 0, bytes: 60))
                viewers.append(ledger.add(BotID(bot)))
                _ = ledger.enter(viewers[bot], EntryReply(seq: 0, epoch: "e"), at: SwarmInstant(nanoseconds: 1))
                ledgers.append(ledger)
            }
        }

        func sighting(_ bot: Int, _ n: Int, _ seq: UInt64) -> KeptSighting {
            KeptSighting(
                seq: seq, messageID: Fingerprint("m\(seq)"),
                body: Fingerprint(names.text(of: BotID(bot), n, bytes: 60)),
                origin: .bot(Claim(bot: BotID(bot), n: n)), sentAt: SwarmInstant(nanoseconds: 100 + seq))
        }

        mutating func send(_ bot: Int, _ kind: SentKind = .kept) -> Int {
            now += 1
            return ledgers[bot].send(kind, by: viewers[bot], bytes: 60, at: SwarmInstant(nanoseconds: now))
        }

        mutating func ack(_ bot: Int, _ n: Int, _ seq: UInt64?) {
            ledgers[bot].acknowledge(
                n, of: viewers[bot], Acknowledgement(messageID: Fingerprint(seq.map { "m\($0)" } ?? "u"), seq: seq))
        }

        /// Both workers exchange what they have sent, read the history, and close.
        mutating func close(history: [KeptSighting]) -> [[Finding.Kind: Int]] {
            let statements = ledgers.map(\.statements)
            for index in 0...1 {
                for statement in statements[1 - index] { ledgers[index].hear(statement) }
                if let range = ledgers[index].beginAudit(end: UInt64(history.count)) {
                    ledgers[index].audit(range, page: history)
                }
                ledgers[index].close()
            }
            return ledgers.map(\.findings.counts)
        }
    }

    @Test func `messages of both workers balance in both`() throws {
        var pair = try Pair()
        let (a, b) = (pair.send(0), pair.send(1))
        let history = [pair.sighting(0, a, 1), pair.sighting(1, b, 2)]
        for index in 0...1 {
            for sighting in history { _ = pair.ledgers[index].receive(sighting, pair.viewers[index]) }
        }
        pair.ack(0, a, 1)
        pair.ack(1, b, 2)
        #expect(pair.close(history: history) == [[:], [:]])
    }

    @Test func `a message of the other worker that never came is found, though nobody here knew of it`() throws {
        var pair = try Pair()
        let a = pair.send(0)
        pair.ack(0, a, 1)
        let history = [pair.sighting(0, a, 1)]
        _ = pair.ledgers[0].receive(history[0], pair.viewers[0])
        #expect(pair.close(history: history) == [[:], [.hole: 1]])
    }

    @Test func `an acked message that is not in the stream is found by both`() throws {
        var pair = try Pair()
        let (a, b) = (pair.send(0), pair.send(1))
        pair.ack(0, a, 1)
        pair.ack(1, b, 1)
        let history = [pair.sighting(1, b, 1)]
        for index in 0...1 { _ = pair.ledgers[index].receive(history[0], pair.viewers[index]) }
        let findings = pair.close(history: history)
        #expect(findings[0][.contradiction] != nil)
        #expect(findings[1][.contradiction] != nil)
    }

    @Test func `a message that no worker has sent is foreign`() throws {
        var pair = try Pair()
        let history = [pair.sighting(1, 1, 1)]
        for index in 0...1 { _ = pair.ledgers[index].receive(history[0], pair.viewers[index]) }
        let findings = pair.close(history: history)
        #expect(findings[0] == [.foreign: 1])
        #expect(findings[1][.foreign] == 1)
    }

    @Test func `a cut text of another worker's bot is a contradiction`() throws {
        var pair = try Pair()
        let whole = pair.sighting(1, 1, 1)
        let cut = KeptSighting(
            seq: 1, messageID: whole.messageID, body: Fingerprint("cut"), origin: whole.origin)
        _ = pair.ledgers[0].receive(cut, pair.viewers[0])
        #expect(pair.ledgers[0].findings.counts == [.contradiction: 1])
    }

    @Test func `an unkept message of the other worker is owed here too`() throws {
        for told in [0, 1] as [Int64] {
            var pair = try Pair()
            let n = pair.send(1, .unkept)
            pair.ack(1, n, nil)
            pair.ledgers[1].skip(pair.viewers[1], unkept: 1, barrage: 0)
            pair.ledgers[0].skip(pair.viewers[0], unkept: told, barrage: 0)
            #expect(pair.close(history: []) == [told == 1 ? [:] : [.silentLoss: 1], [:]])
        }
    }
}
