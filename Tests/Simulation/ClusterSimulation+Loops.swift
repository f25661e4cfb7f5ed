import ChatModel
import Consensus
import Gossip
import LinkCore
import RoomLink
import Sharding

/// The loops of a node, and what they hand to each other and to the links: as `EventLoop`, `LinkSender` and
/// `ClusterRouter` do it.
extension ClusterSimulation {
    func loop(of group: GroupID, _ node: SimulatedNode) -> Int {
        group == .system ? 0 : Int(group.number) % node.loops.count
    }

    func groups(of loop: Int, _ node: SimulatedNode) -> [GroupID] {
        Self.groups.filter { self.loop(of: $0, node) == loop }
    }

    /// Does it in one of the next turns of that loop, behind what it was given before.
    func execute(_ node: SimulatedNode, on loop: Int, _ body: @escaping (SimulatedNode) -> Void) {
        let at = max(now + .microseconds(random.below(1_000)), node.loops[loop].lastJobAt)
        node.loops[loop].lastJobAt = at
        add(.job(node.number, run: node.run, loop: loop, body), in: at - now)
    }

    /// At once on the loop itself, else as ``execute(_:on:_:)``.
    func onLoop(_ loop: Int, of node: SimulatedNode, _ body: @escaping (SimulatedNode) -> Void) {
        if running == Place(node: node.number, loop: loop) { body(node) } else { execute(node, on: loop, body) }
    }

    func onEachLane(of node: SimulatedNode, _ body: @escaping (SimulatedLane) -> Void) {
        for loop in node.loops.indices { onLoop(loop, of: node) { body($0.loops[loop].lane) } }
    }

    // MARK: - The end of a turn

    func endTurn(_ node: SimulatedNode, _ loop: Int) {
        guard node.isUp, node.stoppedAt == nil else { return }
        let before = running
        running = Place(node: node.number, loop: loop)
        defer { running = before }
        for group in groups(of: loop, node) { publish(group, node) }
        tellTallies(node, loop)
        let lane = node.loops[loop].lane
        var index = 0
        while index < lane.dirty.count {
            flush(lane.dirty[index])
            index += 1
        }
        lane.dirty = []
        handOver(node, loop)
        if loop == 0 { flushLinks(node) }
    }

    private func handOver(_ node: SimulatedNode, _ loop: Int) {
        let outgoing = node.loops[loop].outgoing
        guard !outgoing.isEmpty else { return }
        node.loops[loop].outgoing = []
        execute(node, on: 0) { [self] node in
            var refusedBy: [LinkPeers.ConnectionID] = []
            for one in outgoing where !send(one, from: node) && Self.isStream(one.lane) {
                guard let parcel = one.parcel,
                    parcel.mayGo(reachedBy: node.links.reachedBy[one.node]?.id)
                else { continue }
                refusedBy.append(parcel.connection)
            }
            for id in refusedBy {
                execute(node, on: loop) { [self] node in
                    execute(node, on: 0) { [self] in dropLink(id, "it does not keep up", $0) }
                }
            }
        }
    }

    // MARK: - To other nodes

    /// Whether what comes on the lane has to be without holes.
    private static func isStream(_ lane: LinkLane) -> Bool { lane == .calls || lane == .publications }

    /// Sends a message in order behind those of its lane.
    func send(_ message: NodeMessage, on lane: LinkLane, to other: NodeID, from node: SimulatedNode) {
        guard running?.node == node.number, let loop = running?.loop else {
            return execute(node, on: 0) { [self] in send(message, on: lane, to: other, from: $0) }
        }
        for payload in NodePayload.payloads(of: message) where !send(payload, on: lane, to: other, from: node, loop) {
            drop(other, "it does not keep up", at: node, loop)
            return
        }
    }

    func send(_ payload: [UInt8], on lane: LinkLane, to other: NodeID, from node: SimulatedNode, _ loop: Int) -> Bool {
        let one = SimulatedLoop.Outgoing(
            payload: payload, lane: lane, node: other,
            parcel: node.loops[loop].known.parcel(payload, on: lane, to: other),
            ends: node.loops[loop].knownEnds[other] ?? 0)
        guard one.parcel != nil || sabotage == .announcesAtFormerEnd else { return false }
        if loop == 0 { return send(one, from: node) }
        node.loops[loop].outgoing.append(one)
        return true
    }

    /// On the links' loop: what is meant for the connection that there is.
    private func send(_ one: SimulatedLoop.Outgoing, from node: SimulatedNode) -> Bool {
        if sabotage == .announcesAtFormerEnd {
            guard one.ends == node.links.ends[one.node] ?? 0 else {
                count("frames of before an end")
                return true
            }
            return offer(one.payload, on: one.lane, to: one.node, from: node)
        }
        guard let parcel = one.parcel, parcel.mayGo(reachedBy: node.links.reachedBy[one.node]?.id) else {
            count("frames of before an end")
            return false
        }
        return offer(one.payload, on: one.lane, to: one.node, from: node)
    }

    /// The connection that this loop knows of is of no use.
    func drop(_ other: NodeID, _ reason: String, at node: SimulatedNode, _ loop: Int) {
        guard let connection = node.loops[loop].known[other] else { return }
        execute(node, on: 0) { [self] in dropLink(connection, reason, $0) }
    }

    /// Whom this node leads is told to all that are reached.
    func tellAll(_ notice: ShardNotice, from node: SimulatedNode) {
        onLoop(0, of: node) { [self] node in
            for other in node.links.reachedBy.keys.sorted() {
                for payload in NodePayload.payloads(of: .leads([notice])) {
                    _ = offer(payload, on: .publications, to: other, from: node)
                }
            }
        }
    }

