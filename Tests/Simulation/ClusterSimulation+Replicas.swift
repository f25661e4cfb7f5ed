import ChatModel
import Consensus
import LinkCore
import RoomCore
import Sharding

/// What a host does for its replicas.
extension ClusterSimulation {
    /// As in `Rooms.GroupLog`.
    private static let restartProofTimeouts = 3

    private var configuration: RaftConfiguration {
        var configuration = RaftConfiguration()
        configuration.electionTimeoutTicks = 5
        // Small bounds, so that they are met.
        configuration.inflightMessagesMax = 8
        configuration.appendBytesMax = 400
        configuration.windowBytesMax = 600
        configuration.committedBytesMax = 400
        configuration.promotionLagEntriesMax = 5
        configuration.restartProofTicks =
            sabotage == .believesOldDisks ? 0 : Self.restartProofTimeouts * configuration.electionTimeoutTicks
        return configuration
    }

    // MARK: - Life and death

    func start(_ node: SimulatedNode) {
        node.run += 1
        node.bodies = Self.bodies(of: node)
        node.isUp = true
        node.stoppedAt = nil
        node.inbox = []
        node.forget()
        let old = node.replicas
        node.replicas = [:]
        for group in Self.groups {
            let previous = old[group]
            let isFresh = previous.map { $0.id != node.server || $0.disk.isNew } ?? true
            let creates = isFresh && node.number == 0 && node.store == 1
            let start: RaftGroup.Start =
                if let previous, !isFresh {
                    .restored(
                        previous.disk.restored(
                            appliedIndex: previous.durable.applied, installed: previous.durableMark))
                } else {
                    creates ? .bootstrap(GroupMembership(voters: [node.server])) : .join
                }
            do {
                let core = try RaftGroup(
                    id: node.server, group: group, configuration: configuration, start: start,
                    randomSeed: random.next())
                let replica = Replica(id: node.server, group: group, core: core)
                if let previous, !isFresh {
                    replica.disk = previous.disk
                    replica.durable = previous.durable
                    replica.durableMark = previous.durableMark
                    replica.state = previous.durable.restored()
                    replica.isComplete = previous.isComplete
                    replica.copy = previous.copy
                    if !previous.isComplete { backfill(node, replica) }
                }
                node.replicas[group] = replica
                act(node, group) { $0.mayLead = replica.isComplete }
            } catch {
                checkers.fail(.liveness, "\(node.server) does not start: \(error)")
            }
        }
        startGossip(node)
        startLinks(node)
        for loop in node.loops.indices {
            add(.tick(node.number, run: node.run, loop: loop), in: random.milliseconds(0...Self.tickMilliseconds))
        }
    }

    func crash(_ node: SimulatedNode) {
        guard node.isUp else { return }
        count("crashes")
        node.isUp = false
        node.stoppedAt = nil
        node.gossip = nil
        dropWires(of: node)
        for socket in node.loops.flatMap(\.lane.sockets) {
            socket.isOpenAtServer = false
            // Unless the machine is gone too.
            if random.chance(70) { closeAtClient(socket, nil) }
        }
        node.forget()
        for group in Self.groups {
            guard let replica = node.replicas[group] else { continue }
            // The disk may have written some of what it had not reported.
            for save in replica.unsynced.prefix(random.below(replica.unsynced.count + 1)) { replica.disk.write(save) }
            if sabotage == .losesSyncedEntries { replica.disk.forgetEntries(2) }
            if sabotage == .votesTwice { replica.disk.forgetVote() }
        }
    }

    // MARK: - Turns

    func tick(_ node: SimulatedNode, _ loop: Int) {
        node.loops[loop].ticks += 1
        let groups = groups(of: loop, node)
        for group in groups { act(node, group) { $0.tick() } }
        for group in groups { reconcile(node, group) }
        laneTick(node.loops[loop].lane)
        for group in groups { roomTick(group, node) }
        if node.loops[loop].ticks % Self.ticksPerSecond == 0 { node.loops[loop].isPulseDue = true }
    }

    /// Makes a core do something and carries out what comes of it.
    func act(_ node: SimulatedNode, _ group: GroupID, _ body: (inout RaftGroup) throws -> Void) rethrows {
        guard let replica = node.replicas[group] else { return }
        defer { carryOut(node, replica) }
        try body(&replica.core)
    }

