/// The output of the core.
extension RaftGroup {
    /// Everything to do since the last call. Call it after every input, or after several in one turn.
    /// `committed` is bounded, so there may be more until an output is empty.
    public mutating func takeOutput() -> RaftOutput {
        var output = RaftOutput()
        // In a function of its own, since the compiler copies a value that it has seen change.
        take(into: &output)
        return output
    }

    private mutating func take(into output: inout RaftOutput) {
        if role == .leader {
            sendReadRound()
            replicateToAll()
        }
        output.save = takeSave()
        if !heldForSave.isEmpty { holdOrRelease() }
        output.committed = takeCommitted()
        log.trimWindow(bytesMax: configuration.windowBytesMax, limit: commitIndex)
        swap(&output.messages, &messages)
        swap(&output.readStates, &readStates)
        swap(&output.failedReads, &failedReads)
        swap(&output.fetches, &fetches)
        swap(&output.snapshotOffer, &snapshotOffer)
        if role != reportedLeadership.role || term != reportedLeadership.term || leader != reportedLeadership.leader {
            reportedLeadership = RaftOutput.Leadership(role: role, term: term, leader: leader)
            output.leadership = reportedLeadership
        }
        if !isMembershipReported {
            isMembershipReported = true
            output.membership = membership
        }
    }

    private mutating func takeSave() -> RaftOutput.Save? {
        guard !isHalted else { return nil }
        // A mark inside the log follows the entry that it names: a store may take one that it does not know for a
        // snapshot that replaces the log.
        var snapshot = snapshotToSave
        if let mark = snapshot, !replacesLog, mark.index > log.handedToStoreIndex { snapshot = nil }
        let entries = log.takeEntriesForStore()
        guard isHardStateDirty || snapshot != nil || replacesLog || truncateFrom != nil || !entries.isEmpty else {
            return nil
        }
        let number = saves.begin(lastIndex: log.lastIndex, hasHardState: isHardStateDirty)
        var save = RaftOutput.Save(number: number)
        if isHardStateDirty { save.hardState = HardState(term: term, votedFor: votedFor) }
        save.snapshot = snapshot
        save.replacesLog = replacesLog
        save.truncateFrom = replacesLog ? nil : truncateFrom
        save.entries = entries
        isHardStateDirty = false
        if snapshot != nil { snapshotToSave = nil }
        replacesLog = false
        truncateFrom = nil
        return save
    }

    /// Called after the save was begun, so that what is held waits for it.
    private mutating func holdOrRelease() {
        let items = heldForSave
        heldForSave.removeAll(keepingCapacity: true)
        for item in items {
            if saves.isIdle { release(item) } else { saves.hold(item) }
        }
    }

    /// The save that the item waited for is on disk. Messages of an older term are void.
    mutating func release(_ item: SaveLedger.Held) {
        switch item {
        case .message(let message):
            if message.term == term { messages.append(message) }
        case .campaign(let campaignTerm, let isTransfer):
            guard role == .candidate, term == campaignTerm else { return }
            requestVotes(isTransfer: isTransfer)
        }
    }

    /// Leaves at once.
    mutating func send(_ body: RaftMessage.Body, to: ServerID) {
        messages.append(RaftMessage(group: group, from: id, to: to, term: term, body: body))
    }

    /// Leaves when everything decided so far is on disk: votes and acks are promises (thesis §3.8).
    mutating func sendAfterSave(_ body: RaftMessage.Body, to: ServerID) {
        let message = RaftMessage(group: group, from: id, to: to, term: term, body: body)
        // Acks are cumulative: several in one turn become one.
        if case .appendAccepted(let index) = body, case .message(let last)? = heldForSave.last, last.to == to,
            last.term == term, case .appendAccepted(let lastIndex) = last.body
        {
            if index > lastIndex { heldForSave[heldForSave.count - 1] = .message(message) }
        } else {
            heldForSave.append(.message(message))
        }
    }

    /// Leaves when the term is on disk; it says nothing about entries.
    mutating func sendInPersistedTerm(_ body: RaftMessage.Body, to: ServerID) {
        if isHardStateDirty || !saves.isHardStatePersisted { sendAfterSave(body, to: to) } else { send(body, to: to) }
    }

    /// Committed entries that are on disk here: a state machine never knows more than its own log.
    private mutating func takeCommitted() -> [Entry] {
        let last = min(commitIndex, log.persistedIndex)
        guard !isHalted, handedOutIndex < last, installing == nil, !applying.isFull else { return [] }
        let first = handedOutIndex + 1
        var entries: [Entry] = []
        if first >= log.windowFirstIndex {
            entries = log.entries(from: first, through: last, bytesMax: configuration.committedBytesMax)
        } else if fetchedToApply.first?.index == first {
            swap(&entries, &fetchedToApply)
        } else if applyFetch == nil, !isApplyFetchPaused {
            let fetch = RaftOutput.Fetch(
                purpose: .apply, range: first...min(last, log.windowFirstIndex - 1),
                bytesMax: configuration.committedBytesMax, term: term)
            applyFetch = fetch
            fetches.append(fetch)
        }
        guard let newest = entries.last else { return [] }
        handedOutIndex = newest.index
        applying.add(lastIndex: newest.index, bytes: RaftLog.bytes(of: entries))
        return entries
    }

    mutating func fetchedToApply(_ entries: [Entry], for fetch: RaftOutput.Fetch) {
        guard applyFetch == fetch else { return }
        applyFetch = nil
        fetchedToApply = []
        guard fetch.range.lowerBound == handedOutIndex + 1, isOurs(entries, range: fetch.range) else {
            // Not at once again, or an unreadable disk would make the host spin.
            isApplyFetchPaused = fetch.range.lowerBound == handedOutIndex + 1
            return
        }
        fetchedToApply = entries
    }

    /// The entries are a beginning of the range and still what the log holds.
    func isOurs(_ entries: [Entry], range: ClosedRange<UInt64>) -> Bool {
        guard !entries.isEmpty, UInt64(entries.count) <= range.upperBound - range.lowerBound + 1 else { return false }
        var index = range.lowerBound
        for entry in entries {
            guard entry.index == index, log.term(at: index) == entry.term else { return false }
            index += 1
        }
        return true
    }
}
