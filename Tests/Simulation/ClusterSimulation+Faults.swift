import ChatModel
import ClientCore
import Consensus
import Sharding

/// What goes wrong, what operators do, and how it ends.
extension ClusterSimulation {
    // MARK: - Operators

    /// Wants something done; it is asked for until it is in the log.
    func want(_ proposal: Proposal) {
        proposals.append(proposal)
        operations.append(proposals.count - 1)
    }

    private func group(of proposal: Int) -> GroupID {
        if case .room(let command) = proposals[proposal] {
            return Self.groups.first { GroupState.room(of: $0) == command.room } ?? .system
        }
        return .system
    }

    func operate() {
        add(.operate, in: .milliseconds(250))
        operations.removeAll { checkers.contains(proposal: $0, in: group(of: $0)) }
        var asked: Set<GroupID> = []
        for operation in operations {
            let group = group(of: operation)
            // In order, and each after the one before.
            guard asked.insert(group).inserted else { continue }
            let leader = nodes.first {
                $0.isUp && $0.stoppedAt == nil && $0.replicas[group]?.core.isEstablished == true
            }
            guard let leader, let replica = leader.replicas[group] else { continue }
            _ = propose(operation, replica, leader)
            act(leader, group) { _ in }
            endTurn(leader, loop(of: group, leader))
        }
    }

    // MARK: - Faults

    func fault() {
        add(.fault, in: random.milliseconds(100...900))
        if renewing != nil { return endRenewal() }
        guard let node = random.pick(nodes) else { return }
        switch random.below(100) {
        case 0..<6: copyDisk()
        case 6..<22:
            guard node.isUp else { return }
            crash(node)
            add(.restart(node.number), in: random.milliseconds(200...4_000))
        case 22..<30:
            guard node.isUp, node.stoppedAt == nil else { return }
            count("stops")
            node.stoppedAt = now
            add(.resume(node.number), in: random.milliseconds(300...4_000))
        case 30..<50: partition()
        case 50..<62: blocked = []
        case 62..<67: node.syncMilliseconds = random.chance(50) ? 1...10 : 50...400
        case 67..<70: node.isDiskFull = true
        case 70..<75: node.clockOffsetMilliseconds = Int64(random.below(20_000)) - 10_000
        case 75..<80: lossPercent = random.below(20)
        case 80..<86:
            guard !node.isRemoved else { return }
            let drains = random.chance(60)
            count("drains")
            want(.listNode(PlacementNode(server: node.server, isDraining: drains)))
        case 86..<92: loseDisk(node)
        case 92..<94: remove(node)
        default:
            guard let group = random.pick(Self.groups), let heir = random.pick(nodes)?.server else { return }
            try? act(node, group) { try $0.transferLeadership(to: heir) }
        }
    }

    private func partition() {
        count("partitions")
        blocked = []
        let isOneWay = random.chance(30)
        if random.chance(60) {
            let side = Set(nodes.map(\.number).filter { _ in random.chance(40) })
            for a in side {
                for b in nodes.map(\.number) where !side.contains(b) { block(a, b, isOneWay) }
            }
        } else {
            // Some pairs only.
            for a in nodes.map(\.number) {
                for b in nodes.map(\.number) where a < b && random.chance(30) { block(a, b, isOneWay) }
            }
        }
    }

    private func block(_ a: Int, _ b: Int, _ isOneWay: Bool) {
        blocked.insert([a, b])
        if !isOneWay { blocked.insert([b, a]) }
    }

    /// Whether every group keeps a majority of voters that have forgotten nothing: by whatever membership anybody has
    /// on disk or in memory, and by those that a leader may propose before it notices that the node is gone.
    private func canDoWithout(_ node: SimulatedNode) -> Bool {
        let existing = Set(nodes.filter { !$0.isRemoved && $0.number != node.number }.map(\.server))
        let lists = lists
        return nodes.flatMap(\.replicas.values).allSatisfy { replica in
            let voters = replica.core.membership.voters
            // A learner may be on its way to be a voter: the one that has come in the place of one that is lost for
            // good, lost too before anybody has noticed it, is one loss more than three voters bear.
            let memberships = [voters, voters + replica.core.membership.learners]
            // A group that shrinks from three voters to one has two for a moment, and needs both. A leader asks whether
            // they are there, but hears for up to two election timeouts that one is who is not: that a voter who was to
            // stay is lost for good just then is more than two voters bear. One who was to go may be lost at any time.
            return (memberships + lists.flatMap { shrunken(voters, of: replica.group, $0, existing) }).allSatisfy {
                $0.isEmpty || $0.count(where: existing.contains) > $0.count / 2
            }
        }
    }

