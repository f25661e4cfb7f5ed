import ChatModel

/// The rules of belief (SWIM section 4.2): alive needs a higher incarnation than anything before; suspect and dead
/// override alive of the same incarnation; dead overrides suspect. Only the member itself raises its incarnation. News
/// that changes something here is passed on.
extension GossipMembership {
    ///
    /// - Parameter isNews: whether it is passed on if it is new here.
    mutating func hear(alive member: GossipMember, _ heard: UInt64, isNews: Bool = true, _ now: Duration) {
        guard admits(alive: heard) else { return }
        guard member.node != node else {
            hear(aliveSelf: member, heard)
            return
        }
        let before = members[member.node]
        if let before {
            guard heard > before.record.incarnation else { return }
        } else {
            guard makePlace() else { return }
            roster.append(member.node)
            // Not only in the next round: until then nobody but a neighbour would probe it.
            probeOrder.insert(member.node, at: Int.random(in: 0...probeOrder.count, using: &random))
        }
        let wasAlive = before?.isAlive ?? false
        members[member.node] = Known(
            record: GossipRecord(member: member, incarnation: heard, status: .alive),
            since: wasAlive ? before?.since ?? now : now)
        let wasSuspected = suspicions.removeValue(forKey: member.node) != nil
        if isNews || before != nil { queue.add(.alive(incarnation: heard, member)) }
        guard wasAlive else {
            aliveCount += 1
            effects.append(.notify(.joined(member)))
            return
        }
        if wasSuspected { effects.append(.notify(.refuted(member.node))) }
        if before?.record.member != member { effects.append(.notify(.updated(member))) }
    }

    /// An earlier run of this node, or another process with its ID.
    private mutating func hear(aliveSelf member: GossipMember, _ heard: UInt64) {
        guard phase == .running, heard > incarnation || (heard == incarnation && member != own) else { return }
        if member.gossipAddress != own.gossipAddress || member.store != own.store {
            effects.append(.notify(.conflict(member)))
        }
        raiseIncarnation(above: heard)
    }

    /// - Parameter isWitness: whether it is this node that has got no answer.
    mutating func hear(
        suspect suspected: NodeID, _ heard: UInt64, by suspecter: NodeID, isWitness: Bool = false, _ now: Duration
    ) {
        guard admits(heard) else { return }
        guard suspected != node else {
            refute(heard)
            return
        }
        guard var known = members[suspected], known.isAlive, heard >= known.record.incarnation else { return }
        if known.record.status == .suspect, heard == known.record.incarnation {
            let isNew = suspicions[suspected]?.confirm(by: suspecter) == true
            // A witness passes on its own word. When several see it at the same time, each would else pass on what it
            // heard first, and nobody would hear of more than one.
            if isNew, isWitness || suspicions[suspected]?.isWitness != true {
                queue.add(.suspect(incarnation: heard, suspected, by: suspecter))
            }
            if isWitness { suspicions[suspected]?.isWitness = true }
            return
        }
        // It has refuted what it was suspected of in an earlier incarnation: this is another suspicion, with its own
        // time. As a mere confirmation it would be heard of as alive in the same incarnation later, and be suspected,
        // and passed on, once more.
        let isNew = known.record.status == .alive
        known.record.status = .suspect
        known.record.incarnation = heard
        members[suspected] = known
        suspicions[suspected] = Suspicion(
            by: suspecter, isWitness: isWitness, at: now, members: memberCount, configuration)
        queue.add(.suspect(incarnation: heard, suspected, by: suspecter))
        if isNew { effects.append(.notify(.suspected(suspected))) }
        // To confirm it, or to let it refute.
        if !isWitness { hint(at: suspected) }
    }

    mutating func hear(dead gone: NodeID, _ heard: UInt64, by witness: NodeID, _ now: Duration) {
        guard admits(heard) else { return }
        guard gone != node else {
            refute(heard)
            return
        }
        guard var known = members[gone], heard >= known.record.incarnation else { return }
        let hasLeft = witness == gone
        let wasAlive = known.isAlive
        // A member that is gone already may have been back and gone again, which must not be undone by news of the time
        // between.
        let isLater = heard > known.record.incarnation
        guard wasAlive || isLater || (hasLeft && known.record.status == .dead) else { return }
        known.record.status = hasLeft ? .left : .dead
        known.record.incarnation = heard
        if wasAlive {
            known.since = now
            aliveCount -= 1
        }
        members[gone] = known
        suspicions[gone] = nil
        queue.add(.dead(incarnation: heard, gone, by: witness))
        if wasAlive { effects.append(.notify(hasLeft ? .left(gone) : .failed(gone))) }
    }

    mutating func endSuspicions(_ now: Duration) {
        for suspected in suspicions.filter({ $0.value.nextStep <= now }).keys.sorted() {
            guard let record = members[suspected]?.record, let suspicion = suspicions[suspected] else { continue }
            if suspicion.hasAsked {
                hear(dead: suspected, record.incarnation, by: node, now)
                sendDeath(record.member)
            } else {
                suspicions[suspected]?.ask(at: now)
                effects.append(.pushPull(with: record.member.gossipAddress))
                exchange { $0.record.status == .alive }
            }
        }
    }

    /// Merges another node's knowledge of one member.
    mutating func merge(_ record: GossipRecord, isNews: Bool, _ now: Duration) {
        let subject = record.member.node
        guard admits(alive: record.incarnation) else { return }
        guard subject != node else {
            record.status == .alive ? hear(aliveSelf: record.member, record.incarnation) : refute(record.incarnation)
            return
        }
        switch record.status {
        case .alive:
            hear(alive: record.member, record.incarnation, isNews: isNews, now)
        case .suspect:
            hear(alive: record.member, record.incarnation, isNews: isNews, now)
            hear(suspect: subject, record.incarnation, by: node, now)
        case .dead:
            // A member that nobody here has known is not news.
            guard let known = members[subject] else { return }
            guard known.isAlive else {
                hear(dead: subject, record.incarnation, by: node, now)
                return
            }
            // A death is only hearsay: the member is suspected, so that it can refute.
            hear(alive: record.member, record.incarnation, now)
            hear(suspect: subject, record.incarnation, by: node, now)
        case .left:
            hear(dead: subject, record.incarnation, by: subject, now)
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
        forget(node)
        queue.remove(node)
        return true
    }
}
