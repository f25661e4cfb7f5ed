import BotSwarmCore
import ChatModel

/// A server that keeps the protocol, or breaks it once in a chosen way, and the swarm's books about it.
struct ServerModel {
    enum Fault: CaseIterable {
        case losesPush, doublesPush, swapsPushes, changesMessageID, cutsText, losesFromHistory, losesUnkeptSilently
        case losesBarrageSilently, losesOwnBarrage, doublesUnkept, doublesBarrage, leavesOutMissed, namesTooLittle
        case appliesRepeatTwice, forgetsAcked, inventsMessage
    }

    /// What waits on the way to one viewer, in order.
    enum Pushed {
        case kept(KeptSighting)
        case unkept(UnkeptSighting)
        case barrage(BarrageSighting)
        case gap([ClosedRange<UInt64>], GapReason)
        case skipped(unkept: Int64, barrage: Int64)
    }

    struct Peer {
        var isHere = true
        var queue: [Pushed] = []
        var untoldHoles: [ClosedRange<UInt64>] = []
        var untoldUnkept: Int64 = 0
        var untoldBarrage: Int64 = 0
    }

    var fixture: LedgerFixture
    var random: SeededGenerator
    var stream: [KeptSighting] = []
    var peers: [Peer]
    var fault: Fault?
    private(set) var hasBroken = false
    private var unacked: [(n: Int, index: Int, seq: UInt64?)] = []

    init(fixture: LedgerFixture, seed: UInt64, fault: Fault?) {
        self.fixture = fixture
        random = SeededGenerator(seed: seed)
        peers = fixture.viewers.map { _ in Peer() }
        self.fault = fault
    }

