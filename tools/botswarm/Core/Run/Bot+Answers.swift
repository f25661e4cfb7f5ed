import ChatModel
import Synchronization
import Wire

/// Answers to a bot.
extension Bot {
    func answered(_ id: UInt32, _ result: Result<OperationResult, ChatError>) {
        guard let request = pending.removeValue(forKey: id) else {
            return noteMalformed("an answer to request \(id), which does not wait for one")
        }
        switch result {
        case .failure(let error):
            lane.counters.errors[error.code.number, default: 0] += 1
            lane.counters.errorCount += 1
            failed(request, error)
        case .success(let value): succeeded(request, value)
        }
    }

    private func succeeded(_ request: Pending, _ value: OperationResult) {
        switch (request, value) {
        case (.connect, .connect(let result)): connected(result)
        case (.refresh, .refresh): break
        case (.enter(let since, let askedAt), .enter(let result)):
            lane.latencies.note(.enter, lane.readTime.microseconds(since: askedAt))
            entered(result, since: since)
        case (.exit(let milliseconds), .exit): exited(milliseconds)
        case (.ping, .ping): break
        case (.online, .room(let result)): book.online.withLock { $0 = result.room.online }
        case (.queueRead(let isFinal), .queue(let result)): queueRead(result, isFinal: isFinal)
        case (.seat(let ask), _): seatAnswered(ask, value)
        case (.moderation(let ask), _): moderated(ask)
        case (.message(let n), .send(let result)): acked(n, result)
        case (.barrage(let n), .barrage): accepted(n)
        case (.catchUp, .history(let result)): caughtUp(lane.sightings.page(result.messages))
        case (.fetch(let range), .history(let result)): fetched(range, lane.sightings.page(result.messages))
        case (.auditEnd, .room(let result)): auditEnds(result.seq ?? 0)
        case (.audit(let range), .history(let result)): audited(range, lane.sightings.page(result.messages))
        default:
            noteMalformed("an answer of another operation")
            giveUp(request)
        }
    }

    private func failed(_ request: Pending, _ error: ChatError) {
        switch request {
        case .connect: connectRefused(error)
        case .refresh, .ping, .online, .exit, .queueRead: break
        case .enter: entryRefused(error)
        case .seat(let ask): seatRefused(ask, error)
        case .moderation(let ask): moderationRefused(ask, error)
        case .message(let n), .barrage(let n): refused(n, error)
        case .catchUp(let range), .fetch(let range):
            // Without its pages the bot can only resume again from where it was.
            guard Self.isWorthRepeating(error.code) else { return drop() }
            after(milliseconds: Self.wait(for: error)) { [weak self] in self?.read(range, request) }
        case .auditEnd, .audit:
            giveUp(request)
            isAuditing = true
            after(milliseconds: Self.wait(for: error)) { [weak self] in
                self?.isAuditing = false
                self?.audit()
            }
        }
    }

    /// The answer will not come.
    func giveUp(_ request: Pending) {
        switch request {
        case .auditEnd:
            isAuditing = false
            book.audit.withLock { $0.returnQuestion() }
        case .audit(let range):
            isAuditing = false
            book.audit.withLock { $0.giveBack(range) }
        case .moderation(let ask): if ask.isLift { lifts.append(ask) }
        default: break
        }
    }

    private func caughtUp(_ page: [KeptSighting]) {
        if let rest = book.ledger.withLock({ $0.catchUp(viewer, page: page) }) { read(rest, .catchUp(rest)) }
    }

    private func fetched(_ range: ClosedRange<UInt64>, _ page: [KeptSighting]) {
        if let rest = book.ledger.withLock({ $0.fetch(viewer, range, page: page) }) {
            return read(rest, .fetch(rest))
        }
        isFetching = false
        fetchNext()
    }

    // MARK: - The reading of everything

    /// Takes a part in reading the room's history, if there is one left.
    func audit() {
        guard isHere, !isAuditing else { return }
        readQueueAtEnd()
        if book.audit.withLock({ $0.takeQuestion() }) {
            isAuditing = true
            return request(.room(RoomNameRequest(room: book.room)), .auditEnd)
        }
        guard let range = book.audit.withLock({ $0.take() }) else { return }
        isAuditing = true
        read(range, .audit(range))
    }

    private func auditEnds(_ seq: UInt64) {
        isAuditing = false
        let range = book.ledger.withLock { $0.beginAudit(end: seq) }
        book.audit.withLock { $0.begin(range) }
        audit()
    }

    private func audited(_ range: ClosedRange<UInt64>, _ page: [KeptSighting]) {
        isAuditing = false
        book.ledger.withLock { $0.audit(range, page: page) }
        book.audit.withLock { $0.finish() }
        audit()
    }
}
