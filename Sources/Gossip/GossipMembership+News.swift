import ChatModel

/// What is believed of what is heard (SWIM section 4.2): alive needs a higher incarnation than anything before; suspect
/// and dead override alive of the same incarnation; dead overrides suspect. Only the member itself raises its
/// incarnation. What changes something here is passed on.
extension GossipMembership {
    mutating func hear(alive member: GossipMember, _ heard: UInt64, _ now: Duration) {
        guard member.node != node else {
            hear(aliveSelf: member, heard)
            return
        }
        let before = members[member.node]
        if let before {
            guard heard > before.record.incarnation else { return }
        } else {
            guard makePlace() else { return }
        }
        let wasAlive = before?.isAlive ?? false
        members[member.node] = Known(
            record: GossipRecord(member: member, incarnation: heard, status: .alive),
            since: wasAlive ? before?.since ?? now : now)
        queue.add(.alive(incarnation: heard, member))
        if !wasAlive {
            effects.append(.notify(.joined(member)))
        } else if before?.record.member != member {
            effects.append(.notify(.updated(member)))
        }
    }

    /// An earlier run of this node, or another process with its ID.
    private mutating func hear(aliveSelf member: GossipMember, _ heard: UInt64) {
        guard phase == .running, heard > incarnation || (heard == incarnation && member != own) else { return }
        if member.gossipAddress != own.gossipAddress || member.store != own.store {
            effects.append(.notify(.conflict(member)))
        }
        raiseIncarnation(above: heard)
    }

    mutating func hear(suspect suspected: NodeID, _ heard: UInt64, by suspecter: NodeID, _ now: Duration) {
        guard suspected != node else {
            refute(heard)
            return
        }
        guard var known = members[suspected], heard >= known.record.incarnation else { return }
        if known.suspicion != nil {
            if known.suspicion?.confirm(by: suspecter) == true {
                members[suspected] = known
                queue.add(.suspect(incarnation: heard, suspected, by: suspecter))
            }
            return
        }
        guard known.record.status == .alive else { return }
        known.record.status = .suspect
        known.record.incarnation = heard
        known.suspicion = Suspicion(by: suspecter, at: now, members: memberCount, configuration)
        members[suspected] = known
        queue.add(.suspect(incarnation: heard, suspected, by: suspecter))
    }

    mutating func hear(dead gone: NodeID, _ heard: UInt64, by witness: NodeID, _ now: Duration) {
        guard gone != node else {
            refute(heard)
            return
        }
        guard var known = members[gone], heard >= known.record.incarnation, known.record.status != .left else { return }
        let hasLeft = witness == gone
        let wasAlive = known.isAlive
        guard wasAlive || hasLeft else { return }
        known.record.status = hasLeft ? .left : .dead
        known.record.incarnation = heard
        known.since = now
        known.suspicion = nil
        members[gone] = known
        queue.add(.dead(incarnation: heard, gone, by: witness))
        if wasAlive { effects.append(.notify(hasLeft ? .left(gone) : .failed(gone))) }
    }

    mutating func endSuspicions(_ now: Duration) {
        var due: [NodeID] = []
        for (suspected, known) in members {
            if let suspicion = known.suspicion, suspicion.deadline <= now { due.append(suspected) }
        }
        for suspected in due.sorted() {
            guard let record = members[suspected]?.record else { continue }
            hear(dead: suspected, record.incarnation, by: node, now)
        }
    }

    // MARK: - This node

    /// Somebody holds this node for dead or nearly so.
    private mutating func refute(_ heard: UInt64) {
        guard phase == .running, heard >= incarnation else { return }
        raiseIncarnation(above: heard)
        // To be suspected is a sign of being slow (Lifeguard).
        awareness.add(1)
    }

    mutating func raiseIncarnation(above heard: UInt64) {
        incarnation = min(max(incarnation, heard) + 1, GossipCodec.incarnationMax)
        queue.add(.alive(incarnation: incarnation, own))
    }

    // MARK: - Bounds

    /// Whether one more member may be kept; the longest gone makes place.
    private mutating func makePlace() -> Bool {
        // This node counts too.
        guard members.count + 1 >= configuration.membersMax else { return true }
        let gone = members.values.filter { !$0.isAlive }
            .min { ($0.since, $0.record.member.node) < ($1.since, $1.record.member.node) }
        guard let node = gone?.record.member.node else { return false }
        members[node] = nil
        queue.remove(node)
        return true
    }
}
