import ChatModel
import ClientCore
import Consensus
import LinkCore
import RoomCore
import RoomLink

/// Nodes that stand still for 4 to 30 seconds and go on, and links that are cut, flap or lose in one direction.
extension ClusterSimulation {
    /// Within so long after the end of a fault all is well.
    static let recovery = Duration.seconds(5)
    /// Two looks so far apart both find who is a ghost, and not who is just coming or going.
    private static let doubtful = Duration.milliseconds(500)
    private static let calmMax = Duration.seconds(60)
    /// To be true when `StreamWatch.tick` does not forget shards any more that its lane has nobody in.
    private static let watchesEmptyShards = true

    func makeViewers() {
        for number in 0..<4 { addClient("u\(number)", number % 2, .talker) }
        for node in nodes.indices {
            for viewer in 0..<2 { addClient("v\(node)-\(viewer)", (node + viewer) % 2, .viewer, home: node) }
        }
    }

    private func addClient(_ name: String, _ group: Int, _ kind: SimulatedClient.Kind, home: Int? = nil) {
        guard let user = UserID(name) else { return }
        var client = SimulatedClient(user: user, group: GroupID(UInt16(group)), kind: kind)
        client.home = home
        clients.append(client)
    }

    func runFreezes() {
        startNodes()
        for number in clients.indices { add(.client(number), in: random.milliseconds(1_500...2_500)) }
        add(.freeze(.look), in: .seconds(2))
        while !freezes.isOver, checkers.violations.isEmpty {
            guard step(until: .seconds(1_200)) != nil else {
                return checkers.fail(.liveness, "the run does not end\n" + describe())
            }
        }
        if checkers.violations.isEmpty { checkEnd() }
    }

    func perform(_ step: FreezeStep) {
        switch step {
        case .look: look()
        case .stop(let number, let duration):
            guard nodes[number].stoppedAt == nil else { return }
            count("freezes")
            trace("n\(number) stops")
            nodes[number].stoppedAt = now
            add(.resume(number), in: duration)
        case .flap(let a, let b):
            guard now < freezes.endsAt else { return }
            breakWires(between: a, b)
            add(.freeze(.flap(a, b)), in: random.milliseconds(100...1_500))
        case .forget: forgetSomebody()
        case .ended: ended()
        case .mend: freezes.mayLose = false
        case .halfway:
            for group in Self.groups { freezes.newest[group] = checkers.lastSeq(group) }
            freezes.suspects = ghosts()
        case .judge: judge()
        case .close: close()
        }
    }

    // MARK: - Before

    private func look() {
        let isCalm =
            operations.isEmpty && Self.groups.allSatisfy(isAtRest)
            && clients.allSatisfy { $0.isGone || $0.core?.connectionState(of: $0.room) == .entered }
        guard isCalm else {
            if now - freezes.waitsSince > Self.calmMax {
                checkers.fail(.liveness, "no calm before round \(freezes.round)\n" + describe())
            }
            return add(.freeze(.look), in: .milliseconds(100))
        }
        freezes.old = clients.indices.filter { !clients[$0].isGone }
        // Some go meanwhile, and are to be seen going.
        for number in freezes.new where random.chance(50) { leave(number) }
        freezes.mayLose = true
        freezes.lost = []
        begin()
        add(.freeze(.ended), in: freezes.endsAt - now)
        if losesPresence { add(.freeze(.forget), in: freezes.endsAt - now - random.milliseconds(0...3_000)) }
    }

    /// Something goes wrong that can't: a leader does not know any more who of one lane is in its room, and says nothing.
    private func forgetSomebody() {
        let leaders = nodes.flatMap { node in node.replicas.values.filter { $0.leadership.room != nil } }
        let sorted = leaders.sorted { ($0.group.number, $0.id) < ($1.group.number, $1.id) }
        guard let replica = random.pick(sorted), var room = replica.leadership.room,
            let lane = random.pick(room.presence.lanes)
        else { return }
        count("lanes forgotten")
        trace("\(replica.id.node) forgets lane \(lane) in group \(replica.group.number)")
        for key in room.presence.keys(on: lane.node) where room.presence.visitor(key)?.laneNumber == lane.number {
            _ = room.presence.exit(key, notify: .none, at: Timestamp(replica.state.time))
        }
        replica.leadership.room = room
    }

    private func begin() {
        freezes.endsAt = now + random.milliseconds(5_000...8_000)
        let pairs = nodes.indices.flatMap { a in nodes.indices.filter { a < $0 }.map { (a, $0) } }
        switch random.below(100) {
        case 0..<45: freeze(1)
        case 45..<70: freeze(2)
        case 70..<82:
            // Then all call each other at once.
            count("cuts")
            freezes.fault = "a cut"
            let one = random.below(nodes.count)
            for (a, b) in pairs where random.chance(50) || a == one || b == one {
                blocked.formUnion([[a, b], [b, a]])
            }
        case 82..<91:
            count("flapping links")
            freezes.fault = "a flapping link"
            let (a, b) = pairs[random.below(pairs.count)]
            add(.freeze(.flap(a, b)), in: .zero)
        default:
            count("one-way losses")
            let (a, b) = pairs[random.below(pairs.count)]
            freezes.fault = "loss from n\(a) to n\(b)"
            blocked.insert(random.chance(50) ? [a, b] : [b, a])
        }
    }

    private func freeze(_ count: Int) {
        var left = Array(nodes.indices)
        var names: [String] = []
        for _ in 0..<count {
            let number = left.remove(at: random.below(left.count))
            let start = random.milliseconds(0...2_000)
            let duration =
                random.chance(60) ? random.milliseconds(4_000...12_000) : random.milliseconds(12_000...30_000)
            names.append("n\(number) for \(duration)")
            freezes.endsAt = max(freezes.endsAt, now + start + duration)
            add(.freeze(.stop(number, duration)), in: start)
        }
        freezes.fault = "a freeze of " + names.joined(separator: " and ")
    }

