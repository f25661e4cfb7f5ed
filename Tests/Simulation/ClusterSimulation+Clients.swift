import ChatModel
import ClientCore
import Consensus
import RoomCore
import SessionCore
import Wire

/// People with their apps, and the network between them and the gateways.
extension ClusterSimulation {
    var gateways: [String] { nodes.map(\.name) }

    func createRoom(_ group: GroupID) {
        guard let creator = UserID("creator") else { return }
        let room = GroupState.room(of: group)
        want(.room(Command(id: nil, room: room, actor: .system, body: .createRoom(creator: creator, set: .init()))))
        for client in clients where client.group == group && isManager(client) {
            let body = CommandBody.setRole(client.user, .manager, NotifyOptions(notify: false))
            want(.room(Command(id: nil, room: room, actor: .system, body: body)))
        }
    }

    func makeClients() {
        func add(_ name: String, _ group: Int, _ kind: SimulatedClient.Kind) {
            guard let user = UserID(name) else { return }
            clients.append(SimulatedClient(user: user, group: GroupID(UInt16(group)), kind: kind))
        }
        for number in 0..<4 { add("u\(number)", number % 2, .talker) }
        add("w0", 0, .slowWatcher)
        for number in 0..<crowdCount { add("c\(number)", 1, .crowd) }
    }

    private func isManager(_ client: SimulatedClient) -> Bool { client.kind == .talker && client.user.text < "u2" }

    // MARK: - What people do

    func turn(ofClient number: Int) {
        let client = clients[number]
        guard !client.isGone else { return }
        add(.client(number), in: pause(of: client))
        guard let core = client.core, core.state != .closed, !core.state.hasFailed else { return startApp(number) }
        guard core.connectionState(of: client.room) != nil else {
            guard !client.isEntering else { return }
            clients[number].isEntering = true
            return tell(number, .enter(ticket: takeTicket(number), client.room, EnterOptions()))
        }
        guard client.kind == .talker, core.connectionState(of: client.room) == .entered,
            client.outstanding.count < 2,
            plan == .freezes ? !freezes.isSilent : client.number < Self.messagesPerClient
        else { return }
        speak(number)
    }

    private func pause(of client: SimulatedClient) -> Duration {
        switch client.kind {
        case .crowd: .milliseconds(1_000)
        case .viewer: random.milliseconds(200...400)
        case .talker, .slowWatcher: plan == .freezes ? random.milliseconds(400...1_200) : random.milliseconds(150...450)
        }
    }

    private func startApp(_ number: Int) {
        var settings = ClientSettings()
        settings.retryCount = -1
        settings.reconnectMinMilliseconds = 50
        settings.reconnectMaxMilliseconds = 800
        settings.connectMilliseconds = 1_000
        settings.readMilliseconds = clients[number].kind == .viewer ? 60_000 : 4_000
        settings.gapWaitMilliseconds = 300
        settings.heldPushesMax = 8
        // Everybody begins elsewhere.
        let all = clients[number].home.map { [nodes[$0].name] } ?? gateways
        let first = random.below(all.count)
        let addresses = all.indices.map { all[(first + $0) % all.count] }
        clients[number].core = ClientCore(
            settings: settings, addresses: addresses, asksForAddresses: false, seed: random.next())
        clients[number].isEntering = false
        tell(number, .start(ticket: takeTicket(number)))
    }

    func takeTicket(_ number: Int) -> UInt64 {
        defer { clients[number].nextTicket += 1 }
        return clients[number].nextTicket
    }

