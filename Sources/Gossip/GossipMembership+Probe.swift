import ChatModel

/// Finding out who does not answer (SWIM section 3.1), with doubt in oneself (Lifeguard).
extension GossipMembership {
    mutating func tickProbe(_ now: Duration) {
        if var current = probe {
            if !current.isAnswered, !current.hasAskedOthers, now >= current.askOthersAt {
                current.hasAskedOthers = true
                current.nacksExpected = askOthers(current)
                probe = current
            }
            guard now >= current.deadline else { return }
            probe = nil
            if !current.isAnswered { fail(current, now) }
        }
        if now >= nextProbe { beginProbe(now) }
    }

    /// Everybody is probed once before anybody is again, which bounds the time until a crash is noticed (SWIM 4.3).
    private mutating func beginProbe(_ now: Duration) {
        if probeOrder.isEmpty {
            probeOrder = members.filter(\.value.isAlive).keys.sorted().shuffled(using: &random)
        }
        var target: Known?
        while target == nil, let next = probeOrder.popLast() {
            target = members[next].flatMap { $0.isAlive ? $0 : nil }
        }
        guard let target else {
            nextProbe = now + configuration.probeInterval
            return
        }
        let record = target.record
        let sequence = takeSequence()
        nextProbe = now + awareness.scale(configuration.probeInterval)
        probe = Probe(
            target: record.member.node, sequence: sequence,
            askOthersAt: now + awareness.scale(configuration.probeTimeout), deadline: nextProbe)
        var messages = [GossipMessage.ping(sequence: sequence, target: record.member.node)]
        if record.status == .suspect {
            // It should know at once, so that it can refute (Lifeguard's buddy system).
            messages.append(.suspect(incarnation: record.incarnation, record.member.node, by: node))
        }
        send(messages, to: record.member.gossipAddress)
    }

    /// Returns how many were asked, each of which will answer at least that it lives.
    private mutating func askOthers(_ probe: Probe) -> Int {
        let helpers = members.values.filter { $0.record.status == .alive && $0.record.member.node != probe.target }
            .map(\.record.member).sorted { $0.node < $1.node }.shuffled(using: &random)
            .prefix(configuration.indirectChecks)
        for helper in helpers {
            send([.pingRequest(sequence: probe.sequence, target: probe.target)], to: helper.gossipAddress)
        }
        return helpers.count
    }

    private mutating func fail(_ probe: Probe, _ now: Duration) {
        // Helpers that are silent too tell that the fault may be here.
        awareness.add(probe.nacksExpected > 0 ? max(0, probe.nacksExpected - probe.nacks) : 1)
        guard let record = members[probe.target]?.record else { return }
        hear(suspect: probe.target, record.incarnation, by: node, now)
    }

    mutating func acknowledge(_ sequence: UInt32) {
        if var current = probe, current.sequence == sequence {
            guard !current.isAnswered else { return }
            current.isAnswered = true
            probe = current
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
            nackAt: now + configuration.probeTimeout * 0.8, forgetAt: now + configuration.probeInterval)
        send([.ping(sequence: own, target: target)], to: known.record.member.gossipAddress)
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