    /// Somebody between the two nodes resets all their connections.
    private func breakWires(between a: Int, _ b: Int) {
        for wire in wires where Set(wire.sides.map(\.node)) == [a, b] {
            for place in wire.sides.indices where wire.sides[place].isOpen { write(.end, to: place, of: wire) }
        }
    }

    /// The app is closed.
    private func leave(_ number: Int) {
        clients[number].isGone = true
        clients[number].core = nil
        freezes.old.removeAll { $0 == number }
        guard let socket = clients[number].socket else { return }
        clients[number].socket = nil
        socket.isOpenAtClient = false
        toServer(socket, .closedByClient(socket))
    }

    // MARK: - After

    private func ended() {
        blocked = []
        add(.freeze(.mend), in: .milliseconds(500))
        freezes.new = []
        for node in nodes.indices {
            freezes.new.append(clients.count)
            addClient("w\(freezes.round)-\(node)", random.below(2), .viewer, home: node)
            add(.client(clients.count - 1), in: random.milliseconds(0...200))
        }
        add(.freeze(.halfway), in: Self.recovery - Self.doubtful)
        add(.freeze(.judge), in: Self.recovery)
    }

    private func judge() {
        let what = "5 s after \(freezes.fault) (round \(freezes.round), at \(now))"
        for number in freezes.old {
            let client = clients[number]
            let newest = freezes.newest[client.group] ?? 0
            if client.core?.connectionState(of: client.room) != .entered || (client.view.seq ?? 0) < newest {
                let state = client.core.map {
                    "\($0.state), \(String(describing: $0.connectionState(of: client.room)))"
                }
                checkers.fail(
                    .nobodyDeaf,
                    "\(client.user) was shown \(client.view.seq.map(String.init) ?? "nothing") of \(newest) \(what): "
                        + "\(state ?? "not started") at \(place(of: client))")
            }
            if !client.view.untold.isEmpty {
                checkers.fail(.nobodyDeaf, "\(client.user) was not told of \(client.view.untold.sorted()) \(what)")
            }
            for (ticket, asked) in client.askedAt.sorted(by: { $0.key < $1.key }) where asked < now - Self.recovery {
                checkers.fail(
                    .nobodyDeaf,
                    "\(client.user) has no answer to \(client.outstanding[ticket] ?? "?") of \(asked) \(what)")
            }
        }
        for number in freezes.new where clients[number].core?.connectionState(of: clients[number].room) != .entered {
            let client = clients[number]
            checkers.fail(
                .everybodyEnters,
                "\(client.user) is not in \(client.room) \(what): "
                    + "\(client.core.map { "\($0.state)" } ?? "not started") at \(place(of: client))")
        }
        for ghost in freezes.suspects.intersection(ghosts()).sorted() {
            checkers.fail(.nobodyGhost, "\(ghost) \(what)")
        }
        if !checkers.violations.isEmpty { return }
        count("faults survived")
        freezes.round += 1
        freezes.waitsSince = now
        guard freezes.round == Freezes.roundsMax else {
            return add(.freeze(.look), in: random.milliseconds(100...2_000))
        }
        freezes.isSilent = true
        add(.freeze(.close), in: .milliseconds(Int64(graceMilliseconds)) + Self.recovery)
    }

    private func place(of client: SimulatedClient) -> String {
        guard let socket = client.socket else { return "no node" }
        return "n\(socket.node) lane \(socket.lane), \(socket.isOpenAtServer ? "open" : "not open") there"
    }

    /// Whom a leader holds for present and the gateway does not have, and the other way round.
    private func ghosts() -> Set<String> {
        var found: Set<String> = []
        for group in Self.groups where group != .system {
            let leader = nodes.first { $0.isUp && notice(of: group, at: $0) != nil }
            guard let room = leader?.replicas[group]?.leadership.room, let leader else { continue }
            for node in nodes where node.isUp {
                let name = id(of: node.number)
                for key in room.presence.keys(on: name) where room.unreachable[key] == nil {
                    guard let visitor = room.presence.visitor(key), visitor.laneNumber < node.loops.count else {
                        continue
                    }
                    let lane = node.loops[visitor.laneNumber].lane
                    // The watch does not look at shards in which its lane has nobody else.
                    if losesLeaves, isWatched, !Self.watchesEmptyShards,
                        lane.roster.rooms(of: ShardID(group.number)).isEmpty
                    {
                        continue
                    }
                    if lane.sessions[key.session]?.stays[GroupState.room(of: group)] == nil {
                        found.insert("\(leader.name) holds \(visitor.user) (\(key.session)) for present at \(name)")
                    }
                }
                for session in node.loops.flatMap({ $0.lane.sessions.values })
                where session.stays[GroupState.room(of: group)] != nil {
                    if room.presence.visitor(PresenceKey(node: name, session: session.id)) == nil {
                        found.insert("\(leader.name) does not know \(session.user) (\(session.id)) at \(name)")
                    }
                }
            }
        }
        return found
    }

    /// Nobody speaks any more, and every grace is over.
    private func close() {
        for group in Self.groups { freezes.newest[group] = checkers.lastSeq(group) }
        freezes.fault = "the end"
        for client in clients where !client.isGone && client.view.seq != checkers.lastSeq(client.group) {
            checkers.fail(.nobodyDeaf, "\(client.user) was not shown everything in the end")
        }
        for ghost in ghosts().sorted() { checkers.fail(.nobodyGhost, "\(ghost) in the end") }
        freezes.isOver = true
    }
}
