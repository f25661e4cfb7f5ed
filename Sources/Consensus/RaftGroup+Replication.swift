/// Log replication (thesis §3.5), with pipelining (§10.2.2) and writing to the leader's disk in parallel (§10.2.1).
extension RaftGroup {
    // MARK: Leader

    mutating func replicateToAll() {
        for position in peers.indices { replicate(to: position) }
    }

    /// Sends what the peer's window allows.
    private mutating func replicate(to position: Int) {
        while !peers[position].isThrottled {
            let next = peers[position].next
            guard next > 0, let previousTerm = log.term(at: next - 1) else {
                offerSnapshot(to: position)
                return
            }
            let last = lastToSend(to: peers[position])
            guard next <= last else {
                // Nothing new. A probe still has to find where the logs part, and a follower must hear of commits.
                if peers[position].state == .probe
                    || (peers[position].commitSent < commitIndex && mustHearCommits(peers[position]))
                {
                    sendAppend(to: position, previousIndex: next - 1, previousTerm: previousTerm, entries: [])
                }
                return
            }
            let entries = log.entries(from: next, through: last, bytesMax: configuration.appendBytesMax)
            guard !entries.isEmpty else {
                fetch(for: position, from: next)
                return
            }
            sendAppend(to: position, previousIndex: next - 1, previousTerm: previousTerm, entries: entries)
        }
    }

    /// A server that is leaving is gone from the group once it has heard, and does not wait for a heartbeat.
    private func mustHearCommits(_ peer: Progress) -> Bool {
        configuration.tellsCommitsAtOnce || peer.leaving != nil
    }

    /// A server that is leaving hears of it when it is committed, not before. If the leader fell first, the one server
    /// with the longest log could be the one that, by that log, may not lead: nobody could ever win.
    private func lastToSend(to peer: Progress) -> UInt64 {
        guard let leaving = peer.leaving, commitIndex < leaving.index else { return log.lastIndex }
        return leaving.index - 1
    }

    private mutating func sendAppend(
        to position: Int, previousIndex: UInt64, previousTerm: UInt64, entries: [Entry]
    ) {
        send(
            .append(
                previousIndex: previousIndex, previousTerm: previousTerm, commitIndex: commitIndex, entries: entries),
            to: peers[position].id)
        peers[position].commitSent = commitIndex
        switch peers[position].state {
        case .probe: peers[position].isPaused = true
        case .replicate:
            if let last = entries.last {
                peers[position].next = last.index + 1
                peers[position].inflights.add(lastIndex: last.index, bytes: RaftLog.bytes(of: entries))
            }
        case .snapshot: break
        }
    }

    private mutating func fetch(for position: Int, from first: UInt64) {
        let fetch = RaftOutput.Fetch(
            purpose: .replicate(to: peers[position].id), range: first...(log.windowFirstIndex - 1),
            bytesMax: configuration.appendBytesMax, term: term)
        peers[position].fetch = fetch
        fetches.append(fetch)
    }

    mutating func fetchedToReplicate(_ entries: [Entry], for fetch: RaftOutput.Fetch, to: ServerID) {
        guard let position = peers.firstIndex(where: { $0.id == to }), peers[position].fetch == fetch else { return }
        peers[position].fetch = nil
        let next = fetch.range.lowerBound
        guard next == peers[position].next, isOurs(entries, range: fetch.range),
            let previousTerm = log.term(at: next - 1)
        else {
            // Unreadable, or compacted meanwhile: go on after the next heartbeat's answer.
            peers[position].becomeProbe()
            peers[position].isPaused = log.term(at: peers[position].next - 1) != nil
            return
        }
        sendAppend(to: position, previousIndex: next - 1, previousTerm: previousTerm, entries: entries)
    }

    mutating func receiveAccepted(from: ServerID, matchIndex: UInt64) {
        guard let position = position(of: from), matchIndex <= log.lastIndex else { return }
        let isNews = matchIndex > peers[position].match
        peers[position].match = max(peers[position].match, matchIndex)
        switch peers[position].state {
        case .probe:
            // Whatever it confirms, the logs agree up to there.
            if matchIndex >= peers[position].match { peers[position].becomeReplicate() }
        case .replicate:
            peers[position].inflights.release(upTo: matchIndex)
            peers[position].next = max(peers[position].next, matchIndex + 1)
        case .snapshot:
            // Back in reach of the log, by whichever snapshot; one offered meanwhile is not waited for.
            guard isNews else { break }
            // Even where nothing comes after the snapshot an append must tell it that this is all that there is.
            peers[position].becomeProbe()
        }
        if isNews {
            advanceCommit()
            finishTransfer(position)
        }
        finishLeaving(position)
    }

