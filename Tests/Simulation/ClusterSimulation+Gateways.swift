import ChatModel
import Consensus
import RoomLink
import SessionCore
import Sharding
import Wire

/// What gateways do with clients, as `Gateway.GatewayLane` does it.
extension ClusterSimulation {
    var milliseconds: UInt64 { UInt64(now / .milliseconds(1)) }
    func shard(of room: RoomID) -> ShardID { ShardID(group(of: room).number) }
    func group(of room: RoomID) -> GroupID { Self.groups.first { GroupState.room(of: $0) == room } ?? .system }
    func id(of node: Int) -> NodeID { SimulatedGossip.id(node) }

    func lane(of socket: SimulatedSocket) -> SimulatedLane { nodes[socket.node].loops[socket.lane].lane }

    // MARK: - Clients come and go

    func accept(_ socket: SimulatedSocket) {
        let (node, lane) = (nodes[socket.node], lane(of: socket))
        guard node.isUp, node.run == socket.run, !socket.isCut else { return closeAtClient(socket, nil) }
        socket.isOpenAtServer = true
        socket.heartbeat = Heartbeat(intervalMilliseconds: Self.heartbeatMilliseconds, nowMilliseconds: milliseconds)
        lane.sockets.append(socket)
        toClient(socket, .opened(socket))
    }

    /// The server's end is over: its session begins its grace.
    func detach(_ socket: SimulatedSocket, _ lane: SimulatedLane) {
        guard socket.isOpenAtServer else { return }
        socket.isOpenAtServer = false
        lane.sockets.removeAll { $0 === socket }
        for room in socket.views { stopViewing(room, socket, lane) }
        guard let session = socket.session else { return }
        socket.session = nil
        session.socket = nil
        session.awaySince = milliseconds
        session.entering = []
        session.requests.connectionEnded()
        for room in session.rooms { ask([call(session, room, .away, lane)], lane) }
    }

    func close(_ socket: SimulatedSocket, _ code: UInt16, _ lane: SimulatedLane) {
        flush(socket)
        detach(socket, lane)
        closeAtClient(socket, code)
    }

    func stopViewing(_ room: RoomID, _ socket: SimulatedSocket, _ lane: SimulatedLane) {
        socket.views.remove(room)
        lane.hubs[room]?.viewers.removeAll { $0 === socket }
        if lane.hubs[room]?.viewers.isEmpty == true { lane.hubs[room] = nil }
    }

    // MARK: - What clients ask

    func handle(_ request: ClientRequest, _ socket: SimulatedSocket) {
        let lane = lane(of: socket)
        guard socket.isOpenAtServer else { return }
        if case .connect(let connect) = request.operation { return self.connect(connect, request.id, socket, lane) }
        guard let session = socket.session else {
            return reply(socket, request.id, .failure(ChatError(.unauthorized, "connect first")), lane)
        }
        if case .ping = request.operation {
            return reply(socket, request.id, .success(.ping(PingResult(time: Timestamp(0)))), lane)
        }
        guard let room = request.operation.room else { return }
        if case .enter = request.operation {
            session.entering.insert(room)
        } else {
            if case .history = request.operation {
            } else if let wait = session.changes.take(nowMilliseconds: milliseconds) {
                return reply(socket, request.id, .failure(ChatError(.tooOften, "wait", retryAfterMs: wait)), lane)
            }
            guard session.stays[room] != nil || session.entering.contains(room) else {
                return reply(socket, request.id, .failure(ChatError(.notInRoom, "not in it")), lane)
            }
        }
        let number = session.requests.begin(request.id)
        ask([call(session, room, .operation(request.operation), lane, request: number)], lane)
    }

    private func connect(_ request: ConnectRequest, _ id: UInt32?, _ socket: SimulatedSocket, _ lane: SimulatedLane) {
        guard lane.admission.take(nowMilliseconds: milliseconds) == nil else {
            count("turned away")
            enqueue(SimulatedFrame(.push(.reconnect(ReconnectPush(minMs: 50, maxMs: 800)))), socket, lane)
            return close(socket, 4429, lane)
        }
        guard let user = request.token.flatMap({ UserID($0) }) else { return }
        var held: SimulatedSession?
        if let id = request.session, let session = lane.sessions[id], session.user == user {
            if let old = session.socket {
                old.session = nil
                session.socket = nil
                close(old, 4410, lane)
                session.requests.connectionEnded()
            }
            session.losses = Losses()
            held = session
        }
        let session = held ?? makeSession(of: user, lane)
        session.socket = socket
        session.awaySince = nil
        socket.session = session
        if held != nil {
            count("sessions resumed")
            for room in session.rooms { ask([call(session, room, .moved(from: nil), lane)], lane) }
        }
        let result = ConnectResult(
            session: session.id, user: user, time: Timestamp(0),
            heartbeatSeconds: Int64(Self.heartbeatMilliseconds / 1_000), gateways: gateways, resumed: held != nil)
        reply(socket, id, .success(.connect(result)), lane)
    }

    private func makeSession(of user: UserID, _ lane: SimulatedLane) -> SimulatedSession {
        guard let id = SessionID("\(lane.node.name)-\(lane.node.run)-\(lane.number)-\(lane.nextSession)") else {
            preconditionFailure("numbers make an ID")
        }
        lane.nextSession += 1
        let session = SimulatedSession(id: id, user: user, nowMilliseconds: milliseconds)
        lane.sessions[id] = session
        return session
    }

    func call(
        _ session: SimulatedSession, _ room: RoomID, _ body: RoomCall.Body, _ lane: SimulatedLane,
        request: UInt32? = nil
    ) -> RoomCall {
        RoomCall(
            room: room, address: address(of: session, lane), caller: session.caller, request: request,
            number: request == nil ? 0 : session.requests.count, body: body)
    }

    func address(of session: SimulatedSession, _ lane: SimulatedLane) -> SessionAddress {
        SessionAddress(node: id(of: lane.node.number), lane: lane.number, session: session.id, encoding: .json)
    }
}
