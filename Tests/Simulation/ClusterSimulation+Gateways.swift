import ChatModel
import Consensus
import RoomLink
import SessionCore
import Sharding
import Wire

/// What gateways do, as `Gateway.GatewayLane` does it: sessions, open calls, hubs and send queues.
extension ClusterSimulation {
    var milliseconds: UInt64 { UInt64(now / .milliseconds(1)) }
    func shard(of room: RoomID) -> ShardID { ShardID(group(of: room).number) }
    func group(of room: RoomID) -> GroupID { Self.groups.first { GroupState.room(of: $0) == room } ?? .system }
    func id(of node: Int) -> NodeID { SimulatedGossip.id(node) }

    func endTurn(_ node: SimulatedNode) {
        guard node.isUp else { return }
        for group in Self.groups { publish(group, node) }
        var index = 0
        while index < node.lane.dirty.count {
            flush(node.lane.dirty[index], node)
            index += 1
        }
        node.lane.dirty = []
    }

    // MARK: - Clients come and go

    func accept(_ socket: SimulatedSocket) {
        let node = nodes[socket.node]
        guard node.isUp, node.run == socket.run, !socket.isCut else { return closeAtClient(socket, nil) }
        socket.isOpenAtServer = true
        socket.heartbeat = Heartbeat(intervalMilliseconds: Self.heartbeatMilliseconds, nowMilliseconds: milliseconds)
        node.lane.sockets.append(socket)
        toClient(socket, .opened(socket))
    }

    /// The server's end is over: its session begins its grace.
    func detach(_ socket: SimulatedSocket, _ node: SimulatedNode) {
        guard socket.isOpenAtServer else { return }
        socket.isOpenAtServer = false
        node.lane.sockets.removeAll { $0 === socket }
        for room in socket.views { stopViewing(room, socket, node) }
        guard let session = socket.session else { return }
        socket.session = nil
        session.socket = nil
        session.awaySince = milliseconds
        session.entering = []
        session.requests.connectionEnded()
        for room in session.rooms { ask([call(session, room, .away, node)], node) }
    }

    private func close(_ socket: SimulatedSocket, _ code: UInt16, _ node: SimulatedNode) {
        flush(socket, node)
        detach(socket, node)
        closeAtClient(socket, code)
    }

    private func stopViewing(_ room: RoomID, _ socket: SimulatedSocket, _ node: SimulatedNode) {
        socket.views.remove(room)
        node.lane.hubs[room]?.viewers.removeAll { $0 === socket }
        if node.lane.hubs[room]?.viewers.isEmpty == true { node.lane.hubs[room] = nil }
    }

    // MARK: - What clients ask

    func handle(_ request: ClientRequest, _ socket: SimulatedSocket) {
        let node = nodes[socket.node]
        guard socket.isOpenAtServer else { return }
        if case .connect(let connect) = request.operation { return self.connect(connect, request.id, socket, node) }
        guard let session = socket.session else {
            return reply(socket, request.id, .failure(ChatError(.unauthorized, "connect first")), node)
        }
        if case .ping = request.operation {
            return reply(socket, request.id, .success(.ping(PingResult(time: Timestamp(0)))), node)
        }
        guard let room = request.operation.room else { return }
        if case .enter = request.operation {
            session.entering.insert(room)
        } else {
            if case .history = request.operation {
            } else if let wait = session.changes.take(nowMilliseconds: milliseconds) {
                return reply(socket, request.id, .failure(ChatError(.tooOften, "wait", retryAfterMs: wait)), node)
            }
            guard session.stays[room] != nil || session.entering.contains(room) else {
                return reply(socket, request.id, .failure(ChatError(.notInRoom, "not in it")), node)
            }
        }
        let number = session.requests.begin(request.id)
        ask([call(session, room, .operation(request.operation), node, request: number)], node)
    }

    private func connect(_ request: ConnectRequest, _ id: UInt32?, _ socket: SimulatedSocket, _ node: SimulatedNode) {
        guard node.lane.admission.take(nowMilliseconds: milliseconds) == nil else {
            count("turned away")
            enqueue(SimulatedFrame(.push(.reconnect(ReconnectPush(minMs: 50, maxMs: 800)))), socket, node)
            return close(socket, 4429, node)
        }
        guard let user = request.token.flatMap({ UserID($0) }) else { return }
        var held: SimulatedSession?
        if let id = request.session, let session = node.lane.sessions[id], session.user == user {
            if let old = session.socket {
                old.session = nil
                session.socket = nil
                close(old, 4410, node)
                session.requests.connectionEnded()
            }
            session.losses = Losses()
            held = session
        }
        let session = held ?? makeSession(of: user, node)
        session.socket = socket
        session.awaySince = nil
        socket.session = session
        if held != nil {
            count("sessions resumed")
            for room in session.rooms { ask([call(session, room, .moved(from: nil), node)], node) }
        }
        let result = ConnectResult(
            session: session.id, user: user, time: Timestamp(0),
            heartbeatSeconds: Int64(Self.heartbeatMilliseconds / 1_000), gateways: gateways, resumed: held != nil)
        reply(socket, id, .success(.connect(result)), node)
    }