    private func carryOut(_ node: SimulatedNode, _ replica: Replica) {
        while true {
            let output = replica.core.takeOutput()
            if output.isEmpty { return }
            if let leadership = output.leadership {
                if leadership.role == .leader {
                    count("elections")
                    checkers.leads(replica.group, term: leadership.term, replica.id)
                }
                leadershipChanged(node, replica)
            }
            if let save = output.save {
                replica.unsynced.append(save)
                sync(node, replica)
            }
            for message in output.messages { post(message, from: node) }
            if !output.committed.isEmpty { apply(output.committed, node, replica) }
            if !output.failedReads.isEmpty { replica.leadership.reads = [] }
            replica.leadership.reads += output.readStates
            while let read = replica.leadership.reads.first, read.index <= replica.state.applied {
                replica.leadership.reads.removeFirst()
                confirmed(read.token, node, replica)
            }
            beginLeading(node, replica)
            for fetch in output.fetches { replica.core.fetched(replica.disk.read(fetch), for: fetch) }
            if let offer = output.snapshotOffer, let source = number(of: offer.from) {
                send(.snapshotAsk(offer, replica.group), from: node.number, to: source)
                add(.snapshotLate(node.number, run: node.run, replica.group, offer.mark), in: .milliseconds(800))
            }
        }
    }

    private func post(_ message: RaftMessage, from node: SimulatedNode) {
        guard let to = number(of: message.to), loses?(message) != true else { return }
        if sabotage == .votesTwice {
            let forged: RaftMessage.Body? =
                switch message.body {
                case .vote: .voteReply(granted: true)
                case .preVote: .preVoteReply(granted: true)
                default: nil
                }
            if let forged {
                let reply = RaftMessage(
                    group: message.group, from: message.to, to: message.from, term: message.term, body: forged)
                add(.packet(.raft(reply), from: to, run: nodes[to].run, to: node.number), in: .milliseconds(1))
                return
            }
        }
        guard consensusTravelsOverLinks, to != node.number else {
            return send(.raft(message), from: node.number, to: to)
        }
        guard let other = NodeID(message.to.node) else { return }
        // Any may be lost: the core asks again.
        for frame in ConsensusFrames.frames(of: [message]) {
            if let loop = running?.loop, running?.node == node.number {
                _ = send(frame.payload, on: .consensus, to: other, from: node, loop)
            } else {
                execute(node, on: 0) { [self] in _ = send(frame.payload, on: .consensus, to: other, from: $0, 0) }
            }
        }
    }

    // MARK: - The disk

    private func sync(_ node: SimulatedNode, _ replica: Replica) {
        guard !replica.isSyncing, !replica.unsynced.isEmpty else { return }
        replica.isSyncing = true
        add(
            .synced(node.number, run: node.run, replica.group, count: replica.unsynced.count),
            in: random.milliseconds(node.syncMilliseconds))
    }

    func synced(_ node: SimulatedNode, _ group: GroupID, _ count: Int) {
        guard let replica = node.replicas[group] else { return }
        replica.isSyncing = false
        if node.isDiskFull {
            // The replica is useless from here on, and the process with it.
            self.count("full disks")
            act(node, group) { $0.persistFailed() }
            crash(node)
            add(.restart(node.number), in: .milliseconds(900))
            node.isDiskFull = false
            return
        }
        let saves = Array(replica.unsynced.prefix(count))
        replica.unsynced.removeFirst(saves.count)
        for save in saves { replica.disk.write(save) }
        if let last = saves.last { act(node, group) { $0.persisted(save: last.number) } }
        trim(node, replica)
        sync(node, replica)
    }

    /// Some of the log stays, so that followers a little behind need no snapshot.
    private func trim(_ node: SimulatedNode, _ replica: Replica) {
        guard let snapshot = replica.disk.snapshot, replica.core.firstIndex + 25 < snapshot.index else { return }
        let limit = snapshot.index - UInt64(random.below(20))
        replica.disk.trim(upTo: limit)
        act(node, replica.group) { $0.compacted(upTo: limit) }
    }

    // MARK: - Applying

    private func apply(_ entries: [Entry], _ node: SimulatedNode, _ replica: Replica) {
        var entries = entries
        if sabotage == .appliesOutOfOrder, entries.count > 1 { entries.swapAt(0, 1) }
        for entry in entries { apply(entry, node, replica) }
        replica.core.applied(upTo: replica.state.applied)
        if replica.state.applied >= (replica.durableMark?.index ?? 0) + 30 { checkpoint(node, replica) }
    }