    mutating func receiveRejected(from: ServerID, previousIndex: UInt64, hintIndex: UInt64, hintTerm: UInt64) {
        guard let position = position(of: from) else { return }
        switch peers[position].state {
        case .snapshot: return
        case .replicate:
            // An answer to an append that a later ack has overtaken.
            if previousIndex <= peers[position].match { return }
            peers[position].becomeProbe()
        case .probe:
            // Only the probe that is out says something.
            if previousIndex != peers[position].next - 1 { return }
            let agreed = log.lastIndex(upTo: min(hintIndex, previousIndex), termAtMost: hintTerm)
            let next = hintTerm > 0 ? agreed.index + 1 : min(hintIndex, previousIndex) + 1
            peers[position].next = max(min(next, previousIndex), peers[position].match + 1)
            peers[position].isPaused = false
            peers[position].fetch = nil
        }
    }

    /// The node has begun anew, and may have come back with an older copy of its disk: what it had acked before is not
    /// counted until it acks it again.
    ///
    /// Without a leader it is asked for its vote at once: it may have none to give before it has heard who boasts of
    /// which log.
    public mutating func peerRestarted(_ node: String) {
        guard !isHalted else { return }
        if role != .leader, role != .candidate, leader == nil, canCampaign {
            for voter in membership.voters where voter.node == node && voter != id { askBefore(voter) }
        }
        guard role == .leader else { return }
        for position in peers.indices where peers[position].id.node == node {
            if case .snapshot = peers[position].state { continue }
            peers[position].match = 0
            peers[position].becomeProbe()
            peers[position].next = log.lastIndex + 1
        }
    }

    /// Thesis §3.6.2: an entry of an older term is never committed by counting its copies, only by an entry of the own
    /// term after it (figure 8). The own copy counts when it is on disk (§10.2.1).
    mutating func advanceCommit() {
        let reached: UInt64
        if isSoleVoter {
            reached = log.persistedIndex
        } else {
            var matches: [UInt64] = []
            matches.reserveCapacity(membership.voters.count)
            if isVoter { matches.append(log.persistedIndex) }
            for peer in peers where peer.isVoter { matches.append(peer.match) }
            reached = Quorum.reached(matches)
        }
        if reached > commitIndex, log.term(at: reached) == term { commit(upTo: reached) }
    }

    mutating func broadcastHeartbeat() {
        for peer in peers {
            // No further than what the follower is known to have: the rest of its log may differ.
            send(.heartbeat(commitIndex: min(peer.match, commitIndex), readRound: readRound), to: peer.id)
        }
    }

    mutating func receiveHeartbeatReply(from: ServerID, readRound round: UInt64, declines: Bool) {
        guard let position = position(of: from), round <= readRound else { return }
        peers[position].declines = declines
        if declines, transferTarget == from { transferTarget = nil }
        peers[position].isPaused = false
        if peers[position].state == .replicate, peers[position].match < log.lastIndex {
            let previousIndex = peers[position].next - 1
            if let previousTerm = log.term(at: previousIndex) {
                // If what is under way was lost, this is rejected and the leader learns of it.
                sendAppend(to: position, previousIndex: previousIndex, previousTerm: previousTerm, entries: [])
            } else {
                // Compacted while it was under way: asking is no longer possible.
                peers[position].becomeProbe()
            }
        }
        if round > peers[position].readRound {
            peers[position].readRound = round
            confirmReads()
        }
        finishTransfer(position)
    }

    /// Thesis §3.10: when the target has the whole log, it is told to start an election.
    private mutating func finishTransfer(_ position: Int) {
        guard peers[position].id == transferTarget, peers[position].match == log.lastIndex else { return }
        send(.timeoutNow, to: peers[position].id)
    }