    private func makeSession(of user: UserID, _ node: SimulatedNode) -> SimulatedSession {
        guard let id = SessionID("\(node.name)-\(node.run)-\(node.lane.nextSession)") else {
            preconditionFailure("numbers make an ID")
        }
        node.lane.nextSession += 1
        let session = SimulatedSession(id: id, user: user, nowMilliseconds: milliseconds)
        node.lane.sessions[id] = session
        return session
    }

    private func call(
        _ session: SimulatedSession, _ room: RoomID, _ body: RoomCall.Body, _ node: SimulatedNode,
        request: UInt32? = nil
    ) -> RoomCall {
        RoomCall(
            room: room, address: address(of: session, node), caller: session.caller, request: request,
            number: request == nil ? 0 : session.requests.count, body: body)
    }

    private func address(of session: SimulatedSession, _ node: SimulatedNode) -> SessionAddress {
        SessionAddress(node: id(of: node.number), lane: 0, session: session.id, encoding: .json)
    }

    // MARK: - Leaders

    private func ask(_ calls: [RoomCall], _ node: SimulatedNode) {
        for call in calls {
            switch node.lane.open.add(call, of: shard(of: call.room), at: milliseconds) {
            case .ask(let leader): route([call], to: leader, node)
            case .held: break
            case .refused: giveUp(call, node)
            }
        }
    }

    private func route(_ calls: [RoomCall], to leader: NodeID, _ node: SimulatedNode) {
        guard !calls.isEmpty, let to = nodes.firstIndex(where: { $0.name == leader.text }) else { return }
        sendOverLink(.calls(calls), from: node, to: to)
    }

    func isLed(_ notice: ShardNotice, by leader: Int, at node: SimulatedNode) {
        let group = GroupID(notice.shard.number)
        if node.lane.leaders[group].map({ $0.term <= notice.term }) ?? true {
            node.lane.leaders[group] = SimulatedLane.KnownLeader(node: leader, term: notice.term)
        }
        guard let asked = node.lane.open.leads(id(of: leader), notice.shard, term: notice.term) else { return }
        node.lane.awaited.forget { self.shard(of: $0) == notice.shard }
        route(announcements(group, node) + asked, to: id(of: leader), node)
    }

    /// Of all sessions in the group's room, and behind them what the lane has been shown.
    private func announcements(_ group: GroupID, _ node: SimulatedNode) -> [RoomCall] {
        let room = GroupState.room(of: group)
        let sessions = node.lane.sessions.values.filter { $0.stays[room] != nil }.sorted { $0.id.text < $1.id.text }
        guard let last = sessions.last else { return [] }
        var calls: [RoomCall] = []
        for session in sessions {
            guard var stay = session.stays[room] else { continue }
            stay.isAway = session.socket == nil
            calls.append(call(session, room, .announce(stay), node))
        }
        var place = node.lane.hubs[room]?.place ?? StreamPlace(epoch: "", seq: .max)
        if sabotage == .followsOffByOne, place.seq < .max, place.seq > 0 { place.seq -= 1 }
        count("rooms announced")
        var follow = call(last, room, .follow(place), node)
        follow.number = node.lane.awaited.begin(room, at: milliseconds)
        return calls + [follow]
    }

    func isDoubted(_ group: GroupID, _ leader: Int, _ term: UInt64, at node: SimulatedNode) {
        guard let known = node.lane.leaders[group], known.node == leader, known.term == term else { return }
        node.lane.leaders[group]?.isDoubted = true
        count("doubts")
        node.lane.open.doubts(id(of: leader), ShardID(group.number), term: term, at: milliseconds)
    }

    func isTrusted(_ group: GroupID, _ leader: Int, _ term: UInt64, at node: SimulatedNode) {
        guard let known = node.lane.leaders[group], known.node == leader, known.term == term else { return }
        node.lane.leaders[group]?.isDoubted = false
        let asked = node.lane.open.trusts(id(of: leader), ShardID(group.number), term: term)
        route(asked, to: id(of: leader), node)
    }

    func isLost(_ leader: Int, _ group: GroupID?, at node: SimulatedNode) {
        for (each, known) in node.lane.leaders where known.node == leader && (group == nil || group == each) {
            node.lane.leaders[each] = nil
        }
        node.lane.open.lost(id(of: leader), group.map { ShardID($0.number) }, at: milliseconds)
    }

