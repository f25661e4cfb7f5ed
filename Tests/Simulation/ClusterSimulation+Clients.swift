import ChatModel
import Consensus
import RoomCore

/// Clients, the gateways between them and the rooms, and the leaders' answers.
extension ClusterSimulation {
    func createRoom(_ group: GroupID) {
        guard let creator = UserID("creator") else { return }
        let room = GroupState.room(of: group)
        want(.room(Command(id: nil, room: room, actor: .system, body: .createRoom(creator: creator, set: .init()))))
        for client in clients where client.group == group && client.user.text < "u2" {
            let body = CommandBody.setRole(client.user, .manager, NotifyOptions(notify: false))
            want(.room(Command(id: nil, room: room, actor: .system, body: body)))
        }
    }

    // MARK: - Clients

    func turn(ofClient number: Int) {
        add(.client(number), in: random.milliseconds(150...450))
        if !nodes[clients[number].gateway].isUp || (!isPeace && random.chance(3)) { move(number) }
        watch(number)
        if let (call, sentAt) = clients[number].outstanding {
            guard now - sentAt > .milliseconds(900) else { return }
            // The same command once more, here or elsewhere.
            if random.chance(40) { move(number) }
            ask(call)
        } else if clients[number].number < Self.messagesPerClient {
            let call = command(of: number)
            clients[number].number = call.number
            ask(call)
        }
    }

    private func command(of number: Int) -> Call {
        let client = clients[number]
        let next = client.number + 1
        var body = CommandBody.post(MessageDraft(body: .text("\(client.user) \(next)")))
        let target = clients.first { $0.group == client.group && $0.user != client.user }
        // Managers silence the other one now and then, and let it speak again.
        if client.user.text < "u2", next % 3 == 0, let target {
            body = .setMute(target.user, enable: next % 2 == 1, NotifyOptions())
        }
        var actor = Actor.member(client.user, Profile(), anonymous: false)
        if sabotage == .letsMutedSpeak, case .post = body { actor = .server(UserName(user: client.user, nick: "")) }
        proposals.append(
            .room(
                Command(
                    id: CommandID(scope: client.user.text, text: "\(next)\(client.user)"),
                    room: GroupState.room(of: client.group), actor: actor, body: body)))
        return Call(client: number, number: next, proposal: proposals.count - 1, group: client.group)
    }

    private func ask(_ call: Call) {
        clients[call.client].outstanding = (call, now)
        let gateway = nodes[clients[call.client].gateway]
        guard gateway.isUp, gateway.stoppedAt == nil else { return }
        guard gateway.heldCalls.count < Self.heldCallsMax || sabotage == .holdsForEver else { return }
        if sabotage == .holdsForEver {
            var copy = call
            copy.number += gateway.heldCalls.count * 1_000
            gateway.heldCalls[copy] = now
        }
        gateway.heldCalls[call] = now
        forward(call, gateway)
    }

    private func move(_ number: Int) {
        nodes[clients[number].gateway].viewers[number] = nil
        let running = nodes.filter(\.isUp).map(\.number)
        clients[number].gateway = random.pick(running) ?? clients[number].gateway
    }

    // MARK: - Gateways

    private func forward(_ call: Call, _ gateway: SimulatedNode) {
        let leader = gateway.leaderHints[call.group] ?? random.below(nodes.count)
        send(.call(call), from: gateway.number, to: leader)
    }

    /// A gateway holds a command for 2 seconds at most; the client asks again.
    func forgetOldCalls(_ node: SimulatedNode) {
        guard sabotage != .holdsForEver else { return }
        for (call, since) in node.heldCalls where now - since > .seconds(2) { node.heldCalls[call] = nil }
    }

    func answered(_ call: Call, _ result: CommandResult?, leader: Int?, at node: SimulatedNode) {
        if let leader { node.leaderHints[call.group] = leader }
        guard node.heldCalls[call] != nil else { return }
        guard let result else {
            // Somebody else leads, or nobody yet: the client's repeat will find out.
            // Two nodes that each take the other for the leader must not send it to and fro.
            if let leader, leader != node.number, call.redirects < 3 {
                node.heldCalls[call] = nil
                var again = call
                again.redirects += 1
                node.heldCalls[again] = now
                forward(again, node)
            } else {
                node.leaderHints[call.group] = nil
            }
            return
        }
        node.heldCalls[call] = nil
        guard clients[call.client].gateway == node.number,
            clients[call.client].outstanding?.call.proposal == call.proposal
        else {
            return
        }
        clients[call.client].outstanding = nil
        if case .posted(_, .kept, _, _, _) = result {
            checkers.acked(call.group, clientID: String(call.number) + clients[call.client].user.text)
            count("acks")
        } else {
            count("other answers")
        }
    }