    /// The lists of nodes by which leaders may place their groups now or soon: all that are known anywhere, and those
    /// that come of what operators have asked for.
    private var lists: [[PlacementNode]] {
        let known = nodes.compactMap { $0.replicas[.system]?.state }
        guard var newest = known.max(by: { $0.applied < $1.applied })?.nodes else { return [] }
        var lists = known.map(\.nodes)
        for operation in operations {
            switch proposals[operation] {
            case .listNode(let node): newest[node.server.node] = node
            case .removeNode(let name): newest[name] = nil
            case .room: continue
            }
            lists.append(newest)
        }
        return Array(Set(lists.map { $0.values.sorted { $0.server < $1.server } }))
    }

    /// What becomes of a group's voters, one removal after the other, as the reconciler chooses whom to remove: those
    /// first that are to leave. Who does not exist any more goes last, as if nobody had noticed.
    private func shrunken(
        _ voters: [ServerID], of group: GroupID, _ list: [PlacementNode], _ existing: Set<ServerID>
    ) -> [[ServerID]] {
        guard let wanted = Placement(nodes: list, shardCount: Self.shardCount).group(group)?.voters, !wanted.isEmpty
        else { return [] }
        // Those who are not to be had are not waited for when one is to leave.
        let mayGoBelow = wanted.filter { !voters.contains($0) }.allSatisfy { missing in
            nodes.contains { $0.deadSince[missing.node] != nil }
                || nodes.contains { $0.server == missing && (!$0.isUp || $0.stoppedAt != nil) }
        }
        func stays(_ server: ServerID) -> Bool {
            list.contains { $0.server.node == server.node && !$0.isDraining }
        }
        func order(_ server: ServerID) -> Int { (stays(server) ? 2 : 0) + (existing.contains(server) ? 0 : 1) }
        var left = voters
        var found: [[ServerID]] = []
        for server in voters.filter({ !wanted.contains($0) }).sorted(by: { (order($0), $0) < (order($1), $1) }) {
            guard left.count > wanted.count || (mayGoBelow && left.count > 1 && !stays(server)) else { continue }
            left.removeAll { $0 == server }
            found.append(left)
        }
        return found
    }

    /// The node comes back empty, as another server.
    private func loseDisk(_ node: SimulatedNode) {
        guard canDoWithout(node), !node.isRemoved else { return }
        count("lost disks")
        crash(node)
        node.store += 1
        node.replicas = [:]
        want(.listNode(PlacementNode(server: node.server)))
        add(.restart(node.number), in: random.milliseconds(500...2_000))
    }

    private func remove(_ node: SimulatedNode) {
        guard node.number > 0, canDoWithout(node), !node.isRemoved, !nodes.contains(where: \.isRemoved) else { return }
        count("removals")
        crash(node)
        node.isRemoved = true
        want(.removeNode(node.name))
    }

    // MARK: - Older disks

    /// Somebody copies a follower's disk. While another voter hears nobody the follower promises more; then it comes
    /// back with the copy, and its leader can't be reached for a moment: the two could elect one of them, who has not
    /// what was acked. The other one leads nothing: that a deposed leader, of which a node with an older disk has
    /// forgotten that it is deposed, gets its acks is beyond what is promised (ARCHITECTURE.md, "Limits of this
    /// version").
    private func copyDisk() {
        guard let group = random.pick(Self.groups), nodes.allSatisfy({ $0.isUp && $0.stoppedAt == nil }),
            let leader = nodes.first(where: { $0.replicas[group]?.core.isEstablished == true }),
            let voters = leader.replicas[group]?.core.membership.voters.compactMap(number),
            voters.count == 3, let old = random.pick(voters.filter { $0 != leader.number }),
            let other = voters.first(where: { $0 != leader.number && $0 != old }), mayGetOld(nodes[old]),
            nodes[other].replicas.values.allSatisfy({ !$0.core.isLeader })
        else { return }
        for replica in nodes[old].replicas.values {
            replica.copy = DiskCopy(
                disk: replica.disk, state: replica.durable, mark: replica.durableMark, isComplete: replica.isComplete)
        }
        renewing = (old, [:])
        blocked = []
        isolate(nodes[other])
        add(.oldDisk(old, leader: leader.number), in: random.milliseconds(500...2_000))
    }

    /// Whether all groups have three voters of which only this one forgets something.
    private func mayGetOld(_ node: SimulatedNode) -> Bool {
        canDoWithout(node) && !node.isDiskFull && nodes.allSatisfy { !$0.isDiskFull && !$0.isRemoved }
            && Self.groups.allSatisfy { group in
                let voters = node.replicas[group]?.core.membership.voters ?? []
                return voters.count >= 3 && voters.allSatisfy { number(of: $0).map { nodes[$0].isUp } ?? false }
            }
    }

    private func isolate(_ node: SimulatedNode) {
        for number in nodes.map(\.number) where number != node.number { block(node.number, number, false) }
    }

