import ChatModel
import Consensus
import RoomCore
import RoomLink
import RoomStream
import Sharding
import Wire

/// What the host of a shard and its rooms do, as `Rooms.ShardHost` and `Rooms.RoomActor` do it.
extension ClusterSimulation {
    private var policy: RoomPolicy {
        var policy = RoomPolicy()
        policy.graceSeconds = Int64(graceMilliseconds / 1_000)
        return policy
    }

    /// By the clock of that node.
    func clock(_ node: SimulatedNode) -> Timestamp {
        Timestamp(Int64(now / .milliseconds(1)) + node.clockOffsetMilliseconds)
    }

    // MARK: - Leadership

    func notice(of group: GroupID, at node: SimulatedNode) -> ShardNotice? {
        guard group != .system, let term = node.replicas[group]?.leadership.term else { return nil }
        return ShardNotice(shard: ShardID(group.number), term: term)
    }

    /// The core says who leads.
    func leadershipChanged(_ node: SimulatedNode, _ replica: Replica) {
        guard replica.group != .system else { return }
        tellWhoIsHeard(node, replica)
        let core = replica.core
        guard replica.leadership.term != core.term || !core.isEstablished else { return }
        replica.leadership.formerIndex = nil
        let pending = replica.leadership.pending.sorted { $0.key < $1.key }
        replica.leadership.pending = [:]
        // In doubt: a repeat with the same command ID is answered by what the log then says.
        for (_, waiting) in pending { retry(waiting.call, node, term: core.term) }
        let waiting = replica.leadership.confirming + replica.leadership.unconfirmed + replica.leadership.early
        replica.leadership.confirming = []
        replica.leadership.unconfirmed = []
        replica.leadership.early = []
        for call in waiting { refuse(call, node, term: core.term) }
        guard replica.leadership.term != nil else { return }
        publish(replica.group, node)
        replica.leadership.term = nil
        replica.leadership.room = nil
        leadsNoMore(replica.group, node)
    }

    private func tellWhoIsHeard(_ node: SimulatedNode, _ replica: Replica) {
        let core = replica.core
        if let leader = core.leader.flatMap(number), !core.isLeader {
            let former = replica.leadership.followed
            replica.leadership.followed = (leader, core.term, false)
            if former?.isDoubted == true, former?.leader == leader, former?.term == core.term {
                isTrusted(replica.group, leader, core.term, at: node)
            }
        } else if core.isLeader {
            replica.leadership.followed = nil
        } else if let followed = replica.leadership.followed, !followed.isDoubted,
            core.membership.voters.contains(replica.id)
        {
            replica.leadership.followed?.isDoubted = true
            isDoubted(replica.group, followed.leader, followed.term, at: node)
        }
    }

    /// After entries were applied: everything of former leaders may be among them.
    func beginLeading(_ node: SimulatedNode, _ replica: Replica) {
        let core = replica.core
        guard replica.group != .system, core.isEstablished, isUpToDate(replica) else { return }
        if replica.leadership.term != core.term {
            count("leaderships of rooms")
            trace("n\(node.number) leads group \(replica.group.number) in term \(core.term)")
            replica.leadership.term = core.term
            replica.leadership.room = SimulatedRoom(policy: policy, history: replica.state.history)
            let notice = ShardNotice(shard: ShardID(replica.group.number), term: core.term)
            // Asked before anybody was told that this leader knows who is here: it does not, and would say that they are
            // not. Their gateways ask again, behind their announcements.
            let early = replica.leadership.early
            replica.leadership.early = early.filter(\.isPresence)
            for call in early where !call.isPresence { refuse(call, node, term: core.term) }
            isLed(notice, by: node.number, at: node)
            tellAll(notice, from: node)
        }
        let early = replica.leadership.early
        replica.leadership.early = []
        for call in early { receive(call, at: node) }
    }

    private func isUpToDate(_ replica: Replica) -> Bool {
        let former = replica.leadership.formerIndex ?? replica.core.commitIndex
        if replica.core.isEstablished { replica.leadership.formerIndex = former }
        return replica.state.applied >= former
    }

    // MARK: - Calls