    private mutating func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &random) < percent }

    /// Whether the fault is to happen here: once, at some opportunity.
    private mutating func breaks(_ kind: Fault) -> Bool {
        guard fault == kind, !hasBroken, chance(30) else { return false }
        hasBroken = true
        return true
    }

    mutating func step() {
        switch Int.random(in: 0..<12, using: &random) {
        case 0...3: sendKept()
        case 4: sendUnkept()
        case 5: sendBarrage()
        case 6: disconnect()
        case 7: resume()
        case 8: goSlow()
        case 9: sendLosses()
        case 10: repeatUnacked()
        default: break
        }
        for index in peers.indices where chance(60) { deliver(index) }
    }

    private mutating func sender() -> Int? {
        peers.indices.filter { peers[$0].isHere }.randomElement(using: &random)
    }

    private mutating func sendKept() {
        guard let index = sender() else { return }
        let n = fixture.send(.kept, by: index)
        if chance(10) { return unacked.append((n, index, nil)) }
        let seq = append(n, index)
        if chance(10) { unacked.append((n, index, seq)) } else { fixture.ack(n, seq, by: index) }
    }

    private mutating func append(_ n: Int, _ index: Int) -> UInt64 {
        if breaks(.forgetsAcked) {
            // Acked at the seq that the next one gets.
            return UInt64(stream.count) + 1
        }
        if breaks(.inventsMessage) { publish(fixture.kept(n + 1_000, UInt64(stream.count) + 1, by: index)) }
        let sighting = fixture.kept(n, UInt64(stream.count) + 1, by: index)
        publish(sighting)
        return sighting.seq
    }

    private mutating func publish(_ sighting: KeptSighting) {
        stream.append(sighting)
        for receiver in peers.indices where peers[receiver].isHere {
            if chance(10) {
                peers[receiver].untoldHoles.append(sighting.seq...sighting.seq)
                continue
            }
            if breaks(.losesPush) { continue }
            peers[receiver].queue.append(.kept(broken(sighting)))
            if breaks(.doublesPush) { peers[receiver].queue.append(.kept(sighting)) }
        }
    }

    private mutating func broken(_ sighting: KeptSighting) -> KeptSighting {
        if breaks(.changesMessageID) {
            return KeptSighting(
                seq: sighting.seq, messageID: Fingerprint("other"), body: sighting.body, origin: sighting.origin)
        }
        if breaks(.cutsText) {
            return KeptSighting(
                seq: sighting.seq, messageID: sighting.messageID, body: Fingerprint("cut"), origin: sighting.origin)
        }
        return sighting
    }

    private mutating func sendUnkept() {
        guard let index = sender() else { return }
        let n = fixture.send(.unkept, by: index)
        let sighting = fixture.unkept(n, after: UInt64(stream.count), by: index)
        for receiver in peers.indices where peers[receiver].isHere {
            if chance(20) {
                peers[receiver].untoldUnkept += 1
            } else if !breaks(.losesUnkeptSilently) {
                peers[receiver].queue.append(.unkept(sighting))
                if breaks(.doublesUnkept) { peers[receiver].queue.append(.unkept(sighting)) }
            }
        }
        fixture.accept(n, by: index)
    }

    private mutating func sendBarrage() {
        guard let index = sender() else { return }
        let n = fixture.send(.barrage, by: index)
        let sighting = fixture.barrage(n, by: index)
        for receiver in peers.indices where peers[receiver].isHere {
            if receiver == index {
                if !breaks(.losesOwnBarrage) { peers[receiver].queue.append(.barrage(sighting)) }
            } else if chance(30) {
                peers[receiver].untoldBarrage += 1
            } else if !breaks(.losesBarrageSilently) {
                peers[receiver].queue.append(.barrage(sighting))
                if breaks(.doublesBarrage) { peers[receiver].queue.append(.barrage(sighting)) }
            }
        }
        fixture.accept(n, by: index)
    }

    private mutating func disconnect() {
        // A disconnect, or a gap over everything, would explain the fault.
        guard !hasBroken, chance(50), let index = sender() else { return }
        peers[index] = Peer(isHere: false)
        fixture.ledger.disconnect(fixture.viewers[index])
    }

    private mutating func resume() {
        guard let index = peers.indices.filter({ !peers[$0].isHere }).randomElement(using: &random) else { return }
        resume(index)
    }

    private mutating func resume(_ index: Int) {
        peers[index].isHere = true
        let since = fixture.ledger.book(of: fixture.viewers[index]).resumePoint
        let limit = Int.random(in: 1...8, using: &random)
        var missed = Array(stream[Int(since)...].prefix(limit))
        let more = Int(since) + missed.count < stream.count
        // Not the last one: history would bring it.
        if missed.count > 1, breaks(.leavesOutMissed) { missed.remove(at: 0) }
        var rest = fixture.enter(
            fixture.viewers[index], seq: UInt64(stream.count), since: since, missed: missed, more: more)
        while let range = rest {
            let page = Array(stream[Int(range.lowerBound - 1)...].prefix(5))
            rest = fixture.ledger.catchUp(fixture.viewers[index], page: page)
        }
    }

    /// The queue of a slow viewer is replaced by a gap.
    private mutating func goSlow() {
        guard !hasBroken, let index = sender() else { return }
        var kept: ClosedRange<UInt64>?
        var (unkept, barrage): (Int64, Int64) = (0, 0)
        var own: [Pushed] = []
        for item in peers[index].queue {
            switch item {
            case .kept(let sighting): kept = (kept?.lowerBound ?? sighting.seq)...sighting.seq
            case .unkept: unkept += 1
            case .barrage(let sighting):
                if sighting.claim?.bot == BotID(index) { own.append(item) } else { barrage += 1 }
            case .gap, .skipped: return
            }
        }
        peers[index].queue = own
        if let kept { peers[index].queue.append(.gap([kept], .slow)) }
        if unkept + barrage > 0 { peers[index].queue.append(.skipped(unkept: unkept, barrage: barrage)) }
    }

    private mutating func sendLosses() {
        for index in peers.indices where peers[index].isHere { sendLosses(index) }
    }

    private mutating func sendLosses(_ index: Int) {
        if !peers[index].untoldHoles.isEmpty {
            var ranges = peers[index].untoldHoles
            if breaks(.namesTooLittle) { ranges.removeFirst() }
            peers[index].queue.append(.gap(ranges, .budget))
            peers[index].untoldHoles = []
        }
        if peers[index].untoldUnkept + peers[index].untoldBarrage > 0 {
            peers[index].queue.append(
                .skipped(unkept: peers[index].untoldUnkept, barrage: peers[index].untoldBarrage))
            peers[index].untoldUnkept = 0
            peers[index].untoldBarrage = 0
        }
    }

    private mutating func repeatUnacked() {
        guard !unacked.isEmpty else { return }
        let (n, index, seq) = unacked.removeFirst()
        if let seq {
            if breaks(.appliesRepeatTwice) { return fixture.ack(n, append(n, index), by: index) }
            fixture.ack(n, seq, by: index)
        } else {
            fixture.ack(n, append(n, index), by: index)
        }
    }

    private mutating func deliver(_ index: Int) {
        if peers[index].queue.count >= 2, case .kept = peers[index].queue[0], case .kept = peers[index].queue[1],
            breaks(.swapsPushes)
        {
            peers[index].queue.swapAt(0, 1)
        }
        let queue = peers[index].queue
        peers[index].queue = []
        let viewer = fixture.viewers[index]
        for item in queue {
            switch item {
            case .kept(let sighting): fixture.receive(sighting, index)
            case .unkept(let sighting): fixture.receive(sighting, index)
            case .barrage(let sighting): fixture.receive(sighting, index)
            case .skipped(let unkept, let barrage): fixture.ledger.skip(viewer, unkept: unkept, barrage: barrage)
            case .gap(let ranges, let reason):
                fixture.now += 1_000_000_000
                for range in fixture.gap(index, ranges, reason) {
                    let page = Array(stream[Int(range.lowerBound - 1)...].prefix(range.count))
                    _ = fixture.ledger.fetch(viewer, range, page: page)
                }
            }
        }
    }

    /// Everybody comes back, everything arrives, history is read.
    mutating func finish() -> [Finding.Kind: Int] {
        for index in peers.indices {
            if !peers[index].isHere { resume(index) }
            sendLosses(index)
            deliver(index)
        }
        var history = stream
        if !history.isEmpty, breaks(.losesFromHistory) { history.remove(at: history.count / 2) }
        return fixture.close(history: history, end: UInt64(stream.count))
    }
}
