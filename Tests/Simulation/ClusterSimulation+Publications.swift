import ChatModel
import Consensus
import RoomLink
import SessionCore
import Sharding
import Wire

/// What rooms tell lanes, as `GatewayLane+Publications` performs it.
extension ClusterSimulation {
    func perform(_ publication: Publication, from: Int, at lane: SimulatedLane) {
        let isCurrent = lane.open.isCurrent(publication.term, of: shard(of: publication.room))
        for output in publication.outputs where !isLost(output, of: publication.room, lane) {
            guard
                sabotage == .showsUnasked
                    || (isCurrent ? lane.awaited.takes(output, of: publication.room) : output.isAnswer)
            else { continue }
            perform(output, of: publication.room, from: from, lane)
        }
    }

    /// Something goes wrong that can't: what a room tells is lost, though the connection has not ended.
    private func isLost(_ output: RoomOutput, of room: RoomID, _ lane: SimulatedLane) -> Bool {
        switch output {
        case .following:
            // Not twice: there are five seconds in all.
            guard losesFollowing, freezes.mayLose || sabotage != nil, random.chance(50),
                freezes.lost.insert("\(lane.node.name) \(lane.number) \(room)").inserted
            else { return false }
            count("streams that never go on")
            trace("n\(lane.node.number).\(lane.number) loses what \(room) goes on with")
            return true
        case .entered(_, _, .success, _):
            guard sabotage == .losesEntered, plan == .freezes, random.chance(20) else { return false }
            return true
        default: return false
        }
    }

    private func perform(_ output: RoomOutput, of room: RoomID, from: Int, _ lane: SimulatedLane) {
        switch output {
        case .frame(let shared):
            if let seqs = shared.keptSeqs { lane.roster.hear(seqs.upperBound, of: room) }
            guard let hub = lane.hubs[room], let frame = SimulatedFrame(shared, of: room) else { return }
            if let seqs = shared.keptSeqs {
                if seqs.lowerBound != hub.shown.place.seq &+ 1, !toleratesHoles {
                    checkers.fail(
                        .contiguousStream, "\(lane.node.name) is shown \(seqs) after \(hub.shown.place.seq)")
                }
                lane.hubs[room]?.shown.show(seqs)
            }
            for viewer in hub.viewers { enqueue(frame, viewer, lane) }
        case .frameFor(let ids, let shared):
            if let seqs = shared.keptSeqs { lane.roster.hear(seqs.upperBound, of: room) }
            guard let frame = SimulatedFrame(shared, of: room) else { return }
            for id in ids {
                guard let socket = lane.sessions[id]?.socket, socket.views.contains(room) else { continue }
                enqueue(frame, socket, lane)
            }
        case .reply(let id, let request, let result, _, _):
            if case .failure(let error) = result, error.code == .notInRoom,
                announceUnknown(id, request, room, by: from, lane)
            {
                return
            }
            guard lane.open.answered(id, request), let session = lane.sessions[id],
                let asked = session.requests.end(request), let socket = session.socket
            else { return }
            reply(socket, asked, result, lane)
        case .retry(let id, let request):
            lane.open.refused(id, request, by: self.id(of: from), at: milliseconds)
        case .following(_, let seq):
            trace("n\(lane.node.number).\(lane.number) goes on with \(room) behind \(seq)")
            lane.roster.goOn(through: seq, of: room)
            let untold = lane.hubs[room]?.shown.takeUntold() ?? []
            if !untold.isEmpty { tellGap(untold, .budget, of: room, lane) }
        case .gap(let seqs):
            lane.roster.hear(seqs.upperBound, of: room)
            guard lane.hubs[room] != nil else { return }
            count("gaps at a change of leaders")
            lane.hubs[room]?.shown.skip(through: seqs.upperBound)
            tellGap([seqs], .slow, of: room, lane)
        case .entered(let id, let request, let result, _): entered(id, room, request, result, lane)
        case .exited(let id, let request):
            let isOpen = request.map { lane.open.answered(id, $0) } ?? false
            guard let session = lane.sessions[id] else { return }
            let socket = session.socket
            forget(room, session, lane)
            guard let request, let asked = session.requests.end(request), isOpen, let socket else { return }
            reply(socket, asked, .success(.exit), lane)
        case .kicked(let id, let reason, let ext):
            guard let session = lane.sessions[id] else { return }
            let isEntering = session.entering.contains(room)
            forget(room, session, lane)
            // It may have been announced after it was put out.
            if lane.awaited.awaits(room), !isEntering { ask([call(session, room, .leave, lane)], lane) }
            var kicked = KickedPush(room: room, reason: reason)
            kicked.ext = ext
            if let socket = session.socket { enqueue(SimulatedFrame(.push(.kicked(kicked))), socket, lane) }
        default: break
        }
    }

    private func tellGap(
        _ ranges: [ClosedRange<UInt64>], _ cause: GapCause, of room: RoomID, _ lane: SimulatedLane
    ) {
        let told = ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
        let push = GapPush(room: room, ranges: told, cause: cause)
        for viewer in lane.hubs[room]?.viewers ?? [] { enqueue(SimulatedFrame(.push(.gap(push))), viewer, lane) }
    }

    private func entered(
        _ id: SessionID, _ room: RoomID, _ request: UInt32?, _ result: Result<EnterResult, ChatError>,
        _ lane: SimulatedLane
    ) {
        let isOpen = request.map { lane.open.answered(id, $0) } ?? true
        guard let session = lane.sessions[id] else {
            guard case .success(let value) = result, let user = value.me.user as UserID? else { return }
            let address = SessionAddress(
                node: self.id(of: lane.node.number), lane: lane.number, session: id, encoding: .json)
            let leave = RoomCall(
                room: room, address: address, caller: Caller(user: user, anonymous: false), request: nil, body: .leave)
            return ask([leave], lane)
        }
        guard isOpen else {
            // It was given up, or answered by another leader.
            if case .success = result, session.stays[room] == nil, !session.entering.contains(room) {
                ask([call(session, room, .leave, lane)], lane)
            }
            return
        }
        let asked = request.flatMap { session.requests.end($0) }
        if asked != nil { session.entering.remove(room) }
        switch result {
        case .failure(let error):
            if let asked, let socket = session.socket { reply(socket, asked, .failure(error), lane) }
        case .success(let value):
            if session.stays[room] == nil { lane.roster.add(session.hash, to: room, of: shard(of: room)) }
            lane.roster.hear(value.seq, of: room)
            if session.stays.updateValue(
                Stay(profile: value.me.profile, enteredAt: value.me.enteredAt ?? Timestamp(0)), forKey: room) == nil
            {
                session.rooms.append(room)
            }
            guard let asked, let socket = session.socket else { return }
            session.losses.forget(room)
            reply(socket, asked, .success(.enter(value)), lane)
            var hub = lane.hubs[room] ?? SimulatedLane.Hub()
            if socket.views.insert(room).inserted { hub.viewers.append(socket) }
            hub.shown.enter(at: StreamPlace(epoch: value.epoch, seq: value.seq))
            lane.hubs[room] = hub
        }
    }

    private func forget(_ room: RoomID, _ session: SimulatedSession, _ lane: SimulatedLane) {
        if session.stays[room] != nil { lane.roster.remove(session.hash, from: room, of: shard(of: room)) }
        session.stays[room] = nil
        session.rooms.removeAll { $0 == room }
        session.entering.remove(room)
        session.losses.forget(room)
        if let socket = session.socket { stopViewing(room, socket, lane) }
    }
}
