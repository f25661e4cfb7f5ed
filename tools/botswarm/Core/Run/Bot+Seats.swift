import ChatModel
import Synchronization
import Wire

/// A change of the queue that a bot has asked for.
struct SeatAsk {
    enum Change {
        case set(key: String, value: String, ifVersion: Int64?)
        case setMany([QueuePair])
        case take
    }

    let change: Change
    let askedAt: SwarmInstant
    /// The bot's place in the stream then.
    let from: UInt64
}

/// How a bot uses the room's queue: sets and takes seats, often in the way of others.
extension Bot {
    /// Changes or reads something at random.
    func useSeats() {
        guard isHere, !isLeaving, pending.count < Self.seatsInFlight else { return }
        switch Int.random(in: 0..<100, using: &lane.random) {
        case ..<55: setSeat()
        case ..<80: takeSeat()
        case ..<90: setManySeats()
        default: request(.queue(QueueRequest(room: book.room)), .queueRead(isFinal: false))
        }
    }

    private func randomKey() -> String { "seat-\(Int.random(in: 0..<lane.scenario.seatKeys, using: &lane.random))" }

    private func nextValue() -> String {
        seatNumber += 1
        return "\(user)-s\(seatNumber)"
    }

    private func setSeat() {
        let (key, value) = (randomKey(), nextValue())
        var ask = QueueSetRequest(room: book.room, key: key, value: value)
        ask.transient = Int.random(in: 0..<100, using: &lane.random) < 60
        // The version that the bot was told last, or that it must be new.
        switch Int.random(in: 0..<4, using: &lane.random) {
        case 0: ask.ifVersion = 0
        case 1: ask.ifVersion = book.ledger.withLock { $0.seatVersion(key) }
        default: break
        }
        ask.clientID = value
        change(
            .set(key: key, value: value, ifVersion: ask.ifVersion), [QueuePair(key: key, value: value)], .queueSet(ask))
    }

    private func setManySeats() {
        let pairs = Set((0..<3).map { _ in randomKey() }).map { QueuePair(key: $0, value: nextValue()) }
        change(.setMany(pairs), pairs, .queueSetMany(QueueSetManyRequest(room: book.room, values: pairs)))
    }

    private func takeSeat() {
        let key = Bool.random(using: &lane.random) ? randomKey() : nil
        change(.take, [], .queueTake(QueueTakeRequest(room: book.room, key: key)))
    }

    private func change(_ change: SeatAsk.Change, _ writes: [QueuePair], _ operation: ClientOperation) {
        let from = book.ledger.withLock { ledger in
            for write in writes { ledger.seatWrite(viewer, key: write.key, value: write.value) }
            return ledger.book(of: viewer).position
        }
        request(operation, .seat(SeatAsk(change: change, askedAt: lane.clock.now, from: from)))
    }

    func seatAnswered(_ ask: SeatAsk, _ result: OperationResult) {
        lane.counters.seatChanges += 1
        lane.latencies.note(.seat, lane.readTime.microseconds(since: ask.askedAt))
        switch (ask.change, result) {
        case (.set(_, let value, _), .queueSet(let result)):
            book.ledger.withLock { $0.seatAnswered(value: value, .acked(result.element)) }
        case (.setMany(let pairs), .queueSetMany(let result)):
            book.ledger.withLock { ledger in
                for pair in pairs {
                    ledger.seatAnswered(
                        value: pair.value, result.missing.contains(pair.key) ? .refused : .acked(nil))
                }
            }
        case (.take, .queueTake(let result)): book.ledger.withLock { $0.seatTaken(viewer, result.element) }
        default: noteMalformed("an answer of another operation")
        }
    }

    func seatRefused(_ ask: SeatAsk, _ error: ChatError) {
        // A failure inside the server leaves open whether it was done.
        let isUndone = error.code != .internal && error.code != .unavailable
        switch ask.change {
        case .set(let key, let value, let ifVersion):
            if isUndone { book.ledger.withLock { $0.seatAnswered(value: value, .refused) } }
            noteRefusal(
                error, "queueSet of \(key)", from: ask.from, isOneOf: ifVersion == nil ? [] : [.conflict],
                version: ifVersion.map { ReplayNotes.QueueVersion(key: key, version: $0) })
        case .setMany(let pairs):
            if isUndone {
                book.ledger.withLock { ledger in
                    for pair in pairs { ledger.seatAnswered(value: pair.value, .refused) }
                }
            }
            noteRefusal(error, "queueSetMany", from: ask.from)
        case .take: noteRefusal(error, "queueTake", from: ask.from, isOneOf: [.notFound])
        }
    }

    // MARK: - Reading

    /// At the end everybody reads the queue once.
    func readQueueAtEnd() {
        guard lane.scenario.hasSeats, !isAnonymous, !hasReadQueue, pending.isEmpty else { return }
        request(.queue(QueueRequest(room: book.room)), .queueRead(isFinal: true))
    }

    func queueRead(_ result: QueueResult, isFinal: Bool) {
        if isFinal { hasReadQueue = true }
        if result.next != nil { noteMalformed("a queue of at most 100 elements has more pages") }
        book.ledger.withLock { $0.queueRead(viewer, QueueAnswer(seq: result.seq, elements: result.elements)) }
    }

    private static let seatsInFlight = 6
}
