import ChatModel
import Synchronization
import Wire

/// From an open WebSocket into the room, also for the second time.
extension Bot {
    /// The WebSocket is open.
    func begin() {
        move(to: .entering)
        var connect = ConnectRequest()
        if isAnonymous {
            connect.anonymous = true
        } else {
            connect.token = lane.token(for: user)
        }
        connect.session = session
        request(.connect(connect), .connect)
    }

    func connected(_ result: ConnectResult) {
        lane.counters.connected += 1
        isEndExpected = false
        if result.resumed { lane.counters.resumed += 1 }
        if !isAnonymous, result.user != user { noteMalformed("connected as \(result.user)") }
        session = result.session
        heartbeatSeconds = result.heartbeatSeconds
        refusedTokens = 0
        enter()
    }

    func enter() {
        move(to: .entering)
        var enter = EnterRequest(room: book.room)
        if isAnonymous {
            enter.nick = user.text
            enter.avatar = "https://example.org/avatar.png"
        }
        if let epoch {
            enter.since = book.ledger.withLock { $0.book(of: viewer).resumePoint }
            enter.epoch = epoch
        }
        request(.enter(enter), .enter(since: enter.since, askedAt: lane.clock.now))
    }

    func entered(_ result: EnterResult, since: UInt64?) {
        epoch = result.epoch
        backoff.succeed()
        let missed = lane.sightings.page(result.missed ?? [])
        let reply = EntryReply(
            seq: result.seq, epoch: result.epoch, since: since, recovered: result.recovered, missed: missed,
            missedMore: result.missedMore ?? false)
        noteArrival()
        let absence = away.flatMap { self.absence(of: $0) }
        away = nil
        absenceMilliseconds = nil
        let rest = book.ledger.withLock {
            $0.entry(viewer, at: result.seq, after: absence)
            return $0.enter(viewer, reply, at: lane.readTime)
        }
        move(to: .here)
        if let rest { read(rest, .catchUp(rest)) }
        repeatUnanswered()
        if isSlow, lane.isSlowStage { stopReading() }
    }

    private func absence(of away: Away) -> ReplayNotes.Absence? {
        switch away.cause {
        case .left: .left
        case .dropped: .dropped(milliseconds: lane.readTime.microseconds(since: away.since) / 1000, from: away.from)
        case .unknown: nil
        }
    }

    /// An `enter` was refused: for now, or for good.
    func entryRefused(_ error: ChatError) {
        // Put out while it was away: `kicked` has told it so before.
        if case .outside = phase { return }
        lane.note(failure: "enter was answered \(error.code.number) \(error.message)")
        if error.code == .blacklisted, lane.scenario.moderates { return stayOutside(error) }
        guard Self.isWorthRepeating(error.code) else {
            return stop("may not enter: \(error.code.number) \(error.message)")
        }
        after(milliseconds: Self.wait(for: error)) { [weak self] in self?.enter() }
    }

    func connectRefused(_ error: ChatError) {
        lane.note(failure: "connect was answered \(error.code.number) \(error.message)")
        if let wait = error.retryAfterMs { backoff.obey(minMilliseconds: wait, maxMilliseconds: 2 * wait) }
        // 401 is followed by a close frame, which decides.
        if error.code != .unauthorized { drop() }
    }

    /// Requests that were not answered before the connection was lost are sent again, with the same `clientId`. A
    /// barrage has none: whether it got there stays unknown.
    private func repeatUnanswered() {
        let asked = pending.values.compactMap { request -> Int? in
            if case .message(let n) = request { n } else { nil }
        }
        for (n, message) in unanswered.sorted(by: { $0.key < $1.key }) where !asked.contains(n) {
            let age = lane.readTime.microseconds(since: message.sentAt)
            guard message.kind != .barrage, age < Self.repeatMicrosecondsMax else {
                unanswered[n] = nil
                continue
            }
            lane.counters.retries += 1
            unanswered[n]?.isRepeated = true
            transmit(n, message.kind)
        }
    }

    static func isWorthRepeating(_ code: ErrorCode) -> Bool {
        switch code {
        case .unavailable, .tooOften, .internal: true
        default: false
        }
    }

    /// Milliseconds until a refused request is repeated.
    static func wait(for error: ChatError) -> UInt64 {
        min(max(UInt64(clamping: error.retryAfterMs ?? 500), 10), 60_000)
    }

    /// A `clientId` is remembered for 10 minutes (PROTOCOL.md, "Retry"); a little less is safe.
    static let repeatMicrosecondsMax: UInt64 = 590_000_000
}
