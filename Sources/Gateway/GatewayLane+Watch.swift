import ChatModel
import EventLoop
import Logging
import RoomProtocol
import SessionCore
import ShardPlacement
import Telemetry

/// Nobody here is deaf, and nobody is a ghost: what leaders say once a second of the shards that this lane's sessions are
/// in is compared with what the lane has, and what differs for long is said anew. Whatever has gone wrong, and wherever.
extension GatewayLane {
    /// A node says of the shards that it leads what it believes of this lane; behind what their rooms have told.
    func hear(_ pulses: [ShardPulse], from node: NodeID) {
        for pulse in pulses {
            open.onLeaderInsisting(node, pulse.shard, term: pulse.term, at: loop.nowMilliseconds)
            // As good as its first word, should that have been lost.
            onLeaderKnown(ShardNotice(shard: pulse.shard, term: pulse.term), by: node)
            guard open.isLed(pulse.shard, by: node, term: pulse.term) else { continue }
            pulsedAt[pulse.shard] = loop.nowMilliseconds
            let refused = ownAsked(open.onLeaderStill(node, pulse.shard, term: pulse.term))
            if !refused.isEmpty { shared.router.route(refused, to: node, from: number) }
            let isEqual = pulse.tally(of: number) == roster.tally(of: pulse.shard, lane: number)
            // Rooms that are being announced differ, and have a deadline of their own.
            let agrees: Bool? = isEqual ? true : awaited.awaitsAny(of: pulse.shard) ? nil : false
            if watch.pulse(of: pulse.shard, agrees: agrees) { askForTallies(pulse.shard, node) }
        }
    }

    private func askForTallies(_ shard: ShardID, _ node: NodeID) {
        let part = watch.part(of: shard, rooms: roster.rooms(of: shard).count)
        shared.router.ask(TallyRequest(shard: shard, lane: number, part: part), of: node)
    }

    /// Takes a leader's tallies of this lane, room by room.
    func hear(_ tallies: ShardTallies, from node: NodeID) {
        guard let term = tallies.term else {
            // It leads no more and its successor has not said so here: whoever does says so within a second.
            if open.leaderNode(of: tallies.shard) == node { onLeaderLost(node, tallies.shard) }
            return
        }
        guard open.isLed(tallies.shard, by: node, term: term) else { return }
        // Without viewers nothing can have been missed: it goes on from where the leader is, which is just behind what has
        // been heard. So does the room of a session that was taken up from another lane.
        for room in tallies.rooms where hubs[room.room] == nil && !awaited.awaits(room.room) {
            roster.advance(through: room.seq, of: room.room)
        }
        let rooms = watch.repairs(
            told: tallies, own: roster.tallies(of: tallies.shard, tallies.part), isAwaited: { awaited.awaits($0) })
        sayAnew(rooms, to: node, "it has something else than its leader says")
    }

    /// Once a second.
    func watchLeaders() {
        loseOverdueBarrage()
        let watched = roster.shards.filter { shard in
            // The silence of one that is not reached tells nothing new.
            open.leaderNode(of: shard).map { shared.router.reaches($0) } ?? false
        }
        for finding in watch.tick(watched) {
            switch finding {
            case .ask(let shard):
                guard let node = open.leaderNode(of: shard) else { continue }
                askForTallies(shard, node)
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

    /// Tells the leader of rooms anew who of this lane is in them and what they have been shown, and asks again what
    /// has no answer. A session that is not announced is not here: the leader begins its grace.
    private func sayAnew(_ rooms: [RoomID], to node: NodeID, _ reason: String) {
        guard !rooms.isEmpty else { return }
        shared.figures.roomsSaidAnew.add(rooms.count)
        logger.warning(
            "rooms are announced anew", metadata: ["rooms": "\(rooms.count)", "peer": "\(node)", "reason": "\(reason)"])
        let wanted = Set(rooms)
        // A session that is leaving may have left already: announced, it would leave twice.
        let leaving = open.leaving(wanted)
        for room in rooms {
            if let hub = hubs[room] { loseBarrage(of: hub) }
        }
        var byRoom: [RoomID: [LaneSession]] = [:]
        for session in sessions.values {
            for room in session.state.rooms where wanted.contains(room) {
                guard leaving[room]?.contains(session.id) != true else { continue }
                byRoom[room, default: []].append(session)
            }
        }
        awaited.forget { wanted.contains($0) && byRoom[$0] == nil }
        var calls: [RoomRequest] = []
        for (room, sessions) in byRoom { calls += announcements(of: sessions, in: room) }
        shared.router.recount(LaneRecount(lane: number, rooms: rooms), at: node)
        calls += ownAsked(open.askAgain(in: wanted))
        if !calls.isEmpty { shared.router.route(calls, to: node, from: number) }
    }

    /// A leader does not know a session that is in its room.
    /// - Returns: whether its client is not told so: the leader is told, and asked again. Else its answer stands.
    func announceUnknown(_ id: SessionID, _ request: UInt32, _ room: RoomID, by node: NodeID) -> Bool {
        guard let session = sessions[id] else { return false }
        let isIn = session.state.isIn(room)
        guard isIn || session.state.isEntering(room) && open.isEntering(id, room) else { return false }
        guard isIn, open.leader(of: shared.shardMap.shard(of: room))?.node == node else {
            // Said by one that leads no more: whoever leads next is told, and asked. Or said before the leader was asked
            // again, behind the session's enter.
            open.refused(.session(id), request, by: node, at: loop.nowMilliseconds)
            return open.isOpen(id, request)
        }
        if open.isLeaving(id, request) {
            // It has left, and the answer was lost.
            exited(id, room, request)
            return true
        }
        guard open.unknown(id, request) else {
            // Told often enough, or held because a repeat might be done twice: its client asks again.
            guard let call = open.giveBack(id, request) else { return false }
            giveUp(call, "the room's leader does not know the session yet", copied: 0)
            return true
        }
        unknown[room, default: []].insert(id)
        return true
    }

    /// Tells a leader of the sessions that it did not know, all of a turn at once, and asks again what is open in their
    /// rooms: until it goes on from there nothing else that it has answered is heard.
    func sendUnknown(to node: NodeID) {
        guard !unknown.isEmpty else { return }
        let rooms = unknown
        unknown = [:]
        let wanted = Set(rooms.keys)
        shared.figures.roomsSaidAnew.add(rooms.count)
        logger.warning(
            "a leader does not know sessions that are in its rooms",
            metadata: ["peer": "\(node)", "rooms": "\(rooms.count)"])
        var calls: [RoomRequest] = []
        for (room, ids) in rooms {
            calls += announcements(of: ids.compactMap { sessions[$0] }.filter { $0.state.isIn(room) }, in: room)
        }
        calls += ownAsked(open.askAgain(in: wanted))
        if !calls.isEmpty { shared.router.route(calls, to: node, from: number) }
    }
}
