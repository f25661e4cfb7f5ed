import ChatModel
import Consensus
import LinkCore
import RoomLink
import SessionCore
import Sharding
import Wire

/// Who leads, as lanes and the node know it, and what has to be said when that changes: as `Node.ShardLeaders` and
/// `GatewayLane+Leaders` do it.
extension ClusterSimulation {
    func ask(_ calls: [RoomCall], _ lane: SimulatedLane) {
        for call in calls {
            // A planted fault.
            if case .leave = call.body, losesLeaves, freezes.mayLose, random.chance(60) {
                count("leaves lost")
                continue
            }
            switch lane.open.add(call, of: shard(of: call.room), at: milliseconds) {
            case .ask(let leader): route([call], to: leader, lane)
            case .held: break
            case .refused: giveUp(call, lane)
            }
        }
    }

    func route(_ calls: [RoomCall], to leader: NodeID, _ lane: SimulatedLane) {
        guard !calls.isEmpty else { return }
        let node = lane.node
        guard leader == id(of: node.number) else {
            return send(.calls(calls), on: .calls, to: leader, from: node)
        }
        // Taken at the end of the turn.
        for loop in node.loops.indices {
            let part = calls.filter { self.loop(of: group(of: $0.room), node) == loop }
            if part.isEmpty { continue }
            execute(node, on: loop) { [self] node in for call in part { receive(call, at: node) } }
        }
    }

    /// A node, maybe this one, says that it leads a shard.
    func isLed(_ notice: ShardNotice, by leader: Int, at node: SimulatedNode) {
        let group = GroupID(notice.shard.number)
        if node.leaders[group].map({ $0.term <= notice.term }) ?? true {
            node.leaders[group] = KnownLeader(node: leader, term: notice.term)
        }
        onEachLane(of: node) { [self] in isLed(notice, by: leader, at: $0) }
    }

    func isLed(_ notice: ShardNotice, by leader: Int, at lane: SimulatedLane) {
        guard let asked = lane.open.leads(id(of: leader), notice.shard, term: notice.term) else { return }
        lane.watch.forget(notice.shard)
        lane.awaited.forget { self.shard(of: $0) == notice.shard }
        let calls = announcements(in: GroupState.room(of: GroupID(notice.shard.number)), lane)
        route(calls + ownAsked(asked, lane), to: id(of: leader), lane)
    }

    /// What sessions that are not here any more have asked is not asked again.
    func ownAsked(_ calls: [RoomCall], _ lane: SimulatedLane) -> [RoomCall] {
        calls.filter { call in
            if lane.sessions[call.address.session] != nil { return true }
            if let request = call.request { _ = lane.open.answered(call.address.session, request) }
            return false
        }
    }

    /// Of all sessions in the room, and behind them what the lane has been shown.
    func announcements(in room: RoomID, _ lane: SimulatedLane) -> [RoomCall] {
        let sessions = lane.sessions.values.filter { $0.stays[room] != nil }
        return announcements(of: sessions.sorted { $0.id.text < $1.id.text }, in: room, lane)
    }

    func announcements(of sessions: [SimulatedSession], in room: RoomID, _ lane: SimulatedLane) -> [RoomCall] {
        guard let last = sessions.last else { return [] }
        var calls: [RoomCall] = []
        for session in sessions {
            guard var stay = session.stays[room] else { continue }
            stay.isAway = session.socket == nil
            calls.append(call(session, room, .announce(stay), lane))
        }
        var place = lane.hubs[room]?.shown.place ?? StreamPlace(epoch: "", seq: .max)
        if sabotage == .followsOffByOne, place.seq < .max, place.seq > 0 { place.seq -= 1 }
        count("rooms announced")
        trace("n\(lane.node.number).\(lane.number) announces \(room), shown \(place.seq)")
        var follow = call(last, room, .follow(place), lane)
        follow.number = lane.awaited.begin(room, at: milliseconds)
        return calls + [follow]
    }

    /// The node's own replica does not hear the leader.
    func isDoubted(_ group: GroupID, _ leader: Int, _ term: UInt64, at node: SimulatedNode) {
        guard let known = node.leaders[group], known.node == leader, known.term == term else { return }
        node.leaders[group]?.isDoubted = true
        count("doubts")
        onEachLane(of: node) { [self] in
            $0.open.doubts(id(of: leader), ShardID(group.number), term: term, at: milliseconds)
        }
    }

    func isTrusted(_ group: GroupID, _ leader: Int, _ term: UInt64, at node: SimulatedNode) {
        guard let known = node.leaders[group], known.node == leader, known.term == term else { return }
        node.leaders[group]?.isDoubted = false
        onEachLane(of: node) { [self] lane in
            let asked = lane.open.trusts(id(of: leader), ShardID(group.number), term: term)
            route(ownAsked(asked, lane), to: id(of: leader), lane)
        }
    }

    /// The node leads a group no more.
    func leadsNoMore(_ group: GroupID, _ node: SimulatedNode) {
        if node.leaders[group]?.node == node.number { node.leaders[group] = nil }
        onEachLane(of: node) { [self] in isLost(node.number, group, at: $0) }
    }

    func isLost(_ leader: Int, _ group: GroupID?, at lane: SimulatedLane) {
        lane.open.lost(id(of: leader), group.map { ShardID($0.number) }, at: milliseconds)
    }

    func giveUp(_ call: RoomCall, _ lane: SimulatedLane) {
        guard let session = lane.sessions[call.address.session], let request = call.request else { return }
        if case .operation(.enter) = call.body { session.entering.remove(call.room) }
        count("calls given up")
        guard let id = session.requests.end(request), let socket = session.socket else { return }
        reply(socket, id, .failure(ChatError(.unavailable, "no leader", retryAfterMs: 200)), lane)
    }
}
