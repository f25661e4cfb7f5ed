import ChatModel
import EventLoop
import Synchronization
import Wire

/// Pushes to a bot.
extension Bot {
    func handle(_ item: Incoming) {
        // Items that were read together with the reason to stop do not count any more.
        guard !isStopped else { return }
        switch item {
        case .reply(let id, let result): answered(id, result)
        case .kept(let room, let sighting): push(room) { $0.receive(sighting, viewer) }
        case .unkept(let room, let sighting): push(room) { $0.receive(sighting, viewer) }
        case .barrage(let room, let items):
            lane.counters.barrageDelivered += UInt64(items.count)
            for sighting in items { push(room) { $0.receive(sighting, viewer) } }
        case .gap(let room, let ranges, let reason): if isMine(room) { gap(ranges, reason) }
        case .skipped(let room, let unkept, let barrage):
            if isMine(room) { book.ledger.withLock { $0.skip(viewer, unkept: unkept, barrage: barrage) } }
        case .kicked(let room, let reason): if isMine(room) { kicked(reason) }
        case .state(let room, let state): if isMine(room) { roomIs(state) }
        case .token: request(.refresh(RefreshRequest(token: lane.token(for: user))), .refresh)
        case .reconnect(let low, let high): sentAway(low, high)
        case .other: break
        case .malformed(let text): noteMalformed(text)
        }
    }

    private func isMine(_ room: RoomID) -> Bool {
        if room == book.room { return true }
        noteMalformed("a push of \(room)")
        return false
    }

    /// Notes a delivery; `note` tells when it was sent.
    @inline(__always)
    private func push(_ room: RoomID, _ note: (inout RoomLedger) -> SwarmInstant?) {
        guard isMine(room) else { return }
        lane.counters.delivered += 1
        if let sentAt = book.ledger.withLock({ note(&$0) }) {
            lane.latencies.note(isSlow ? .slowReceipt : .receipt, lane.readTime.microseconds(since: sentAt))
        }
    }

    private func gap(_ ranges: [ClosedRange<UInt64>], _ reason: GapReason) {
        for range in book.ledger.withLock({ $0.gap(viewer, ranges, reason, at: lane.readTime) }) {
            // Beyond the bound the reading of everything at the end has to do.
            guard delayedFetches + fetches.count < Self.fetchesMax else { return }
            delayedFetches += 1
            let number = connectionNumber
            let delay = UInt64.random(in: 0...Self.slowGapMillisecondsMax, using: &lane.random)
            lane.loop.schedule(afterMilliseconds: delay) { [weak self] in
                guard let self else { return }
                delayedFetches -= 1
                guard number == connectionNumber, isHere else { return }
                fetches.append(range)
                fetchNext()
            }
        }
    }

    func fetchNext() {
        guard !isFetching, isHere, let range = fetches.popLast() else { return }
        isFetching = true
        read(range, .fetch(range))
    }

    private func roomIs(_ state: RoomStatus) {
        switch state {
        case .lost, .entered: book.ledger.withLock { $0.interrupt(viewer, at: lane.clock.now) }
        case .failed:
            book.ledger.withLock { $0.disconnect(viewer) }
            move(to: .entering)
            after(milliseconds: Self.failedRoomMilliseconds) { [weak self] in self?.enter() }
        }
    }

    /// Reads a page of history from the beginning of `range`.
    func read(_ range: ClosedRange<UInt64>, _ purpose: Pending) {
        var history = RoomHistoryRequest(room: book.room)
        history.query.ascending = true
        history.query.limit = Int(min(UInt64(clamping: range.count), HistoryAudit.pageItems))
        history.query.afterSeq = range.lowerBound - 1
        request(.history(history), purpose)
    }

    private static let fetchesMax = 256
    /// PROTOCOL.md, "Viewer budget".
    private static let slowGapMillisecondsMax: UInt64 = 5_000
    private static let failedRoomMilliseconds: UInt64 = 1_000
}