    func receive(_ call: RoomCall, at node: SimulatedNode) {
        let group = group(of: call.room)
        guard let replica = node.replicas[group], replica.core.isEstablished else {
            return refuse(call, node, term: node.replicas[group]?.core.term ?? 0)
        }
        if mayAnswer(call, replica) { return take(call, replica, node) }
        replica.leadership.unconfirmed.append(call)
        confirmNext(replica)
        act(node, group) { _ in }
    }

    private func refuse(_ call: RoomCall, _ node: SimulatedNode, term: UInt64) {
        guard case .operation = call.body, call.request != nil else { return }
        retry(call, node, term: term)
    }

    private func retry(_ call: RoomCall, _ node: SimulatedNode, term: UInt64) {
        guard let request = call.request else { return }
        let publication = NodePublication(
            room: call.room, term: term, lanes: [],
            outputs: [.lane(call.address.lane, .retry(call.address.session, request: request))])
        deliver([(call.address.node, publication)], from: node)
    }

    /// What only tells needs the word of a majority that nobody else leads meanwhile.
    private func mayAnswer(_ call: RoomCall, _ replica: Replica) -> Bool {
        if sabotage == .answersUnconfirmed { return true }
        if replica.leadership.unconfirmed.contains(where: { $0.address.session == call.address.session })
            || replica.leadership.confirming.contains(where: { $0.address.session == call.address.session })
        {
            return false
        }
        guard case .operation(let operation) = call.body else { return true }
        return switch operation {
        case .enter, .history: false
        default: true
        }
    }

    private func confirmNext(_ replica: Replica) {
        guard replica.leadership.confirming.isEmpty, !replica.leadership.unconfirmed.isEmpty else { return }
        replica.leadership.nextToken += 1
        guard (try? replica.core.readIndex(replica.leadership.nextToken)) != nil else { return }
        replica.leadership.confirming = replica.leadership.unconfirmed
        replica.leadership.unconfirmed = []
    }

    /// A majority has confirmed, and what it has committed is applied.
    func confirmed(_ token: UInt64, _ node: SimulatedNode, _ replica: Replica) {
        guard token == replica.leadership.nextToken else { return }
        let calls = replica.leadership.confirming
        replica.leadership.confirming = []
        for call in calls { take(call, replica, node) }
        confirmNext(replica)
    }

    private func take(_ call: RoomCall, _ replica: Replica, _ node: SimulatedNode) {
        guard isUpToDate(replica), var room = replica.leadership.room else {
            return replica.leadership.early.append(call)
        }
        replica.leadership.room = nil
        let proposal = handle(call, &room, replica, node)
        replica.leadership.room = room
        guard let proposal else { return }
        proposals.append(.room(proposal))
        guard let index = propose(proposals.count - 1, replica, node) else {
            return retry(call, node, term: replica.core.term)
        }
        replica.leadership.pending[index] = (call, replica.core.term, proposals.count - 1)
        act(node, replica.group) { _ in }
    }

    /// - Returns: what is to go through the log.
    private func handle(
        _ call: RoomCall, _ room: inout SimulatedRoom, _ replica: Replica, _ node: SimulatedNode
    ) -> Command? {
        let key = PresenceKey(node: call.address.node, session: call.address.session)
        let lane = Lane(node: call.address.node, number: call.address.lane)
        if room.arrivals.contains(where: { $0.address.session == key.session }) {
            settleArrivals(&room, replica, node)
        }
        switch call.body {
        case .leave: perform(room.presence.exit(key, notify: notify(replica), at: clock(node)), &room, replica, node)
        case .moved:
            room.presence.move(key, lane: lane.number, encoding: call.address.encoding)
            room.presence.setAway(key, false)
        case .away:
            if room.presence.visitor(key)?.laneNumber == lane.number { room.presence.setAway(key, true) }
        case .announce(let stay): announce(stay, call, key, lane, &room, replica, node)
        case .follow(let place):
            room.stream.follow(
                place, lane, number: call.number, epoch: epoch(replica), tail: room.tail,
                lastSeq: replica.state.room.lastSeq)
        case .operation(.enter): room.arrivals.append(call)
        // Nobody sends barrage here.
        case .barrages: break
        case .operation(let operation):
            guard let visitor = room.presence.visitor(key) else {
                reply(call, .failure(ChatError(.notInRoom, "not in it")), lane, &room)
                return nil
            }
            return handle(operation, call, visitor, lane, &room, replica)
        }
        return nil
    }

