import ChatModel
import EventLoop
import Logging
import RoomLink
import SessionCore
import Sharding
import Telemetry

/// Nobody here is deaf, and nobody is a ghost: what leaders say once a second of the shards that this lane's sessions are
/// in is compared with what the lane has, and what differs for long is said anew. Whatever has gone wrong, and wherever.
extension GatewayLane {
    /// A node says of the shards that it leads what it believes of this lane; behind what their rooms have told.
    func hear(_ pulses: [ShardPulse], from node: NodeID) {
        for pulse in pulses {
            // As good as its first word, should that have been lost.
            isLed(ShardNotice(shard: pulse.shard, term: pulse.term), by: node)
            guard open.isLed(pulse.shard, by: node, term: pulse.term) else { continue }
            let rooms = roster.rooms(of: pulse.shard)
            let told = pulse.tally(of: number)
            // What it is being told is not compared; that has a deadline of its own.
            guard !rooms.contains(where: { awaited.awaits($0) }) else { continue }
            let agrees = told == roster.tally(of: pulse.shard, lane: number)
            if watch.pulse(of: pulse.shard, agrees: agrees) {
                shared.router.ask(TallyRequest(shard: pulse.shard, lane: number), of: node)
            }
        }
    }

    /// What a leader believes of this lane, room by room.
    func hear(_ tallies: ShardTallies, from node: NodeID) {
        guard let term = tallies.term else {
            // It leads no more and its successor has not said so here: whoever does says so within a second.
            if open.leaderNode(of: tallies.shard) == node { isLost(node, tallies.shard) }
            return
        }
        guard open.isLed(tallies.shard, by: node, term: term) else { return }
        let rooms = watch.repairs(told: tallies, own: roster.tallies(of: tallies.shard))
        sayAnew(rooms.filter { !awaited.awaits($0) }, to: node, "it has something else than its leader says")
    }

    /// Once a second.
    func watchLeaders() {
        for finding in watch.tick(roster.shards.filter { open.leaderNode(of: $0) != nil }) {
            switch finding {
            case .ask(let shard):
                guard let node = open.leaderNode(of: shard) else { continue }
                shared.router.ask(TallyRequest(shard: shard, lane: number), of: node)
            case .drop(let shard):
                guard let node = open.leaderNode(of: shard), node != configuration.node else { continue }
                logger.warning(
                    "nothing is heard of a leader: the link to it is made anew",
                    metadata: ["peer": "\(node)", "shard": "\(shard.number)"])
                shared.router.drop(node)
            }
        }
    }

    /// Ten times a second: leaders that have not gone on in time are told once more, and asked once more what they have
    /// not answered for long.
    func askOverdueAgain() {
        let now = loop.nowMilliseconds
        var byNode: [NodeID: [RoomID]] = [:]
        for room in awaited.overdue(at: now) {
            // Its next leader is told anyway.
            guard let node = open.leader(of: shared.shardMap.shard(of: room))?.node else { continue }
            byNode[node, default: []].append(room)
        }
        for (node, rooms) in byNode { sayAnew(rooms, to: node, "its stream does not go on") }
        for (node, call) in open.unanswered(at: now) { shared.router.route([call], to: node, from: number) }
    }

    /// Tells the leader of rooms anew who of this lane is in them and what they have been shown, and asks again what has
    /// no answer. Who is not announced is not here: the leader begins its grace.
    private func sayAnew(_ rooms: [RoomID], to node: NodeID, _ reason: String) {
        guard !rooms.isEmpty else { return }
        shared.figures.roomsSaidAnew.add(rooms.count)
        logger.warning(
            "rooms are announced anew", metadata: ["rooms": "\(rooms.count)", "peer": "\(node)", "reason": "\(reason)"])
        let wanted = Set(rooms)
        for room in rooms {
            if let hub = hubs[room] { loseBarrage(of: hub) }
        }
        var byRoom: [RoomID: [Session]] = [:]
        for session in sessions.values {
            for room in session.state.rooms where wanted.contains(room) { byRoom[room, default: []].append(session) }
        }
        awaited.forget { wanted.contains($0) && byRoom[$0] == nil }
        var calls: [RoomCall] = []
        for (room, sessions) in byRoom { calls += announcements(of: sessions, in: room) }
        shared.router.recount(LaneRecount(lane: number, rooms: rooms), at: node)
        calls += ownAsked(open.askAgain(in: wanted))
        if !calls.isEmpty { shared.router.route(calls, to: node, from: number) }
    }

    /// A leader does not know a session that is in its room.
    /// - Returns: whether it is told, and asked again; else its answer stands.
    func announceUnknown(_ id: SessionID, _ request: UInt32, _ room: RoomID, by node: NodeID) -> Bool {
        guard let session = sessions[id], session.isIn(room) else { return false }
        guard open.leader(of: shared.shardMap.shard(of: room))?.node == node else {
            // Said by one that leads no more: whoever leads next is told, and asked.
            open.refused(id, request, by: node, at: loop.nowMilliseconds)
            return open.isOpen(id, request)
        }
        guard let call = open.unknown(id, request) else { return false }
        shared.figures.roomsSaidAnew.add(1)
        logger.warning("a leader does not know a session that is in its room", metadata: ["peer": "\(node)"])
        shared.router.route(announcements(of: [session], in: room) + [call], to: node, from: number)
        return true
    }
}
