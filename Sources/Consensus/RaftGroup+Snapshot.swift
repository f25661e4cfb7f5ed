/// Snapshots and compaction (thesis §5). The core knows where a snapshot ends; its data is the host's.
extension RaftGroup {
    /// The mark of a snapshot of the state after `index`; `nil` unless `index` is applied and still in the log.
    public func snapshotMark(at index: UInt64) -> SnapshotMark? {
        guard index <= appliedIndex, let term = log.term(at: index),
            let membership = memberships.membership(at: index)
        else { return nil }
        return SnapshotMark(index: index, term: term, membership: membership)
    }

    /// The host has this snapshot, durably, and can give it to others. The log before it may go then, but need not:
    /// a mark can be taken often while entries before it stay, as many as followers may be behind by; those are served
    /// from the log, and only who needs what `compacted(upTo:)` has let go gets the snapshot.
    public mutating func snapshotTaken(_ mark: SnapshotMark) {
        guard !isHalted, mark.index <= appliedIndex, mark.index > snapshot?.index ?? 0 else { return }
        guard log.term(at: mark.index) == mark.term else { return }
        snapshot = mark
        snapshotToSave = mark
    }

    /// The store has deleted the entries up to here, which may be well below the newest snapshot. Beyond that nothing
    /// is forgotten.
    public mutating func compacted(upTo index: UInt64) {
        let index = min(index, snapshot?.index ?? 0, appliedIndex)
        log.compact(upTo: index)
        memberships.compact(upTo: index)
    }

    // MARK: Leader

    /// The peer needs what is compacted.
    mutating func offerSnapshot(to position: Int) {
        guard let snapshot, snapshot.index >= log.offset else { return }
        peers[position].becomeSnapshot(index: snapshot.index)
        send(.snapshot(snapshot), to: peers[position].id)
    }

    /// The leader's part of a tick for one peer: the offer is repeated in case it was lost.
    mutating func tickPeer(_ position: Int) {
        if let ticksLeft = peers[position].leaving?.ticksLeft { peers[position].leaving?.ticksLeft = ticksLeft - 1 }
        guard case .snapshot = peers[position].state else { return }
        peers[position].snapshotTicks += 1
        if peers[position].snapshotTicks >= configuration.electionTimeoutTicks { offerSnapshot(to: position) }
    }

    mutating func receiveSnapshotFailed(from: ServerID, index: UInt64) {
        guard let position = position(of: from), peers[position].state == .snapshot(index) else { return }
        retryAfterSnapshot(position)
    }

    /// Paused, so that a snapshot that fails at once is offered once a heartbeat, not without end.
    private mutating func retryAfterSnapshot(_ position: Int) {
        peers[position].becomeProbe()
        peers[position].isPaused = true
    }

    // MARK: Follower

    mutating func receiveSnapshot(from: ServerID, mark: SnapshotMark) {
        guard mark.term <= term, mark.term > 0, mark.index > 0, mark.index <= Self.indexMax,
            GroupMembership(decoding: mark.membership.encoded()) == mark.membership
        else {
            ignoredInputs += 1
            return
        }
        if mark.index <= commitIndex {
            sendAfterSave(.appendAccepted(matchIndex: commitIndex), to: from)
            return
        }
        if log.term(at: mark.index) == mark.term {
            // The log has all of it: the data is not needed, the news that it is committed is.
            commit(upTo: mark.index)
            sendAfterSave(.appendAccepted(matchIndex: mark.index), to: from)
            return
        }
        if let current = installing {
            // The one under way is kept unless another leader has a newer one: a leader that takes snapshots faster
            // than they can be installed would else never see one finished.
            guard current.from != from, mark.index >= current.mark.index else { return }
        }
        let offer = RaftOutput.SnapshotOffer(from: from, mark: mark)
        installing = offer
        snapshotOffer = offer
    }

    /// The host's state is now, durably, the one that the snapshot describes.
    public mutating func snapshotInstalled(_ mark: SnapshotMark) {
        guard !isHalted else { return }
        // In any case: nothing is waited for any more.
        if let offer = installing, mark.index >= offer.mark.index { endInstallation() }
        // Whether it was waited for or not: the state is what it is. The host has asked before it replaced its own.
        guard believes(mark), mark.index > handedOutIndex else { return }
        // The leader may be one that this server has not heard of. The log must not begin in a term that is not on
        // disk.
        if mark.term > term { becomeFollower(term: mark.term, leader: nil) }
        if log.term(at: mark.index) == mark.term {
            // Entries after it are right and stay.
            commit(upTo: mark.index)
        } else {
            log.replace(with: mark)
            saves.truncated(after: 0)
            memberships = MembershipHistory(index: mark.index, membership: mark.membership)
            replacesLog = true
            truncateFrom = nil
            commitIndex = mark.index
            membershipChanged()
        }
        handedOutIndex = mark.index
        appliedIndex = mark.index
        applying.removeAll()
        fetchedToApply = []
        applyFetch = nil
        snapshot = mark
        snapshotToSave = mark
        if role == .follower, let leader { sendAfterSave(.appendAccepted(matchIndex: mark.index), to: leader) }
    }

    /// The host could not get or install it; its state is what it was before.
    public mutating func snapshotInstallFailed(_ mark: SnapshotMark) {
        guard !isHalted, installing?.mark == mark else { return }
        endInstallation()
        if role == .follower, let leader { sendInPersistedTerm(.snapshotFailed(index: mark.index), to: leader) }
    }

    private mutating func endInstallation() {
        installing = nil
        snapshotOffer = nil
    }
}