    private func handle(
        _ operation: ClientOperation, _ call: RoomCall, _ visitor: Visitor, _ lane: Lane, _ room: inout SimulatedRoom,
        _ replica: Replica
    ) -> Command? {
        let body: CommandBody
        var clientID: String?
        switch operation {
        case .send(let request):
            (body, clientID) = (.post(request.draft), request.clientID)
            if sabotage == .acksBeforeSync {
                let result = SendResult(messageID: "", time: Timestamp(0))
                reply(call, .success(.send(result)), lane, &room)
            }
        case .setMute(let request):
            (body, clientID) = (.setMute(request.user, enable: request.enable, request.options), request.clientID)
        case .setBlacklist(let request):
            (body, clientID) = (.setBlacklist(request.user, enable: request.enable, request.options), request.clientID)
        case .exit:
            perform(
                room.presence.exit(visitor.key, notify: notify(replica), at: Timestamp(replica.state.time)), &room)
            room.stream.tell(lane, .exited(call.address.session, request: call.request))
            return nil
        case .history(let request):
            let after = Int(request.query.afterSeq ?? 0)
            let page = replica.state.history.dropFirst(after).prefix(min(request.query.limit, Self.pageMax))
            let more = after + page.count < replica.state.history.count
            reply(call, .success(.history(MessagesResult(messages: Array(page), more: more))), lane, &room)
            return nil
        default:
            reply(call, .failure(ChatError(.forbidden, "not in the simulation")), lane, &room)
            return nil
        }
        var actor = Actor.member(visitor.user, visitor.profile, anonymous: false)
        if sabotage == .letsMutedSpeak, case .post = body { actor = .server(UserName(user: visitor.user, nick: "")) }
        let id =
            clientID.map { CommandID(scope: visitor.user.text, text: $0) }
            ?? CommandID(scope: "/session/\(call.address.session)", text: "\(call.number)")
        return Command(id: id, room: call.room, actor: actor, body: body)
    }

    private func reply(
        _ call: RoomCall, _ result: Result<OperationResult, ChatError>, _ lane: Lane, _ room: inout SimulatedRoom
    ) {
        guard let request = call.request else { return }
        room.stream.tell(lane, .reply(call.address.session, request: request, result))
    }

    // MARK: - Applying

    /// What follows for those who are here, at the leader.
    func performed(
        _ entry: Entry, _ effects: [Effect], _ proposal: Int?, _ node: SimulatedNode, _ replica: Replica
    ) {
        let waiting = replica.leadership.pending.removeValue(forKey: entry.index)
        guard var room = replica.leadership.room else { return }
        replica.leadership.room = nil
        if let waiting, waiting.term == entry.term, waiting.proposal == proposal,
            case .result(let result)? = effects.last, let answer = answer(result, to: waiting.call)
        {
            let lane = Lane(node: waiting.call.address.node, number: waiting.call.address.lane)
            // It went out when it was proposed.
            if sabotage != .acksBeforeSync || answer.isRefusal { reply(waiting.call, answer, lane, &room) }
        }
        for effect in effects {
            switch effect {
            case .append(let message, _): room.tail.append(message)
            case .publish(let message): room.stream.show(message)
            case .kick(let user, let reason, let ext):
                if sabotage == .keepsBlacklisted { continue }
                room.stream.endFrame()
                for visitor in room.presence.kick(user: user) {
                    room.stream.tell(visitor.lane, .kicked(visitor.key.session, reason, ext: ext))
                }
            default: continue
            }
        }
        replica.leadership.room = room
    }

    private func answer(_ result: CommandResult, to call: RoomCall) -> Result<OperationResult, ChatError>? {
        switch (call.body, result) {
        case (_, .refused(let error)): .failure(error)
        case (.operation(.send), .posted(let messageID, let place, let time, _, _)):
            .success(.send(SendResult(messageID: messageID, time: time, place: place)))
        case (.operation(.setMute), .member(let member)): .success(.setMute(MemberResult(member: member)))
        case (.operation(.setBlacklist), .member(let member)): .success(.setBlacklist(MemberResult(member: member)))
        default: nil
        }
    }

    // MARK: - Taking over