    /// The peer that sent a reply of this term; only a leader has peers.
    func positionOfPeer(_ server: ServerID) -> Int? { peers.firstIndex { $0.id == server } }

    mutating func position(of server: ServerID) -> Int? {
        guard let position = positionOfPeer(server) else { return nil }
        peers[position].isRecentlyActive = true
        peers[position].isActive = true
        return position
    }

    // MARK: Follower

    /// AppendEntries (thesis §3.5), steps 2 to 5 of figure 3.1.
    mutating func receiveAppend(
        from: ServerID, previousIndex: UInt64, previousTerm: UInt64, leaderCommit: UInt64, entries: [Entry]
    ) {
        guard let memberships = membershipsIfValid(entries, after: previousIndex, previousTerm: previousTerm) else {
            ignoredInputs += 1
            return
        }
        var previous = (index: previousIndex, term: previousTerm)
        var fresh = entries[...]
        if previousIndex < commitIndex {
            // Committed entries are the leader's too, and may be compacted here: none of them is looked at.
            let known = min(commitIndex - previousIndex, UInt64(entries.count))
            fresh = entries.dropFirst(Int(known))
            if UInt64(entries.count) < commitIndex - previousIndex {
                sendAfterSave(.appendAccepted(matchIndex: commitIndex), to: from)
                return
            }
            previous = (commitIndex, log.term(at: commitIndex) ?? 0)
        }
        guard log.term(at: previous.index) == previous.term else {
            let hint = log.lastIndex(upTo: previous.index, termAtMost: previous.term)
            sendInPersistedTerm(
                .appendRejected(previousIndex: previousIndex, hintIndex: hint.index, hintTerm: hint.term), to: from)
            return
        }
        // Entries that are here already stay: the message may be old, and cutting off what follows would unsay acks.
        fresh = fresh.drop { log.term(at: $0.index) == $0.term }
        if let first = fresh.first {
            if first.index <= log.lastIndex { truncate(from: first.index) }
            for entry in fresh { log.append(entry) }
            if let newest = memberships.last, newest.index >= first.index {
                for (index, membership) in memberships where index >= first.index {
                    self.memberships.append(index: index, membership: membership)
                }
                membershipChanged()
            }
        }
        // Only as far as this message has compared the logs (figure 3.1, step 5).
        let compared = max(commitIndex, previousIndex + UInt64(entries.count))
        agreedIndex = max(agreedIndex, compared)
        commit(upTo: min(leaderCommit, compared))
        // All that anybody was told is here.
        if compared >= leaderCommit { trustDisk() }
        sendAfterSave(.appendAccepted(matchIndex: compared), to: from)
    }

    /// The memberships among entries that can have come from a leader of this term; `nil` if they cannot.
    private func membershipsIfValid(
        _ entries: [Entry], after previousIndex: UInt64, previousTerm: UInt64
    ) -> [(index: UInt64, membership: GroupMembership)]? {
        guard previousTerm <= term, !previousIndex.addingReportingOverflow(UInt64(entries.count)).overflow else {
            return nil
        }
        var found: [(index: UInt64, membership: GroupMembership)] = []
        var (index, lastTerm) = (previousIndex, max(1, previousTerm))
        for entry in entries {
            index += 1
            guard entry.index == index, entry.term >= lastTerm, entry.term <= term else { return nil }
            lastTerm = entry.term
            if entry.kind == .membership {
                guard let membership = GroupMembership(decoding: entry.payload) else { return nil }
                found.append((entry.index, membership))
            }
        }
        return found
    }

    /// Entries from here on contradict the leader's. They were not committed.
    private mutating func truncate(from index: UInt64) {
        precondition(index > commitIndex)
        if index <= log.handedToStoreIndex { truncateFrom = min(truncateFrom ?? index, index) }
        log.truncate(from: index)
        saves.truncated(after: index - 1)
        if memberships.truncate(from: index) { membershipChanged() }
    }

    mutating func receiveHeartbeat(from: ServerID, leaderCommit: UInt64, readRound: UInt64) {
        commit(upTo: min(leaderCommit, agreedIndex))
        sendInPersistedTerm(.heartbeatReply(readRound: readRound, declines: declinesLeadership), to: from)
    }
}