    // MARK: - Links come and go

    /// The loops hear of it before anything else that follows, in the order of what happens.
    private func note(_ other: NodeID, _ node: SimulatedNode) {
        let connection = node.links.reachedBy[other]?.id
        let ends = node.links.ends[other] ?? 0
        for loop in node.loops.indices {
            onLoop(loop, of: node) { $0.loops[loop].known.note(other, reachedBy: connection) }
            // As it once was: in a later turn, behind what this one says.
            guard sabotage == .announcesAtFormerEnd else { continue }
            execute(node, on: loop) { $0.loops[loop].knownEnds[other] = ends }
        }
    }

    func isUp(_ other: NodeID, version: UInt32, store: UInt64, at node: SimulatedNode) {
        node.links.stores[other] = store
        note(other, node)
        node.links.readers[other] = [:]
        for loop in node.loops.indices {
            onLoop(loop, of: node) { [self] node in
                node.loops[loop].lostNodes.remove(other)
                guard sabotage != .believesOldDisks else { return }
                for group in groups(of: loop, node) { act(node, group) { $0.peerRestarted(other.text) } }
            }
        }
        gatherNotices([], from: 0, for: other, node)
    }

    /// What a node leads is asked of each loop, one after the other, and then said.
    private func gatherNotices(_ notices: [ShardNotice], from loop: Int, for other: NodeID, _ node: SimulatedNode) {
        execute(node, on: loop % node.loops.count) { [self] node in
            guard loop < node.loops.count else {
                if !notices.isEmpty { send(.leads(notices), on: .publications, to: other, from: node) }
                return
            }
            let all = notices + groups(of: loop, node).compactMap { notice(of: $0, at: node) }
            gatherNotices(all, from: loop + 1, for: other, node)
        }
    }

    func isDown(_ other: NodeID, at node: SimulatedNode) {
        node.links.stores[other] = nil
        note(other, node)
        node.links.readers[other] = nil
        node.awaitedBodies.lost(other)
        guard let number = number(ofNode: other) else { return }
        node.leaders = node.leaders.filter { $0.value.node != number }
        onEachLane(of: node) { [self] in isLost(number, nil, at: $0) }
        for loop in node.loops.indices {
            onLoop(loop, of: node) { [self] node in
                node.loops[loop].lostNodes.insert(other)
                for group in groups(of: loop, node) {
                    act(node, group) { $0.leaderMayBeGone(other.text) }
                    lose(other, group, at: node)
                }
            }
        }
        gossip(node) { $0.mayBeGone(other, now: $1) }
    }

    // MARK: - What others send

    func take(_ frame: LinkFrame, from other: NodeID, at node: SimulatedNode) throws(LinkError) {
        if frame.lane == .consensus {
            guard let store = node.links.stores[other] else { return }
            for message in try ConsensusFrames.messages(in: frame.payload, from: other, store: store) {
                onLoop(loop(of: message.group, node), of: node) { [self] node in
                    act(node, message.group) { $0.step(message) }
                }
            }
            return
        }
        do throws(NodeMessageError) {
            var reader = node.links.readers[other]?[frame.lane] ?? NodePayloadReader()
            let message = try reader.read(frame.payload)
            node.links.readers[other]?[frame.lane] = reader
            guard let message else { return }
            if frame.lane == .publications {
                takePublication(message, bytes: frame.payload.count, from: other, at: node)
            } else {
                hear(message, from: other, at: node)
            }
        } catch {
            throw LinkError(.malformed, error.message)
        }
    }

    /// As `ClusterInbox` takes it up.
    func hear(_ message: NodeMessage, from other: NodeID, at node: SimulatedNode) {
        guard let from = number(ofNode: other) else { return }
        switch message {
        case .calls(let calls): receive(calls, at: node)
        case .publications(let publications): deliver(publications, from: from, at: node)
        case .leads(let notices): for notice in notices { isLed(notice, by: from, at: node) }
        case .pulses(let pulses):
            for pulse in pulses { leadsStill(pulse, from, node) }
            onEachLane(of: node) { [self] in hear(pulses, from: from, at: $0) }
        case .tallyRequest(let request): receive(request, from: other, at: node)
        case .tallies(let tallies):
            guard tallies.lane < node.loops.count else { return }
            onLoop(tallies.lane, of: node) { [self] in hear(tallies, from: from, at: $0.loops[tallies.lane].lane) }
        case .recount(let recount): receive(recount, from: other, at: node)
        case .bodyRequest(let request): answer(request, of: other, at: node)
        // Nobody has rates here.
        case .question, .answer, .body, .bodiesGone, .uses: break
        }
    }

    /// Calls of sessions, in order, for rooms that this node is believed to lead.
    func receive(_ calls: [RoomCall], at node: SimulatedNode) {
        for loop in node.loops.indices {
            let part = calls.filter { self.loop(of: group(of: $0.room), node) == loop }
            if part.isEmpty { continue }
            onLoop(loop, of: node) { [self] node in for call in part { receive(call, at: node) } }
        }
    }

    /// What rooms that a node leads tell this one's lanes.
    func deliver(_ publications: [NodePublication], from: Int, at node: SimulatedNode) {
        for (lane, parts) in NodePublication.byLane(publications) where lane < node.loops.count {
            onLoop(lane, of: node) { [self] node in
                for part in parts { perform(part, from: from, at: node.loops[lane].lane) }
            }
        }
    }
}
