import ChatModel
import Consensus
import LinkCore
import RoomCore
import RoomLink
import RoomStream
import Sharding
import Wire

/// Nobody is deaf, and nobody is a ghost: what leaders believe of lanes, said once a second, and what lanes make of it. As
/// `ShardHost+Pulse` and `RoomActor+Tallies` do it on the one side, `GatewayLane+Watch` on the other.
extension ClusterSimulation {
    // MARK: - At the leader

    private func tallies(of group: GroupID, _ node: SimulatedNode, only: Lane? = nil) -> [(
        lane: Lane, tally: RoomTally
    )] {
        guard let replica = node.replicas[group], let room = replica.leadership.room else { return [] }
        var missing: [Lane: (count: UInt64, sum: UInt64)] = [:]
        for key in room.unreachable.keys {
            guard let visitor = room.presence.visitor(key) else { continue }
            missing[visitor.lane, default: (0, 0)].count += 1
            missing[visitor.lane, default: (0, 0)].sum &+= SampleHash.sender(key.session)
        }
        var all: [(lane: Lane, tally: RoomTally)] = []
        for lane in room.presence.lanes where only.map({ $0 == lane }) ?? true {
            let (count, sum) = room.presence.tally(of: lane)
            let gone = missing[lane] ?? (0, 0)
            guard count > gone.count else { continue }
            let tally = RoomTally(
                room: GroupState.room(of: group), sessions: count - gone.count, sum: sum &- gone.sum,
                seq: replica.state.room.lastSeq, isWaiting: room.stream.isWaiting(lane))
            all.append((lane, tally))
        }
        return all
    }

    func receive(_ request: TallyRequest, from other: NodeID, at node: SimulatedNode) {
        let loop = loop(of: GroupID(request.shard.number), node)
        onLoop(loop, of: node) { node in
            guard !node.loops[loop].tallyRequests.contains(where: { $0 == (other, request) }) else { return }
            node.loops[loop].tallyRequests.append((other, request))
        }
    }

    func receive(_ recount: LaneRecount, from other: NodeID, at node: SimulatedNode) {
        for room in recount.rooms {
            onLoop(loop(of: group(of: room), node), of: node) { [self] in
                self.recount(Lane(node: other, number: recount.lane), room, at: $0)
            }
        }
    }

    /// At the end of a turn, behind what rooms have told.
    func tellTallies(_ node: SimulatedNode, _ loop: Int) {
        let requests = node.loops[loop].tallyRequests
        node.loops[loop].tallyRequests = []
        for (other, request) in requests {
            let group = GroupID(request.shard.number)
            let lane = Lane(node: other, number: request.lane)
            let term = notice(of: group, at: node)?.term
            let rooms = term == nil ? [] : tallies(of: group, node, only: lane).map(\.tally)
            let answer = ShardTallies(shard: request.shard, lane: request.lane, term: term, rooms: rooms)
            if other == id(of: node.number) {
                hear(.tallies(answer), from: other, at: node)
            } else {
                send(.tallies(answer), on: .publications, to: other, from: node)
            }
        }
        guard node.loops[loop].isPulseDue else { return }
        node.loops[loop].isPulseDue = false
        guard isWatched else { return }
        var pulses: [NodeID: [ShardPulse]] = [:]
        let receivers = [id(of: node.number)] + node.loops[loop].known.reached
        for group in groups(of: loop, node) {
            guard let notice = notice(of: group, at: node) else { continue }
            let all = tallies(of: group, node)
            for receiver in receivers {
                let lanes = all.filter { $0.lane.node == receiver }.map { lane, tally in
                    var sum = LaneTally(lane: lane.number)
                    sum.add(tally)
                    return sum
                }
                pulses[receiver, default: []].append(ShardPulse(shard: notice.shard, term: notice.term, lanes: lanes))
            }
        }
        for receiver in receivers {
            guard let told = pulses[receiver] else { continue }
            if receiver == id(of: node.number) {
                onEachLane(of: node) { [self] in hear(told, from: node.number, at: $0) }
            } else {
                send(.pulses(told), on: .publications, to: receiver, from: node)
            }
        }
    }

    /// A pulse is as good as a leader's first word.
    func leadsStill(_ pulse: ShardPulse, _ leader: Int, _ node: SimulatedNode) {
        let group = GroupID(pulse.shard.number)
        guard node.leaders[group].map({ $0.term < pulse.term }) ?? true else { return }
        node.leaders[group] = KnownLeader(node: leader, term: pulse.term)
    }

    // MARK: - At the lane