    private func apply(_ entry: Entry, _ node: SimulatedNode, _ replica: Replica) {
        let before = replica.state.applied
        let proposal = Payload(entry).map { proposals[$0.proposal] }
        var applied = proposal
        if sabotage == .forgetsMutes, node.number == 1, case .room(let command)? = proposal,
            case .setMute(let user, _, let options) = command.body
        {
            var changed = command
            changed.body = .setMute(user, enable: false, options)
            applied = .room(changed)
        }
        var effects = replica.state.apply(
            entry, applied, key: key(of: proposal), believesStamps: sabotage == .stampsBackwards)
        if sabotage == .losesRows, entry.index % 5 == 0 {
            effects.removeAll { effect in
                switch effect {
                case .append, .publish: true
                default: false
                }
            }
        }
        checkers.applies(entry, proposal, effects, group: replica.group, at: replica.id, before: before)
        performed(entry, effects, Payload(entry)?.proposal, node, replica)
    }

    private func key(of proposal: Proposal?) -> CommandKey? {
        guard sabotage != .noDeduplication, case .room(let command)? = proposal, let id = command.id else { return nil }
        return CommandKey(high: Self.hash(id.scope), low: Self.hash(id.text))
    }

    /// FNV-1a.
    private static func hash(_ text: String) -> UInt64 {
        text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 }
    }

    private func checkpoint(_ node: SimulatedNode, _ replica: Replica) {
        guard let mark = replica.core.snapshotMark(at: replica.state.applied) else { return }
        replica.durable = replica.state
        replica.durableMark = mark
        replica.core.snapshotTaken(mark)
    }

    func install(_ mark: SnapshotMark, _ state: GroupState, _ group: GroupID, _ node: SimulatedNode) {
        guard let replica = node.replicas[group], let offer = replica.core.installing, mark.index >= offer.mark.index,
            mark.index > replica.state.applied
        else { return }
        count("snapshots")
        replica.durable = state
        replica.durableMark = mark
        replica.state = state.restored()
        replica.isComplete = false
        backfill(node, replica)
        act(node, group) {
            $0.mayLead = false
            $0.snapshotInstalled(mark)
        }
    }

    private func backfill(_ node: SimulatedNode, _ replica: Replica) {
        add(.backfilled(node.number, run: node.run, replica.group), in: random.milliseconds(100...2_000))
    }

    // MARK: - Proposing and reconciling

    /// - Returns: the index, or nil when this replica cannot.
    func propose(_ proposal: Int, _ replica: Replica, _ node: SimulatedNode) -> UInt64? {
        let clock = Int64(now / .milliseconds(1)) + node.clockOffsetMilliseconds
        let stamp = sabotage == .stampsBackwards ? clock : max(clock, replica.stamp, replica.state.time)
        replica.stamp = stamp
        let payload = Payload(proposal: proposal, time: stamp).bytes
        return try? replica.core.propose([payload]).upperBound
    }

    private func reconcile(_ node: SimulatedNode, _ group: GroupID) {
        guard let replica = node.replicas[group], replica.core.isEstablished else { return }
        let listed = node.listed
        if node.placement?.nodes != listed {
            node.placement = (listed, Placement(nodes: listed, shardCount: Self.shardCount))
        }
        guard let placement = node.placement?.value.group(group) else { return }
        if replica.reconciler?.term != replica.core.term {
            var configuration = Reconciler.Configuration()
            // Who stands still for some seconds is not replaced in earnest either.
            configuration.replaceAfterTicks = plan == .freezes ? 600_000 : 3_000
            configuration.stableTicks = 1_000
            replica.reconciler = (replica.core.term, Reconciler(configuration: configuration))
        }
        let membership = replica.core.membership
        let view = GroupView(
            own: replica.id, membership: membership, isSettled: replica.core.isSettled,
            peers: replica.core.peerStatuses, placement: placement,
            // Asked over the network in earnest.
            complete: Set((membership.voters + membership.learners).filter { isComplete($0, group) }),
            nodes: listed, deadSince: node.deadSince.mapValues { UInt64($0 / .milliseconds(1)) })
        guard let step = replica.reconciler?.value.next(view, now: UInt64(now / .milliseconds(1))) else { return }
        act(node, group) { core in
            switch step {
            case .change(let change): if (try? core.proposeMembership(change)) != nil { count("changes") }
            case .transferLeadership(let heir): try? core.transferLeadership(to: heir)
            }
        }
    }

    private func isComplete(_ server: ServerID, _ group: GroupID) -> Bool {
        guard let number = number(of: server), nodes[number].store == server.store else { return false }
        return nodes[number].replicas[group]?.isComplete ?? false
    }
}