    // MARK: - Leaders

    func take(_ call: Call, from: Int, at node: SimulatedNode) {
        guard let replica = node.replicas[call.group], replica.core.isLeader else {
            send(.reply(call, nil, leader: node.leaderHints[call.group]), from: node.number, to: from)
            return
        }
        if sabotage == .acksBeforeSync {
            send(
                .reply(
                    call, .posted(messageID: "", place: .kept(seq: 0), time: Timestamp(0), priority: .normal),
                    leader: node.number), from: node.number, to: from)
        }
        guard let index = propose(call.proposal, replica, node) else {
            send(.reply(call, nil, leader: nil), from: node.number, to: from)
            return
        }
        replica.pending[index] = (call, replica.core.term, from)
        act(node, call.group) { _ in }
    }

    func reply(_ call: Call, _ result: CommandResult?, from node: SimulatedNode, to: Int) {
        send(.reply(call, result, leader: node.number), from: node.number, to: to)
    }

    // MARK: - Viewers

    private func watch(_ number: Int) {
        let client = clients[number]
        let gateway = nodes[client.gateway]
        guard gateway.isUp, gateway.stoppedAt == nil else { return }
        var viewer = gateway.viewers[number] ?? Viewer(group: client.group)
        if gateway.viewers[number] == nil {
            viewer.position = client.lastSeq
            if sabotage == .resumesOffByOne, let last = client.lastSeq { viewer.position = last + 1 }
        }
        // Who does not answer may not lead any more: the next question goes elsewhere.
        if let askedAt = viewer.askedAt, now - askedAt > .milliseconds(400) {
            viewer.askedAt = nil
            gateway.leaderHints[client.group] = nil
        }
        let isNew = gateway.viewers[number] == nil
        gateway.viewers[number] = viewer
        if isNew || viewer.position == nil || isPeace { repair(number, gateway) }
    }

    private func repair(_ number: Int, _ node: SimulatedNode) {
        guard var viewer = node.viewers[number], viewer.askedAt == nil else { return }
        viewer.askedAt = now
        node.viewers[number] = viewer
        let leader = node.leaderHints[viewer.group] ?? random.below(nodes.count)
        send(.ask(client: number, viewer.group, after: viewer.position), from: node.number, to: leader)
    }

    func publish(_ message: Message, _ group: GroupID, _ node: SimulatedNode) {
        for other in nodes { send(.publish(group, message), from: node.number, to: other.number) }
    }

    func published(_ message: Message, _ group: GroupID, at node: SimulatedNode) {
        guard let seq = message.seq else { return }
        for (number, viewer) in node.viewers.sorted(by: { $0.key < $1.key }) where viewer.group == group {
            guard let position = viewer.position, seq > position else { continue }
            if seq == position + 1 { show(message, number, node) } else { repair(number, node) }
        }
    }

    func tellHistory(_ client: Int, _ group: GroupID, _ after: UInt64?, from: Int, at node: SimulatedNode) {
        guard let replica = node.replicas[group], replica.core.isEstablished else { return }
        let history = replica.state.history
        let position = after.map { min(Int($0), history.count) } ?? history.count
        send(
            .history(client: client, Array(history[position...].prefix(20)), upTo: UInt64(position)),
            from: node.number, to: from)
    }

    func show(_ messages: [Message], upTo: UInt64, toClient number: Int, at node: SimulatedNode) {
        guard node.viewers[number] != nil else { return }
        node.viewers[number]?.askedAt = nil
        if node.viewers[number]?.position == nil { node.viewers[number]?.position = upTo }
        for message in messages {
            guard let position = node.viewers[number]?.position, message.seq == position + 1 else { continue }
            show(message, number, node)
        }
    }

    private func show(_ message: Message, _ number: Int, _ node: SimulatedNode) {
        node.viewers[number]?.position = message.seq
        guard clients[number].gateway == node.number else { return }
        checkers.shows(message, after: clients[number].lastSeq, group: clients[number].group, to: clients[number].user)
        if clients[number].firstSeq == nil { clients[number].firstSeq = message.seq }
        clients[number].lastSeq = message.seq
        count("shown")
    }
}