    private func giveUp(_ call: RoomCall, _ node: SimulatedNode) {
        guard let session = node.lane.sessions[call.address.session], let request = call.request else { return }
        if case .operation(.enter) = call.body { session.entering.remove(call.room) }
        count("calls given up")
        guard let id = session.requests.end(request), let socket = session.socket else { return }
        reply(socket, id, .failure(ChatError(.unavailable, "no leader", retryAfterMs: 200)), node)
    }

    // MARK: - What rooms say

    func perform(_ publication: Publication, from: Int, at node: SimulatedNode) {
        let isCurrent = node.lane.open.isCurrent(publication.term, of: shard(of: publication.room))
        for output in publication.outputs
        where sabotage == .showsUnasked
            || (isCurrent ? node.lane.awaited.takes(output, of: publication.room) : output.isAnswer)
        {
            perform(output, of: publication.room, from: from, node)
        }
    }

    private func perform(_ output: RoomOutput, of room: RoomID, from: Int, _ node: SimulatedNode) {
        switch output {
        case .frame(let shared):
            guard let hub = node.lane.hubs[room], let frame = SimulatedFrame(shared, of: room) else { return }
            if let seqs = shared.keptSeqs {
                if seqs.lowerBound != hub.place.seq &+ 1 {
                    checkers.fail(.contiguousStream, "\(node.name) is shown \(seqs) after \(hub.place.seq)")
                }
                node.lane.hubs[room]?.place.seq = max(hub.place.seq, seqs.upperBound)
            }
            for viewer in hub.viewers { enqueue(frame, viewer, node) }
        case .frameFor(let ids, let shared):
            guard let frame = SimulatedFrame(shared, of: room) else { return }
            for id in ids {
                guard let socket = node.lane.sessions[id]?.socket, socket.views.contains(room) else { continue }
                enqueue(frame, socket, node)
            }
        case .reply(let id, let request, let result, _, _):
            guard node.lane.open.answered(id, request), let session = node.lane.sessions[id],
                let asked = session.requests.end(request), let socket = session.socket
            else { return }
            reply(socket, asked, result, node)
        case .retry(let id, let request):
            node.lane.open.refused(id, request, by: self.id(of: from), at: milliseconds)
        case .gap(let seqs):
            guard let hub = node.lane.hubs[room] else { return }
            count("gaps at a change of leaders")
            node.lane.hubs[room]?.place.seq = seqs.upperBound
            let push = GapPush(
                room: room, ranges: [SeqRange(from: seqs.lowerBound, to: seqs.upperBound)], cause: .slow)
            for viewer in hub.viewers { enqueue(SimulatedFrame(.push(.gap(push))), viewer, node) }
        case .entered(let id, let request, let result, _): entered(id, room, request, result, node)
        case .exited(let id, let request):
            let isOpen = request.map { node.lane.open.answered(id, $0) } ?? false
            guard let session = node.lane.sessions[id] else { return }
            let socket = session.socket
            forget(room, session, node)
            guard let request, let asked = session.requests.end(request), isOpen, let socket else { return }
            reply(socket, asked, .success(.exit), node)
        case .kicked(let id, let reason, let ext):
            guard let session = node.lane.sessions[id] else { return }
            forget(room, session, node)
            var kicked = KickedPush(room: room, reason: reason)
            kicked.ext = ext
            if let socket = session.socket { enqueue(SimulatedFrame(.push(.kicked(kicked))), socket, node) }
        default: break
        }
    }

    private func entered(
        _ id: SessionID, _ room: RoomID, _ request: UInt32?, _ result: Result<EnterResult, ChatError>,
        _ node: SimulatedNode
    ) {
        let isOpen = request.map { node.lane.open.answered(id, $0) } ?? true
        guard let session = node.lane.sessions[id] else {
            guard case .success(let value) = result, let user = value.me.user as UserID? else { return }
            let address = SessionAddress(node: self.id(of: node.number), lane: 0, session: id, encoding: .json)
            let leave = RoomCall(
                room: room, address: address, caller: Caller(user: user, anonymous: false), request: nil, body: .leave)
            return ask([leave], node)
        }
        guard isOpen else {
            // It was given up, or answered by another leader.
            if case .success = result, session.stays[room] == nil { ask([call(session, room, .leave, node)], node) }
            return
        }
        let asked = request.flatMap { session.requests.end($0) }
        if asked != nil { session.entering.remove(room) }
        switch result {
        case .failure(let error):
            if let asked, let socket = session.socket { reply(socket, asked, .failure(error), node) }
        case .success(let value):
            if session.stays.updateValue(
                Stay(profile: value.me.profile, enteredAt: value.me.enteredAt ?? Timestamp(0)), forKey: room) == nil
            {
                session.rooms.append(room)
            }
            guard let asked, let socket = session.socket else { return }
            session.losses.forget(room)
            reply(socket, asked, .success(.enter(value)), node)
            var hub = node.lane.hubs[room] ?? SimulatedLane.Hub()
            if socket.views.insert(room).inserted { hub.viewers.append(socket) }
            hub.place = StreamPlace(epoch: value.epoch, seq: value.seq)
            node.lane.hubs[room] = hub
        }
    }

