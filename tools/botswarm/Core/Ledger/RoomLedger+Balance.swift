import ChatModel

/// The end: whether everything is there, and whether the books balance.
extension RoomLedger {
    /// Whether nothing is on its way any more, as far as this can be known: time to end the wait.
    package func isSettled() -> Bool {
        let unkept = acceptedSendTimes(.unkept)
        let barrage = acceptedSendTimes(.barrage)
        return viewers.allSatisfy { viewer in
            switch viewer.stay {
            case .out: true
            case .never, .away: false
            case .here:
                viewer.isWhole && viewer.position >= lastSeq && viewer.ownBarrage.isEmpty
                    && viewer.unkept.unexplained(acceptedSendTimes: unkept) == 0
                    && viewer.barrage.unexplained(acceptedSendTimes: barrage) == 0
            }
        }
    }

    /// When each message of a kind that is known to be in the stream was first sent, ascending.
    private func acceptedSendTimes(_ kind: SentKind) -> [SwarmInstant] {
        guard sentCounts[kind, default: 0] > 0 || !remote.isEmpty else { return [] }
        var times: [SwarmInstant] = []
        for messages in sent {
            for message in messages where message.kind == kind && message.isInStream { times.append(message.sentAt) }
        }
        for other in remote.values where other.message.kind == kind && other.message.isInStream {
            times.append(other.message.sentAt.moved(byNanoseconds: -(others?.clockErrorNanoseconds ?? 0)))
        }
        return times.sorted()
    }

    /// Closes the books: adds the findings that only the end can show. Once, after everybody was given time.
    package mutating func close() {
        // A worker without a bot in the room knows nothing of it.
        guard !viewers.isEmpty else { return }
        closeHistory()
        closeSent()
        closeRemote()
        closeBudget()
        closeReplay()
        let unkept = acceptedSendTimes(.unkept)
        let barrage = acceptedSendTimes(.barrage)
        for index in viewers.indices { close(Viewer(index: index), unkept, barrage) }
    }

    private mutating func closeHistory() {
        guard let end = historyEnd else {
            note(.notInHistory, "the history of \(room) could not be read")
            return
        }
        if lastSeq > end {
            note(.notInHistory, "\(room): seq \(lastSeq) was told or named, and the room ends at seq \(end)")
        }
        // The pages' own findings name what they lack; this notices pages that were never read.
        let first = base ?? 0
        let expected = end > first ? end - first : 0
        for range in budgetRanges.sorted(by: { $0.lowerBound < $1.lowerBound }) where range.lowerBound <= end {
            let known = max(range.lowerBound, first + 1)...max(min(range.upperBound, end), first + 1)
            guard range.upperBound > first, let lost = known.first(where: { contents[$0]?.isInHistory != true })
            else { continue }
            note(.notInHistory, "\(room): seq \(lost) was named by a BUDGET gap and is not in history")
        }
        if inHistoryCount < expected, findings.counts[.notInHistory] == nil {
            note(.notInHistory, "history of \(room) has \(inHistoryCount) of \(expected) messages")
        }
    }

    private mutating func closeSent() {
        for index in sent.indices {
            for n in 1...max(1, sent[index].count) {
                closeSent(Claim(bot: viewers[index].bot, n: n))
            }
        }
    }

    /// An acked kept message is in history where its ack says.
    mutating func closeSent(_ claim: Claim) {
        guard let message = message(claim), message.kind == .kept, message.state == .accepted, let seq = message.seq,
            let content = contents[seq]
        else { return }
        // A history that could not be read says nothing of single messages, and is noted once.
        if content.claim != claim || (historyEnd != nil && !content.isInHistory) {
            note(
                .notInHistory,
                "\(names.stem(of: claim.bot, claim.n)) was acked as seq \(seq) of \(room) and is not there")
        }
    }

    private mutating func close(_ viewer: Viewer, _ unkept: [SwarmInstant], _ barrage: [SwarmInstant]) {
        let book = viewers[viewer.index]
        switch book.stay {
        case .out: return
        case .never:
            note(.notHere, "\(name(viewer)): has never entered")
            return
        case .away:
            note(.notHere, "\(name(viewer)): was not back at the end")
            return
        case .here: break
        }
        for hole in book.holes.ranges {
            note(.hole, "\(name(viewer)): \(Self.text(hole)) did not come and no gap named it")
        }
        if let rest = book.catchUp {
            note(.hole, "\(name(viewer)): \(Self.text(rest)) was missed and not read until the end")
        }
        let end = max(lastSeq, historyEnd ?? 0)
        if book.position < end {
            note(
                .hole, "\(name(viewer)): \(Self.text((book.position + 1)...end)) did not come and no gap named it")
        }
        let lostUnkept = book.unkept.unexplained(acceptedSendTimes: unkept)
        if lostUnkept > 0 {
            note(.silentLoss, "\(name(viewer)): \(lostUnkept) unkept messages lost without skipped or disconnect")
        }
        let lostBarrage = book.barrage.unexplained(acceptedSendTimes: barrage)
        if lostBarrage > 0 {
            note(.silentLoss, "\(name(viewer)): \(lostBarrage) barrages lost without skipped or disconnect")
        }
        let own = book.ownBarrage.filter { message($0, viewer.index)?.isInStream == true }
        if let first = own.min() {
            note(
                .ownBarrageLost,
                "\(name(viewer)): \(own.count) own barrages did not come back, first \(names.stem(of: book.bot, first))"
            )
        }
    }

    /// The books in numbers.
    package var totals: LedgerTotals {
        var totals = LedgerTotals()
        for messages in sent {
            for message in messages {
                totals.count(message)
            }
        }
        for viewer in viewers {
            totals.received += viewer.received
            totals.recovered += viewer.recovered
            totals.unkeptReceived += viewer.unkept.receivedInAll
            totals.unkeptSkipped += viewer.unkept.toldInAll
            totals.barrageReceived += viewer.barrage.receivedInAll
            totals.barrageSkipped += viewer.barrage.toldInAll
            totals.unjudged += viewer.unkept.unjudged + viewer.barrage.unjudged
        }
        totals.namedBySlow = namedBySlow
        totals.namedByBudget = namedByBudget
        totals.foundAfterGap = foundAfterGap
        totals.inHistory = inHistoryCount
        totals.notifications = otherUnkept
        totals.digests = digests
        if let notes { totals.add(notes) }
        return totals
    }
}