    private func speak(_ number: Int) {
        clients[number].number += 1
        let client = clients[number]
        let id = "\(client.number)\(client.user)"
        var operation = ClientOperation.send(
            SendRequest(
                room: client.room, clientID: id, draft: MessageDraft(body: .text("\(client.user) \(client.number)"))))
        let target = clients.first { $0.kind == .talker && $0.group == client.group && $0.user != client.user }
        // Managers silence the other one now and then or put it out, and undo that.
        if plan != .freezes, isManager(client), client.number % 3 == 0, let target {
            let turn = client.number / 3
            if turn % 4 < 2 {
                operation = .setMute(
                    UserFlagRequest(room: client.room, user: target.user, enable: turn % 2 == 1, clientID: id))
            } else {
                operation = .setBlacklist(
                    BlacklistRequest(room: client.room, user: target.user, enable: turn % 2 == 0, clientID: id))
            }
        }
        let ticket = takeTicket(number)
        clients[number].outstanding[ticket] = id
        clients[number].askedAt[ticket] = now
        tell(number, .perform(ticket: ticket, operation))
    }

    // MARK: - The client's core

    func tell(_ number: Int, _ input: ClientInput) {
        guard var core = clients[number].core else { return }
        clients[number].core = nil
        let instant = ClientInstant(milliseconds: Int64(milliseconds))
        let effects = core.handle(input, at: instant)
        let due = core.nextDeadline?.milliseconds
        clients[number].core = core
        for effect in effects { perform(effect, number) }
        guard let due, clients[number].dueAt.map({ due < $0 }) ?? true else { return }
        clients[number].dueAt = due
        add(.clientDue(number, at: due), in: max(.zero, .milliseconds(due) - now))
    }

    func clientDue(_ number: Int, at due: Int64) {
        guard clients[number].dueAt == due else { return }
        clients[number].dueAt = nil
        tell(number, .deadline)
    }

    private func perform(_ effect: ClientEffect, _ number: Int) {
        switch effect {
        case .fetchToken(let attempt):
            add(.clientInput(number, .token(attempt: attempt, clients[number].user.text)), in: .milliseconds(1))
        case .open(let connection, let url): open(connection, url, number)
        case .write(let connection, let request):
            guard let socket = clients[number].socket, socket.clientNumber == connection else { return }
            toServer(socket, .request(socket, request))
        case .close(let connection, _):
            guard let socket = clients[number].socket, socket.clientNumber == connection else { return }
            clients[number].socket = nil
            socket.isOpenAtClient = false
            toServer(socket, .closedByClient(socket))
        case .complete(let ticket, let result): completed(ticket, result, number)
        case .roomEvent(_, let event): note(event, number)
        case .stayEnded: clients[number].isEntering = false
        case .findAddresses, .renewToken, .clientEvent, .log: break
        }
    }

    private func completed(_ ticket: UInt64, _ result: Result<ClientAnswer, ClientError>, _ number: Int) {
        clients[number].askedAt[ticket] = nil
        guard let id = clients[number].outstanding.removeValue(forKey: ticket) else {
            if case .success(.entered) = result { count("enters") }
            clients[number].isEntering = false
            return
        }
        if case .success(.result(.send(let sent))) = result {
            checkers.acked(clients[number].group, clientID: id, seq: sent.place)
            count("acks")
        } else {
            count("other answers")
        }
    }

    private func note(_ event: RoomEvent, _ number: Int) {
        let client = clients[number]
        if case .gap = event { count("gaps of clients") }
        if case .filled = event { count("gaps filled") }
        if case .entered(let entry) = event, entry.recovery == .complete { count("rooms resumed") }
        let (fault, shown) = clients[number].view.take(event, toleratesHoles: toleratesHoles)
        if let fault { checkers.fail(.contiguousStream, "\(client.user)'s app: \(fault)") }
        for message in shown {
            checkers.shows(message, group: client.group, to: client.user)
            count("shown")
        }
    }

    // MARK: - The network

    private func open(_ connection: UInt64, _ url: String, _ number: Int) {
        guard let node = nodes.first(where: { $0.name == url }) else { return }
        nextSocket += 1
        let socket = SimulatedSocket(
            number: nextSocket, client: number, clientNumber: connection, node: node.number,
            lane: number % node.loopCount, run: node.run)
        clients[number].socket = socket
        if node.isUp {
            toServer(socket, .accepted(socket))
        } else {
            closeAtClient(socket, nil)
        }
    }