    func hear(_ pulses: [ShardPulse], from leader: Int, at lane: SimulatedLane) {
        let node = id(of: leader)
        for pulse in pulses {
            lane.open.insists(node, pulse.shard, term: pulse.term, at: milliseconds)
            isLed(ShardNotice(shard: pulse.shard, term: pulse.term), by: leader, at: lane)
            guard lane.open.isLed(pulse.shard, by: node, term: pulse.term) else { continue }
            let isEqual = pulse.tally(of: lane.number) == lane.roster.tally(of: pulse.shard, lane: lane.number)
            // What the leader is being told of differs, and has a deadline of its own.
            let agrees: Bool? = isEqual ? true : lane.awaited.awaitsAny(of: pulse.shard) ? nil : false
            if lane.watch.pulse(of: pulse.shard, agrees: agrees) { askTallies(of: pulse.shard, node, lane) }
        }
    }

    private func askTallies(of shard: ShardID, _ node: NodeID, _ lane: SimulatedLane) {
        count("tallies asked for")
        trace("n\(lane.node.number).\(lane.number) asks \(node) for tallies of shard \(shard.number)")
        let request = TallyRequest(shard: shard, lane: lane.number)
        if node == id(of: lane.node.number) {
            receive(request, from: node, at: lane.node)
        } else {
            send(.tallyRequest(request), on: .calls, to: node, from: lane.node)
        }
    }

    func hear(_ tallies: ShardTallies, from leader: Int, at lane: SimulatedLane) {
        let node = id(of: leader)
        guard let term = tallies.term else {
            // Whoever leads says so within a second.
            if lane.open.leaderNode(of: tallies.shard) == node {
                isLost(leader, GroupID(tallies.shard.number), at: lane)
            }
            return
        }
        guard lane.open.isLed(tallies.shard, by: node, term: term) else { return }
        let rooms = lane.watch.repairs(
            told: tallies, own: lane.roster.tallies(of: tallies.shard), isAwaited: { lane.awaited.awaits($0) })
        sayAnew(rooms, to: node, lane)
    }

    /// Once a second.
    func watchLeaders(_ lane: SimulatedLane) {
        guard isWatched else { return }
        for finding in lane.watch.tick(lane.roster.shards.filter { lane.open.leaderNode(of: $0) != nil }.sorted()) {
            switch finding {
            case .ask(let shard):
                if let node = lane.open.leaderNode(of: shard) { askTallies(of: shard, node, lane) }
            case .drop(let shard):
                guard let node = lane.open.leaderNode(of: shard), node != id(of: lane.node.number) else { continue }
                count("links dropped for silence")
                drop(node, "nothing is heard of the rooms that it leads", at: lane.node, lane.number)
            }
        }
    }

    /// Leaders that have not gone on in time are told once more, and asked once more what they have not answered.
    func askOverdueAgain(_ lane: SimulatedLane) {
        guard isWatched else { return }
        for room in lane.awaited.overdue(at: milliseconds) {
            // Its next leader is told anyway.
            guard let node = lane.open.leader(of: shard(of: room))?.node else { continue }
            count("streams overdue")
            sayAnew([room], to: node, lane)
        }
        for (node, call) in lane.open.unanswered(at: milliseconds) {
            count("calls asked again")
            route([call], to: node, lane)
        }
    }

    private func sayAnew(_ rooms: [RoomID], to node: NodeID, _ lane: SimulatedLane) {
        guard !rooms.isEmpty else { return }
        count("rooms said anew")
        trace("n\(lane.node.number).\(lane.number) says anew \(rooms) to \(node)")
        lane.awaited.forget { room in
            rooms.contains(room) && !lane.sessions.values.contains { $0.stays[room] != nil }
        }
        let calls = rooms.flatMap { announcements(in: $0, lane) }
        let recount = LaneRecount(lane: lane.number, rooms: rooms)
        if node == id(of: lane.node.number) {
            // Behind the calls of the lane.
            for room in rooms {
                execute(lane.node, on: loop(of: group(of: room), lane.node)) { [self] in
                    self.recount(Lane(node: node, number: recount.lane), room, at: $0)
                }
            }
        } else {
            send(.recount(recount), on: .calls, to: node, from: lane.node)
        }
        route(calls + ownAsked(lane.open.askAgain(in: Set(rooms)), lane), to: node, lane)
    }

    /// A leader does not know a session that is in its room.
    /// - Returns: whether it is told, and asked again; else its answer stands.
    func announceUnknown(
        _ session: SessionID, _ request: UInt32, _ room: RoomID, by leader: Int, _ lane: SimulatedLane
    ) -> Bool {
        guard isWatched, let known = lane.sessions[session], known.stays[room] != nil else { return false }
        let node = id(of: leader)
        guard lane.open.leader(of: shard(of: room))?.node == node else {
            lane.open.refused(session, request, by: node, at: milliseconds)
            return lane.open.isOpen(session, request)
        }
        guard lane.open.unknown(session, request) else { return false }
        count("unknown sessions announced")
        let again = lane.open.askAgain(in: [room])
        route(announcements(of: [known], in: room, lane) + ownAsked(again, lane), to: node, lane)
        return true
    }
}