    private func announce(
        _ stay: Stay, _ call: RoomCall, _ key: PresenceKey, _ lane: Lane, _ room: inout SimulatedRoom,
        _ replica: Replica, _ node: SimulatedNode
    ) {
        // Connected again, its node announces it again.
        guard !isLost(key.node, replica.group, node) else { return }
        room.unreachable[key] = nil
        guard room.presence.visitor(key) == nil else {
            room.presence.move(key, lane: lane.number, encoding: call.address.encoding)
            room.presence.setAway(key, stay.isAway)
            room.stream.wait(lane)
            room.stream.encodings.formUnion(room.presence.encodings)
            return
        }
        if let reason = exclusion(of: call.caller, stay, room, replica, node), sabotage != .keepsBlacklisted {
            return room.stream.tell(lane, .kicked(key.session, reason, ext: nil))
        }
        var visitor = Visitor(
            key: key, laneNumber: lane.number, user: call.caller.user, profile: stay.profile, anonymous: false,
            device: call.caller.device, enteredAt: stay.enteredAt)
        visitor.isAway = stay.isAway
        if room.presence.isSuperseded(visitor, ledSince: Timestamp(.max)) {
            return room.stream.tell(lane, .kicked(key.session, .conflictingLogin, ext: nil))
        }
        let effects = room.presence.announce(visitor, role: replica.state.room.role(of: visitor.user))
        perform(effects, &room)
        room.stream.wait(lane)
        room.stream.encodings.formUnion(room.presence.encodings)
    }

    private func exclusion(
        of caller: Caller, _ stay: Stay, _ room: SimulatedRoom, _ replica: Replica, _ node: SimulatedNode
    ) -> KickReason? {
        guard let info = replica.state.room.info, !info.closed else { return .roomClosed }
        if replica.state.room.isBarred(caller.user, at: clock(node)) { return .blacklisted }
        return room.tail.kicked(caller.user, since: stay.enteredAt)?.reason
    }

    /// Whether what is still under way of a node's sessions comes too late: nobody would see them leave.
    private func isLost(_ other: NodeID, _ group: GroupID, _ node: SimulatedNode) -> Bool {
        node.loops[loop(of: group, node)].lostNodes.contains(other)
    }

    /// A gateway's node can't be reached: its sessions are in their grace.
    func lose(_ other: NodeID, _ group: GroupID, at node: SimulatedNode) {
        guard let replica = node.replicas[group] else { return }
        // Connected again, it says anew who is here, and asks again what has no answer.
        replica.leadership.early.removeAll { $0.address.node == other }
        guard replica.leadership.room != nil else { return }
        replica.leadership.room?.stream.lose(other)
        for key in replica.leadership.room?.presence.keys(on: other) ?? []
        where replica.leadership.room?.unreachable[key] == nil {
            lose(key, replica, node)
        }
    }

    /// A session can't be reached: its grace begins.
    private func lose(_ key: PresenceKey, _ replica: Replica, _ node: SimulatedNode) {
        replica.leadership.room?.unreachable[key] = clock(node).adding(seconds: policy.graceSeconds)
        replica.leadership.room?.presence.setAway(key, true)
    }

    /// A lane announces all of its sessions that are here: those that it does not announce are in their grace.
    func recount(_ lane: Lane, _ room: RoomID, at node: SimulatedNode) {
        guard let replica = node.replicas[group(of: room)], let leading = replica.leadership.room else { return }
        for key in leading.presence.keys(on: lane.node) where leading.unreachable[key] == nil {
            if leading.presence.visitor(key)?.laneNumber == lane.number { lose(key, replica, node) }
        }
    }

    // MARK: - Entering

    private func epoch(_ replica: Replica) -> String { String(replica.state.room.incarnation?.number ?? 0, radix: 36) }
    private func notify(_ replica: Replica) -> EnterExitNotify { replica.state.room.info?.enterExitNotify ?? .none }

    private func settleArrivals(_ room: inout SimulatedRoom, _ replica: Replica, _ node: SimulatedNode) {
        guard !room.arrivals.isEmpty else { return }
        room.stream.endFrame()
        let due = room.arrivals
        room.arrivals = []
        // Connected again, its node asks again.
        for call in due where !isLost(call.address.node, replica.group, node) {
            do throws(ChatError) {
                try settle(call, &room, replica, node)
            } catch {
                room.stream.tell(
                    Lane(node: call.address.node, number: call.address.lane),
                    .entered(call.address.session, request: call.request, .failure(error)))
            }
        }
    }