    func toServer(_ socket: SimulatedSocket, _ event: Event) {
        socket.lastToServer = max(socket.lastToServer, now + random.milliseconds(1...8))
        add(event, in: socket.lastToServer - now)
    }

    func toClient(_ socket: SimulatedSocket, _ event: Event) {
        socket.lastToClient = max(socket.lastToClient, max(now, socket.isWritingUntil) + random.milliseconds(1...8))
        add(event, in: socket.lastToClient - now)
    }

    func closeAtClient(_ socket: SimulatedSocket, _ code: UInt16?) { toClient(socket, .closedByServer(socket, code)) }

    func arrivedAtServer(_ request: ClientRequest?, _ socket: SimulatedSocket) {
        guard !socket.isCut else { return }
        let node = nodes[socket.node]
        guard node.isUp, node.run == socket.run, socket.isOpenAtServer else {
            // The system answers for a process that is gone.
            return closeAtClient(socket, nil)
        }
        socket.heartbeat.heard(nowMilliseconds: milliseconds)
        if let request { handle(request, socket) }
    }

    func arrivedAtClient(_ items: [ServerItem], _ socket: SimulatedSocket) {
        guard !socket.isCut, clients[socket.client].socket === socket else { return }
        tell(socket.client, .heard(connection: socket.clientNumber))
        // A ping of the WebSocket, which is answered at once.
        if items.isEmpty { return toServer(socket, .request(socket, nil)) }
        for item in items {
            check(item, socket)
            tell(socket.client, .received(connection: socket.clientNumber, item))
        }
    }

    /// Behind the answer to an enter everything comes once, in order, or is named by a gap.
    private func check(_ item: ServerItem, _ socket: SimulatedSocket) {
        let client = clients[socket.client]
        switch item {
        case .reply(_, .success(.enter(let result))): socket.shown[client.room] = result.seq
        case .push(.message(let message)):
            guard let seq = message.seq, let room = message.room else { return }
            guard let last = socket.shown[room], seq == last + 1 || (toleratesHoles && seq > last) else {
                let last = socket.shown[room].map(String.init) ?? "nothing"
                return checkers.fail(.contiguousStream, "\(client.user) is sent \(seq) after \(last)")
            }
            checkers.sends(seq, group: client.group, to: client.user)
            socket.shown[room] = seq
        case .push(.gap(let gap)):
            for range in gap.ranges {
                guard let last = socket.shown[gap.room], range.from <= last + 1 else {
                    return checkers.fail(.contiguousStream, "\(client.user) is told of a gap from \(range.from)")
                }
                socket.shown[gap.room] = max(last, range.to)
            }
        case .push(.kicked(let kicked)):
            count("kicks")
            socket.shown[kicked.room] = nil
        default: break
        }
    }

    func closedAtClient(_ socket: SimulatedSocket, _ code: UInt16?) {
        guard !socket.isCut, clients[socket.client].socket === socket else { return }
        clients[socket.client].socket = nil
        tell(socket.client, .closed(connection: socket.clientNumber, code: code, reason: ""))
    }

    func closedAtServer(_ socket: SimulatedSocket) {
        let node = nodes[socket.node]
        guard !socket.isCut, node.isUp, node.run == socket.run else { return }
        detach(socket, lane(of: socket))
    }

    // MARK: - Faults of clients' networks

    func clientFault() {
        guard !isPeace else { return }
        add(.clientFault, in: random.milliseconds(200...900))
        let open = clients.compactMap(\.socket)
        if random.chance(10) {
            // Everybody at once.
            count("storms of clients")
            for socket in open { cut(socket) }
        } else if let socket = random.pick(open) {
            cut(socket)
        }
    }

    private func cut(_ socket: SimulatedSocket) {
        count("connections of clients cut")
        if random.chance(30) {
            // Nobody is told.
            socket.isCut = true
        } else {
            closeAtClient(socket, nil)
            toServer(socket, .closedByClient(socket))
        }
    }
}

extension ClientState {
    fileprivate var hasFailed: Bool { if case .failed = self { true } else { false } }
}
