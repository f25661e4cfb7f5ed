import ChatModel

/// Finding out who does not answer (SWIM section 3.1), with doubt in oneself (Lifeguard).
extension GossipMembership {
    mutating func tickProbe(_ now: Duration) {
        if var current = probe {
            if !current.hasAskedOthers, now >= current.askOthersAt {
                current.hasAskedOthers = true
                current.nacksExpected = askOthers(current)
                probe = current
            }
            guard now >= current.deadline else { return }
            probe = nil
            fail(current, now)
        }
        if !hinted.isEmpty || now >= nextProbe { beginProbe(now) }
    }

    /// Lets this node be one of those who probe that one before anybody else.
    mutating func hint(at node: NodeID) {
        guard phase == .running, probe?.target != node, !hinted.contains(node),
            Int.random(in: 0..<memberCount, using: &random) < configuration.witnesses
        else { return }
        hinted.append(node)
    }

    /// A probe that is under way comes first.
    mutating func followHints(_ now: Duration) {
        if !hinted.isEmpty, probe == nil { beginProbe(now) }
    }

    private mutating func beginProbe(_ now: Duration) {
        nextProbe = now + awareness.scale(configuration.probeInterval)
        guard let record = nextTarget() else { return }
        let sequence = takeSequence()
        let timeout = awareness.scale(configuration.probeTimeout)
        probe = Probe(
            target: record.member.node, sequence: sequence, askOthersAt: now + timeout, deadline: now + timeout * 2)
        var messages = [GossipMessage.ping(sequence: sequence, target: record.member.node)]
        if record.status == .suspect {
            // It should know at once, so that it can refute (Lifeguard's buddy system).
            messages.append(.suspect(incarnation: record.incarnation, record.member.node, by: node))
        }
        send(messages, to: record.member.gossipAddress, withNews: record.status == .alive)
    }

    /// The next member to probe: one that may be gone; else by turns a neighbour and anybody.
    ///
    /// By random choice alone a crash among many stays unnoticed for long now and then; as everybody's neighbour probes
    /// it every other time, that takes two periods at most, however many there are. All the others are probed once
    /// before anybody is again (SWIM 4.3).
    private mutating func nextTarget() -> GossipRecord? {
        while let node = hinted.popFirst() {
            if let known = members[node], known.isAlive, suspicions[node]?.isWitness != true { return known.record }
        }
        isNeighboursTurn.toggle()
        if isNeighboursTurn, let neighbour { return neighbour }
        // A second time for those who are there when the round has ended.
        for _ in 0..<2 {
            while let next = probeOrder.popLast() {
                if let known = members[next], known.isAlive { return known.record }
            }
            probeOrder = roster.filter { members[$0]?.isAlive == true }.shuffled(using: &random)
        }
        return nil
    }

    /// The next one by node ID that is not suspected, in a ring.
    private var neighbour: GossipRecord? {
        var first: NodeID?
        var next: NodeID?
        for other in roster {
            // Most are neither and need no look at what is known of them.
            let isFirst = first.map { other < $0 } ?? true
            let isNext = other > node && next.map { other < $0 } ?? true
            guard isFirst || isNext, members[other]?.record.status == .alive else { continue }
            if isFirst { first = other }
            if isNext { next = other }
        }
        return (next ?? first).flatMap { members[$0]?.record }
    }

    /// Returns how many were asked, each of which will answer at least that it lives.
    private mutating func askOthers(_ probe: Probe) -> Int {
        let helpers = pick(configuration.indirectChecks) {
            $0.record.status == .alive && $0.record.member.node != probe.target
        }
        for helper in helpers {
            send([.pingRequest(sequence: probe.sequence, target: probe.target)], to: helper.gossipAddress)
        }
        return helpers.count
    }

    private mutating func fail(_ probe: Probe, _ now: Duration) {
        // Helpers that are silent too tell that the fault may be here.
        awareness.add(probe.nacksExpected > 0 ? max(0, probe.nacksExpected - probe.nacks) : 1)
        guard let record = members[probe.target]?.record else { return }
        hear(suspect: probe.target, record.incarnation, by: node, isWitness: true, now)
    }

    mutating func acknowledge(_ sequence: UInt32) {
        if probe?.sequence == sequence {
            probe = nil
            awareness.add(-1)
        } else if let relay = relays.removeValue(forKey: sequence) {
            send([.ack(sequence: relay.sequence)], to: relay.requester)
        }
    }

    // MARK: - For others

    mutating func relay(_ sequence: UInt32, _ target: NodeID, for requester: GossipAddress, _ now: Duration) {
        guard relays.count < configuration.relaysMax, let known = members[target] else { return }
        let own = takeSequence()
        relays[own] = Relay(
            sequence: sequence, requester: requester,
            // Early enough to be back before the requester gives up (Lifeguard).
            nackAt: now + configuration.probeTimeout * 0.7, forgetAt: now + configuration.probeInterval)
        send(
            [.ping(sequence: own, target: target)], to: known.record.member.gossipAddress,
            withNews: known.record.status == .alive)
    }

    mutating func tickRelays(_ now: Duration) {
        for (own, relay) in relays.sorted(by: { $0.key < $1.key }) {
            if now >= relay.nackAt, !relay.hasSentNack {
                relays[own]?.hasSentNack = true
                send([.nack(sequence: relay.sequence)], to: relay.requester)
            }
            if now >= relay.forgetAt { relays[own] = nil }
        }
    }
}
