import BotSwarmCore
import ChatModel
import Testing

/// One room with its books, and what a server would say about it.
struct LedgerFixture {
    var ledger: RoomLedger
    var viewers: [RoomLedger.Viewer] = []
    var now: UInt64 = 1

    init(
        viewers count: Int, entered: Bool = true, replays: Bool = false, budget: BudgetRule? = nil
    ) throws {
        let names = try #require(BotNames(run: "t1"))
        ledger = RoomLedger(room: try #require(RoomID("room")), names: names, replays: replays, budget: budget)
        for number in 0..<count { viewers.append(ledger.add(BotID(number))) }
        if entered { for viewer in viewers { enter(viewer, seq: 0) } }
    }

    mutating func tick() -> SwarmInstant {
        now += 1
        return SwarmInstant(nanoseconds: now)
    }

    @discardableResult
    mutating func enter(
        _ viewer: RoomLedger.Viewer, seq: UInt64, since: UInt64? = nil, recovered: Bool? = nil,
        missed: [KeptSighting] = [], more: Bool = false, epoch: String = "e1"
    ) -> ClosedRange<UInt64>? {
        ledger.enter(
            viewer,
            EntryReply(
                seq: seq, epoch: epoch, since: since, recovered: recovered ?? (since == nil ? nil : true),
                missed: missed, missedMore: more), at: tick())
    }

    /// Viewer 0 sends a kept message, which gets `seq`; every viewer gets the push.
    @discardableResult
    mutating func say(_ seq: UInt64, to receivers: [Int]? = nil, isAcked: Bool = true) -> KeptSighting {
        let n = send(.kept)
        let sighting = kept(n, seq)
        if isAcked { ack(n, seq) }
        for index in receivers ?? Array(viewers.indices) { receive(sighting, index) }
        return sighting
    }

    mutating func send(_ kind: SentKind, by index: Int = 0) -> Int {
        ledger.send(kind, by: viewers[index], bytes: 60, at: tick())
    }

    func text(_ n: Int, by index: Int = 0) -> Fingerprint {
        Fingerprint(ledger.names.text(of: BotID(index), n, bytes: 60))
    }

    func kept(_ n: Int, _ seq: UInt64, by index: Int = 0) -> KeptSighting {
        KeptSighting(
            seq: seq, messageID: Fingerprint("m\(seq)"), body: text(n, by: index),
            origin: .bot(Claim(bot: BotID(index), n: n)))
    }

    func unkept(_ n: Int, after: UInt64, by index: Int = 0) -> UnkeptSighting {
        UnkeptSighting(
            after: after, messageID: Fingerprint("u\(index)-\(n)"), body: text(n, by: index),
            origin: .bot(Claim(bot: BotID(index), n: n)))
    }

    func barrage(_ n: Int, by index: Int = 0, count: Int64 = 1) -> BarrageSighting {
        BarrageSighting(body: text(n, by: index), claim: Claim(bot: BotID(index), n: n), count: count)
    }

    mutating func ack(_ n: Int, _ seq: UInt64, by index: Int = 0) {
        ledger.acknowledge(n, of: viewers[index], Acknowledgement(messageID: Fingerprint("m\(seq)"), seq: seq))
    }

    mutating func accept(_ n: Int, by index: Int = 0) {
        ledger.acknowledge(n, of: viewers[index], Acknowledgement())
    }

    mutating func receive(_ sighting: KeptSighting, _ index: Int) {
        _ = ledger.receive(sighting, viewers[index])
    }

    mutating func receive(_ sighting: UnkeptSighting, _ index: Int) {
        _ = ledger.receive(sighting, viewers[index])
    }

    mutating func receive(_ sighting: BarrageSighting, _ index: Int) {
        _ = ledger.receive(sighting, viewers[index])
    }

    mutating func gap(_ index: Int, _ ranges: [ClosedRange<UInt64>], _ reason: GapReason) -> [ClosedRange<UInt64>] {
        let instant = tick()
        return ledger.gap(viewers[index], ranges, reason, at: instant)
    }

    /// Reads the whole history, which holds `messages`, and closes the books.
    mutating func close(history messages: [KeptSighting], end: UInt64? = nil) -> [Finding.Kind: Int] {
        let end = end ?? messages.map(\.seq).max() ?? 0
        if let range = ledger.beginAudit(end: end) {
            ledger.audit(range, page: messages.filter { range.contains($0.seq) })
        }
        ledger.close()
        return ledger.findings.counts
    }
}
