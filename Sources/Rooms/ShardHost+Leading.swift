import ChatModel
import Consensus
import GroupDriver
import ReplicationDriver
import RoomCore
import RoomProtocol
import ShardPlacement
import Webhooks

/// Leadership of the shard: what comes and goes with it, and who is told.
extension ShardHost {
    /// Leads, and what was committed before has been applied.
    var isServing: Bool { ledTerm != nil }

    /// The notice that this node leads; nil while it does not.
    var notice: ShardNotice? { ledTerm.map { ShardNotice(shard: shard, term: $0) } }

    /// Nodes whose votes count, in order. Voters that the cluster lists no more are left out: their data is gone, or
    /// they were removed, and the group only waits for others in their place.
    var replicas: [NodeID] {
        let listed = Set(context.cluster.current.nodes.map(\.server))
        let voters = log.membership.voters.filter { listed.isEmpty || listed.contains($0) }
        return voters.compactMap { NodeID($0.node) }.sorted()
    }

    func logDidChangeLeadership(_ log: GroupLog) {
        willChangeLeadership()
        publishHeard()
        webhook?.reset()
        guard ledTerm != log.term || !log.isEstablished else { return }
        hasFoundRoomsToRecover = false
        formerIndex = nil
        // In doubt: a retry with the same command ID is answered by what the log then says.
        let isInDoubt = refusals.mayAskElsewhere
        let error = refusals.notLeading("the room's leader has changed")
        fail(proposals.takePending(), error, isInDoubt: isInDoubt)
        fail(proposals.takeStaged(), error, isInDoubt: isInDoubt)
        refusals.refuse(questions.takeAll())
        receiveEarly()
        // Lanes announce anew to the next leader, even if it is this one again.
        for work in rooms.takeWaiting() { receive(work) }
        if ledTerm != nil { endLeading() }
    }

    /// Everything of former leaders has been applied: this one begins to answer.
    func beginLeading() {
        ledTerm = log.term
        // Asked before anybody was told that this leader knows who is here: it does not, and would say that they are
        // not. Their gateways ask again, behind their announcements.
        let isSession: (RoomWork) -> Bool = { $0.key != nil && !$0.isPresence }
        refusals.refuse(early.filter(isSession) + rooms.takeWaiting(where: isSession))
        early.removeAll(where: isSession)
        let now = context.now()
        ledSince = now
        for room in rooms.active {
            publisher.mark(room) { $0.lead(at: now) }
        }
        beginInheriting(at: now)
        context.sink.onLeading(ShardNotice(shard: shard, term: log.term))
    }

    /// This leader's presence means nothing to the next one. Rooms leave memory: what they wait for belongs to this
    /// leader, and their rows are with storage.
    private func endLeading() {
        // In the term in which it was said, and before anybody hears that this node leads no more: what a later leader
        // says comes after it. Barrage that was taken is not waited for any longer: nobody else has it.
        publisher.closeBarrageWindows()
        // Enters that wait for the end of the turn come first: something of theirs may be left out, too.
        publishAll()
        let now = context.now()
        for room in rooms.active { publisher.mark(room) { $0.publishLastLeftOut(at: now) } }
        publishAll()
        publisher.deliver()
        tellWhoHasLeft()
        (ledTerm, ledSince) = (nil, nil)
        hasCountedDeletedRooms = false
        publisher.forgetRooms()
        agenda.removeAll()
        rooms.removeActive()
        roomsToRecover = []
        presenceSender = PresenceSender()
        (inherited, inheriting) = ([:], [])
        context.sink.onLeadingEnded(shard)
    }

    /// The next leader is to know who has left by now: it would keep a session that nobody announces for its grace.
    private func tellWhoHasLeft() {
        var bytes = 256 << 10
        replicatePresence(bytes: &bytes)
    }

    /// A node can't be reached: its gateway's sessions are away.
    func onNodeLost(_ node: NodeID) {
        replica?.onNodeLost(node)
        // Connected again, it says anew who is here, and asks again what has no answer.
        _ = rooms.takeWaiting { $0.key?.node == node }
        early.removeAll { $0.key?.node == node }
        let now = context.now()
        presenceReplica.onNodeLost(node, at: now, seconds: context.policy.graceSeconds)
        presenceSender.forget(node)
        guard ledTerm != nil else { return }
        for room in rooms.active {
            publisher.mark(room) { $0.lose(node, at: now) }
        }
    }

    // MARK: - Who else leads

    /// Others know of a leader that stands still only when their link to it has been silent for long.
    private func publishHeard() {
        if let leader = log.leader.flatMap({ NodeID($0.node) }), !log.isLeader {
            let notice = ShardNotice(shard: shard, term: log.term)
            followed.follow(leader, notice)
            presenceReplica.onLeader(leader, term: log.term, at: context.now(), seconds: context.policy.graceSeconds)
            context.sink.onLeaderConfirmed(leader, notice)
        } else if log.isLeader {
            followed.forget()
        } else if log.hasFailed || !log.takesWrites {
            // It is this replica that has gone silent, not the leader.
        } else if log.membership.voters.contains(context.server), let silent = followed.suspect() {
            context.sink.onLeaderSuspected(silent.node, silent.notice)
        }
    }

    /// A replica that the group has gone on without hears nobody for ever.
    func endSuspicion() {
        if let trusted = followed.tick() { context.sink.onLeaderConfirmed(trusted.node, trusted.notice) }
    }

    // MARK: - On demand

    /// Whether a majority says that this node leads; then its storage is given all that was acked.
    func confirmLead(_ done: @escaping (Bool) -> Void) {
        guard isServing else { return done(false) }
        log.readIndex { done((try? $0.get()) != nil) }
    }

    /// Hands leadership to whoever can take it over at once; false when there is nobody.
    func transferLeadership(to node: NodeID? = nil) -> Bool {
        // Nobody is asked beside the one that is: it takes the leadership, or the log asks the next one.
        if node == nil, log.isEstablished, log.isTransferring { return true }
        let wrongClocks = context.cluster.current.wrongClocks
        let complete = keeper.replicas.complete(of: log.membership.voters, in: log.term)
        let ready = log.peerStatuses.filter {
            $0.isVoter && $0.isActive && $0.isCaughtUp && !$0.declinesLeadership && !wrongClocks.contains($0.id.node)
        }
        // One that lacks history does not take it.
        func order(_ peer: PeerStatus) -> (Int, UInt64) { (complete.contains(peer.id) ? 1 : 0, peer.matchIndex) }
        let heir = ready.filter { node == nil || $0.id.node == node?.text }.max { order($0) < order($1) }
        guard log.isEstablished, let heir else { return false }
        tellWhoHasLeft()
        do throws(RaftError) {
            try log.transferLeadership(to: heir.id)
            log.onInput()
            return true
        } catch {
            return false
        }
    }
}