    private func settle(_ call: RoomCall, _ room: inout SimulatedRoom, _ replica: Replica, _ node: SimulatedNode)
        throws(ChatError)
    {
        guard case .operation(.enter(let request)) = call.body else { return }
        let state = replica.state.room
        try state.mayEnter(call.caller.user, anonymous: false, invitedByToken: false, at: clock(node))
        guard let info = state.info else { throw ChatError(.notFound, "there is no room") }
        let lane = Lane(node: call.address.node, number: call.address.lane)
        let key = PresenceKey(node: call.address.node, session: call.address.session)
        room.unreachable[key] = nil
        let visitor = Visitor(
            key: key, laneNumber: lane.number,
            user: call.caller.user, profile: Profile(), anonymous: false, device: call.caller.device,
            enteredAt: clock(node))
        let effects = try room.presence.enter(
            visitor, role: state.role(of: call.caller.user), notify: info.enterExitNotify, at: clock(node))
        room.stream.encodings = room.presence.encodings
        var result = EnterResult(
            room: RoomView(info: info, online: Int64(room.presence.online)),
            me: room.presence.overlay(state.member(call.caller.user, at: clock(node))), epoch: epoch(replica),
            seq: state.lastSeq)
        if let since = request.since { fillMissed(&result, since, request.epoch, replica) }
        room.stream.tell(lane, .entered(call.address.session, request: call.request, .success(result)))
        perform(effects, &room)
    }

    private func fillMissed(_ result: inout EnterResult, _ since: UInt64, _ epoch: String?, _ replica: Replica) {
        guard epoch == self.epoch(replica), since <= replica.state.room.lastSeq else { return result.recovered = false }
        result.recovered = true
        let first = Int(since) + (sabotage == .resumesOffByOne ? 1 : 0)
        let missed = Array(replica.state.history.dropFirst(first).prefix(Self.missedMax))
        result.missed = missed
        result.missedMore = (missed.last?.seq ?? since) < replica.state.room.lastSeq
        if sabotage == .resumesOffByOne { result.missedMore = false }
    }

    // MARK: - The end of the turn

    private func perform(
        _ effects: [PresenceEffect], _ room: inout SimulatedRoom, _ replica: Replica, _ node: SimulatedNode
    ) {
        perform(effects, &room)
    }

    private func perform(_ effects: [PresenceEffect], _ room: inout SimulatedRoom) {
        for effect in effects {
            switch effect {
            case .kick(let visitor, let reason):
                room.stream.tell(visitor.lane, .kicked(visitor.key.session, reason, ext: nil))
            default: continue
            }
        }
    }

    func publish(_ group: GroupID, _ node: SimulatedNode) {
        guard let replica = node.replicas[group], let term = replica.leadership.term,
            var room = replica.leadership.room,
            !room.stream.isEmpty || !room.arrivals.isEmpty
        else { return }
        replica.leadership.room = nil
        settleArrivals(&room, replica, node)
        let lanes = room.presence.lanes
        let publications = room.stream.take(room: GroupState.room(of: group), term: term, viewerLanes: lanes)
        room.stream.encodings = room.presence.encodings
        replica.leadership.room = room
        deliver(publications, from: node)
    }

    /// Graces that are over.
    func roomTick(_ group: GroupID, _ node: SimulatedNode) {
        guard let replica = node.replicas[group], var room = replica.leadership.room else { return }
        replica.leadership.room = nil
        let time = clock(node)
        for (key, end) in room.unreachable.sorted(by: { $0.key.session.text < $1.key.session.text }) where end <= time {
            room.unreachable[key] = nil
            perform(room.presence.exit(key, notify: .none, at: time), &room)
        }
        replica.leadership.room = room
    }

    private static let missedMax = 5
    private static let pageMax = 8
}

extension RoomCall {
    /// Whether it only says where a session is.
    fileprivate var isPresence: Bool {
        switch body {
        case .announce, .follow, .moved, .away, .leave: true
        case .operation, .barrages: false
        }
    }
}

extension Result where Success == OperationResult, Failure == ChatError {
    fileprivate var isRefusal: Bool { if case .failure = self { true } else { false } }
}