    private func forget(_ room: RoomID, _ session: SimulatedSession, _ node: SimulatedNode) {
        session.stays[room] = nil
        session.rooms.removeAll { $0 == room }
        session.entering.remove(room)
        session.losses.forget(room)
        if let socket = session.socket { stopViewing(room, socket, node) }
    }

    // MARK: - Out

    private func reply(
        _ socket: SimulatedSocket, _ id: UInt32?, _ result: Result<OperationResult, ChatError>, _ node: SimulatedNode
    ) {
        guard let id else { return }
        enqueue(SimulatedFrame(.reply(id: id, result)), socket, node)
    }

    private func enqueue(_ frame: SimulatedFrame, _ socket: SimulatedSocket, _ node: SimulatedNode) {
        if !socket.isDirty {
            socket.isDirty = true
            node.lane.dirty.append(socket)
        }
        // Whoever has lost something gets nothing of rooms until the loss has been told, in its place.
        if frame.traffic != .reply, let session = socket.session, !session.losses.isEmpty {
            return session.losses.note(frame)
        }
        socket.queue.append(frame)
    }

    func flush(_ socket: SimulatedSocket, _ node: SimulatedNode) {
        socket.isDirty = false
        // What waits for a connection that has ended goes with it.
        guard socket.isOpenAtServer else { return }
        write(socket)
        if socket.queue.byteCount > Self.sendQueueBytesMax, let session = socket.session, sabotage != .neverSheds {
            count("send queues shed")
            socket.queue.shed(to: Self.sendQueueBytesMax, losses: &session.losses)
            if sabotage == .losesSilently { session.losses = Losses() }
        }
        checkers.holds(
            socket.queue.byteCount, atMost: Self.sendQueueBytesMax + Self.repliesBytesMax, "bytes for one client")
        guard socket.isWritingUntil <= now, socket.queue.isEmpty, let session = socket.session,
            !session.losses.isEmpty
        else { return }
        for loss in session.losses.take() where !loss.ranges.isEmpty && session.stays[loss.room] != nil {
            count("gaps told")
            let ranges = loss.ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
            socket.queue.append(SimulatedFrame(.push(.gap(GapPush(room: loss.room, ranges: ranges, cause: .slow)))))
        }
        write(socket)
    }

    /// As far as the system takes it; a slow client's takes one frame at a time.
    private func write(_ socket: SimulatedSocket) {
        while socket.isWritingUntil <= now, let frame = socket.queue.popFirst() {
            let bytesPerSecond = isPeace ? nil : clients[socket.client].bytesPerSecond
            if let bytesPerSecond {
                socket.isWritingUntil = now + .milliseconds(frame.byteCount * 1_000 / bytesPerSecond)
                add(.drained(socket), in: socket.isWritingUntil - now)
            }
            toClient(socket, .items(socket, frame.items))
        }
    }

    // MARK: - Time

    func laneTick(_ node: SimulatedNode) {
        for call in node.lane.open.expire(at: milliseconds) { giveUp(call, node) }
        checkers.holds(node.lane.open.count, atMost: Self.openCallsMax, "open calls at \(node.name)")
        for socket in node.lane.sockets {
            switch socket.heartbeat.tick(nowMilliseconds: milliseconds) {
            case .none: break
            case .ping: toClient(socket, .items(socket, []))
            case .drop: close(socket, 4408, node)
            }
        }
        for session in node.lane.sessions.values.sorted(by: { $0.id.text < $1.id.text }) {
            guard let since = session.awaySince, since + Self.graceMilliseconds <= milliseconds else { continue }
            node.lane.sessions[session.id] = nil
            for room in session.rooms { ask([call(session, room, .leave, node)], node) }
        }
    }

    static let heartbeatMilliseconds: UInt64 = 1_000
    static let graceMilliseconds: UInt64 = 2_000
    private static let sendQueueBytesMax = 700
    /// A socket has few questions open, and answers are not shed.
    private static let repliesBytesMax = 1_000
    private static let openCallsMax = 1_000
}