    func oldDisk(_ node: SimulatedNode, leader: SimulatedNode) {
        guard !isPeace, node.isUp, mayGetOld(node) else { return renewing = nil }
        count("older disks")
        crash(node)
        var promised: [GroupID: UInt64] = [:]
        for (group, replica) in node.replicas {
            promised[group] = replica.core.lastIndex
            guard let copy = replica.copy else { continue }
            replica.disk = copy.disk
            replica.durable = copy.state
            replica.durableMark = copy.mark
            replica.isComplete = copy.isComplete
        }
        renewing = (node.number, promised)
        add(.restart(node.number), in: random.milliseconds(50...150))
        blocked = []
        isolate(leader)
    }

    /// Faults go on when the leaders have taken it in: an older disk together with another fault that lasts is more
    /// than is promised.
    private func endRenewal() {
        guard let (number, promised) = renewing, !promised.isEmpty else { return }
        blocked = []
        let node = nodes[number]
        // What it had in memory in its former life is no sign of what has come back.
        guard node.isUp else { return }
        let isTakenIn = promised.allSatisfy { group, index in
            node.replicas[group].map { $0.core.persistedIndex >= index && $0.core.leader != nil } ?? false
        }
        if isTakenIn { renewing = nil }
    }

    // MARK: - Peace

    func heal() {
        isPeace = true
        lossPercent = 0
        if sabotage != .cutsForEver {
            blocked = []
        } else {
            for a in nodes.map(\.number) {
                for b in nodes.map(\.number) where a != b { blocked.insert([a, b]) }
            }
        }
        for node in nodes {
            node.syncMilliseconds = 1...10
            node.isDiskFull = false
            if node.stoppedAt != nil { add(.resume(node.number), in: .zero) }
            if !node.isUp { add(.restart(node.number), in: .milliseconds(100)) }
        }
    }

    /// Everything asked for is answered, everybody has been shown everything, and the groups are where they belong.
    var isFinished: Bool {
        guard operations.isEmpty else { return false }
        for client in clients where !isFinished(client) { return false }
        return Self.groups.allSatisfy(isAtRest) && isGossipConverged
    }

    /// It has said all and knows what became of it, and has been shown everything, if it may be here.
    private func isFinished(_ client: SimulatedClient) -> Bool {
        if checkers.isBarred(client.user, client.group) { return true }
        return client.outstanding.isEmpty && (client.kind != .talker || client.number == Self.messagesPerClient)
            && client.core?.connectionState(of: client.room) == .entered && client.view.missing.isEmpty
            && client.view.seq == checkers.lastSeq(client.group)
    }

    func isAtRest(_ group: GroupID) -> Bool {
        let leaders = nodes.filter { $0.isUp && $0.replicas[group]?.core.isEstablished == true }
        guard leaders.count == 1, let leader = leaders.first, let core = leader.replicas[group]?.core,
            let wanted = Placement(nodes: leader.listed, shardCount: Self.shardCount).group(group)
        else { return false }
        let membership = core.membership
        return core.id == wanted.voters.first && Set(membership.voters) == Set(wanted.voters)
            && Set(membership.learners) == wanted.learners
            && (membership.voters + membership.learners).allSatisfy { server in
                number(of: server).flatMap { nodes[$0].replicas[group]?.state.applied } == core.commitIndex
            }
    }

    /// Where the replicas are, for whoever looks for the reason of a failure.
    func describe() -> String {
        var lines = ["operations \(operations.count), gossip converged: \(isGossipConverged), now \(now)"]
        for client in clients where !isFinished(client) {
            let waits = client.outstanding.values.sorted()
            let place = client.socket.map { "n\($0.node)" } ?? "no node"
            let state = client.core.map { "\($0.state)" } ?? "not started"
            let stay = client.core?.connectionState(of: client.room).map { "\($0)" } ?? "not in the room"
            let last = checkers.lastSeq(client.group)
            lines.append("\(client.user) number \(client.number) waits for \(waits), \(state) at \(place), \(stay)")
            lines.append("  shown \(client.view.seq ?? 0) of \(last), missing \(client.view.missing.count)")
        }
        for node in nodes {
            for group in Self.groups {
                guard let core = node.replicas[group]?.core else { continue }
                let voters = core.membership.voters.map { "\($0.node).\($0.store)" }
                let learners = core.membership.learners.map { "(\($0.node).\($0.store))" }
                lines.append(
                    "\(node.name).\(node.store) up \(node.isUp) group \(group.number) \(core.role) term \(core.term) "
                        + "log \(core.firstIndex)...\(core.lastIndex) commit \(core.commitIndex) applied "
                        + "\(node.replicas[group]?.state.applied ?? 0) complete "
                        + "\(node.replicas[group]?.isComplete ?? false) members \(voters + learners) "
                        + "draining \(node.listed.filter(\.isDraining).map(\.server.node))")
            }
        }
        return lines.joined(separator: "\n")
    }
}
