import ChatModel
import EventLoop
import RoomCore
import RoomProtocol
import Wire

/// Taking a room over from another leader: who is here is what the gateways say, and what their viewers have not been
/// shown is shown now, before anything new (ARCHITECTURE.md, "Failover").
extension RoomActor {
    /// A session was in the room before this leader was. A session that was put out meanwhile is told so, because its
    /// gateway may not have heard.
    func announce(_ stay: SessionStay, _ call: SessionOrigin, _ key: PresenceKey) {
        // Connected again, its node announces it again.
        guard !isLost(key.node) else { return }
        let isInherited = graces.inherited.contains(key)
        let wasLost = graces.unreachable[key] != nil
        if isInherited { presence.setProfile(of: key, stay.profile, notifyExt: stay.notifyExt) }
        endGrace(of: key)
        let lane = Lane(node: call.address.node, number: call.address.lane)
        guard presence.visitor(key) == nil else {
            // The connection to its node has ended, and begun anew.
            presence.move(key, lane: lane.number, encoding: call.address.encoding)
            // While its node was lost, nobody knew when its connection went.
            if !stay.isAway || wasLost { presence.setBack(key) }
            if stay.isAway { presence.setAway(key, at: context.now()) }
            suspend(lane, isNew: isInherited)
            if let visitor = presence.visitor(key) { publishVoice(of: visitor, at: context.now()) }
            return
        }
        if let cause = exclusion(of: call.caller.user, since: stay.enteredAt) {
            return stream.notify(lane, .kicked(key.session, cause.reason, ext: cause.ext))
        }
        var visitor = Visitor(
            key: key, laneNumber: lane.number, user: call.caller.user, profile: stay.profile,
            anonymous: call.caller.anonymous, device: call.caller.device, enteredAt: stay.enteredAt)
        visitor.notifyExt = stay.notifyExt
        visitor.encoding = call.address.encoding
        visitor.awaySince = stay.isAway ? context.now() : nil
        visitor.addressHash = call.caller.addressHash
        visitor.revivedAt = call.caller.revivedAt
        if presence.isSuperseded(visitor, ledSince: times.ledSince) {
            return stream.notify(lane, .kicked(key.session, .conflictingLogin, ext: nil))
        }
        // Everybody has been told that it left: everybody is told that it is back. A session that was here before this
        // leader led is announced without a notification.
        let isNew = !stream.isWaiting(lane) && !presence.lanes.contains(lane)
        let leftAt = context.departed.value.remove(key, of: id)
        let notify = leftAt.flatMap { $0 >= times.ledSince ? state.info?.enterExitNotify : nil }
        perform(presence.announce(visitor, role: role(of: visitor), telling: notify, at: context.now()))
        // This leader may have proposed a kick of its user already: what it asks for waits for that.
        holdIfThrownOut(visitor.user, key)
        suspend(lane, isNew: isNew)
        publishVoice(of: visitor, at: context.now())
    }

    // MARK: - The former leader's own sessions

    /// Sessions that were at the former leader's node: in their grace until that node announces them, or they enter by
    /// another one. Those that are here by now, that their lane has not named, or that were put out are left out.
    func inherit(_ sessions: [InheritedSession], until end: Timestamp) {
        // The newest word last.
        for session in sessions.reversed() {
            var visitor = session.visitor
            guard presence.visitor(visitor.key) == nil, presence.otherCopy(of: visitor.key, visitor.user) == nil,
                session.isLost || !graces.announced.contains(visitor.lane),
                exclusion(of: visitor.user, since: visitor.enteredAt) == nil,
                !presence.isSuperseded(visitor, ledSince: times.ledSince)
            else { continue }
            visitor.awaySince = visitor.awaySince ?? context.now()
            if !presence.lanes.contains(visitor.lane) { stream.inherit(visitor.lane) }
            perform(presence.announce(visitor, role: role(of: visitor)))
            let isLost = session.isLost || isLost(visitor.key.node)
            graces.inherit(visitor.key, until: end, isLost: isLost)
            if isLost { presence.setLost(visitor.key) }
            holdIfThrownOut(visitor.user, visitor.key)
        }
        stream.encodings.formUnion(presence.encodings)
        touch()
    }

    /// The lane has announced all of its sessions. Others that the former leader had there had left before, unless they
    /// are on their way to another lane, which says so a moment later.
    private func endInherited(of lane: Lane) {
        let now = context.now()
        guard now < takeoverEnd else { return }
        let keys = graces.inherited.filter { $0.node == lane.node && presence.visitor($0)?.lane == lane }
        graces.note(announced: lane, inherited: keys, until: now.adding(seconds: 2))
    }

    // MARK: - Copies of a session

    /// Two nodes may have copies of a session. The copy counts that was taken up last without the other, which ends
    /// before it is served anything more. A stay goes along with its session, and nobody is told.
    /// - Returns: whether the request is of an older copy, and nothing is done for it.
    func settleCopies(_ body: RoomRequest.Body, _ call: SessionOrigin, _ key: PresenceKey) -> Bool {
        // A lane's word for all of its sessions.
        if case .follow = body { return false }
        guard inPlace(&presence, { !$0.has(key) }), let other = presence.otherCopy(of: key, call.caller.user)
        else {
            return false
        }
        let (own, others) = (call.caller.revivedAt ?? Timestamp(.min), other.revivedAt ?? Timestamp(.min))
        if own < others {
            if let at = other.revivedAt { notify(call, .takenOver(TakenSession(session: key.session, at: at))) }
            return true
        }
        switch body {
        case .operation(.enter), .announce:
            guard own > others else {
                // Handed over, and it has entered here before the room was told of that.
                if case .operation = body { takeOver(other.key, key, call) }
                return false
            }
            takeOver(other.key, key, call)
            stream.notify(other.lane, .takenOver(TakenSession(session: key.session, at: own)))
        default: break
        }
        return false
    }

    /// Whether a session that nobody knows here was maybe here before this leader led: its gateway and the former
    /// leader have died together. Not one of a user whom this leader has seen leave: all were told of that.
    func mayHaveBeenHere(_ caller: Caller) -> Bool {
        let grace = context.policy.graceSeconds
        // Another gateway that lives announces what it has taken up earlier.
        guard let revivedAt = caller.revivedAt, revivedAt >= times.ledSince.adding(seconds: -grace) else {
            return false
        }
        return isAnnouncing(at: context.now()) && !graces.mayHaveDeparted(caller.user)
            && kicked(caller.user, since: times.ledSince) == nil && !state.everybodyKicked(since: times.ledSince)
    }

    /// The lane says what its viewers have been shown when it has announced all of them.
    /// - Parameter isNew: whether it had no viewers here. Their stays are older than this leader, which has shown them
    ///   nothing; later on they are sessions that another lane has had.
    private func suspend(_ lane: Lane, isNew: Bool) {
        stream.wait(lane, hasMissedAll: isNew && context.now() < takeoverEnd)
        stream.encodings.formUnion(presence.encodings)
        noteEmptiness()
    }

    /// Why somebody who was here is not any more; nil for whoever is.
    private func exclusion(of user: UserID, since enteredAt: Timestamp) -> PutOut? {
        // It belongs to an earlier room of this name.
        guard let info = state.info, !info.closed, enteredAt >= info.createdAt,
            !state.everybodyKicked(since: enteredAt)
        else { return PutOut(.roomClosed) }
        return putOut(user, since: enteredAt)
    }

    /// Why somebody who was here a moment ago was put out; nil for whoever went otherwise.
    func recentExclusion(of caller: Caller) -> PutOut? {
        guard let info = state.info, !info.closed else { return PutOut(.roomClosed) }
        // It has been told of an earlier leader's kicks, or is when it is announced.
        return putOut(
            caller.user, since: max(times.ledSince, context.now().adding(seconds: -context.policy.graceSeconds)))
    }

    /// Known as long as an answer is; later the gateway has heard of it, or is gone. A user who may not be here is out,
    /// whenever that happened.
    private func putOut(_ user: UserID, since time: Timestamp) -> PutOut? {
        let known = kicked(user, since: time)
        guard known == nil, let record = state.memberRecord(of: user), state.isBarred(user, at: context.now())
        else { return known }
        return PutOut(record.blacklisted ? .blacklisted : .byManager)
    }

    /// Why a user was put out at that time or later, as this leader has seen it or the room's row has it.
    private func kicked(_ user: UserID, since time: Timestamp) -> PutOut? {
        recent.tail.kicked(user, since: time) ?? state.kicked(user, since: time).map { PutOut($0) }
    }

    /// Whether a user of whom this leader knows nothing may be in the room all the same: lanes have the grace to announce
    /// who was here before this leader led.
    func mayBeAnnounced(_ user: UserID, at now: Timestamp) -> Bool {
        isAnnouncing(at: now) && !state.isBarred(user, at: now) && kicked(user, since: times.ledSince) == nil
    }

    /// Whether lanes may still announce anybody who was here before this leader led.
    func isAnnouncing(at now: Timestamp) -> Bool {
        guard let info = state.info, !info.closed, info.createdAt < times.ledSince else { return false }
        return now < takeoverEnd
    }

    /// Why a session was put out that goes on after its gateway's death as if it were still here: the gateway may not have
    /// told its client. Nil for whoever comes anew or was told here, and when the client must have come back by now.
    func untoldKick(_ request: EnterRequest, _ caller: Caller, _ key: PresenceKey, at now: Timestamp) -> PutOut? {
        let grace = context.policy.graceSeconds
        guard let since = request.since, let revivedAt = caller.revivedAt, now < revivedAt.adding(seconds: grace),
            presence.visitor(key) == nil, !entering.toldKicks.has(key, revivedAt: revivedAt)
        else { return nil }
        // A session is taken up within the grace of its gateway's death; until that its client was told. A client that has
        // seen what was said after the kick has been told, and let in again.
        let told = revivedAt.adding(seconds: -grace)
        let seen = request.epoch == epoch ? recent.tail.time(seq: since)?.adding(milliseconds: 1) : nil
        return kicked(caller.user, since: max(told, seen ?? told))
    }

    /// Shows a lane what its viewers have not been shown, as far as the tail has it; from here on they see what all
    /// see.
    func follow(_ place: StreamPlace, _ lane: Lane, number: UInt64) {
        endInherited(of: lane)
        stream.follow(place, lane, number: number, room: id, epoch: epoch, tail: recent.tail, lastSeq: state.lastSeq)
        stream.notify(lane, .silence(desk.toldMuted))
        publishTotals(to: lane)
        sendHeld(to: lane, since: place.epoch == epoch ? place.seq : 0)
    }

    // MARK: - Nodes that are gone

    /// Whether what is still under way of a node's sessions comes too late: nobody would see them leave.
    func isLost(_ node: NodeID) -> Bool { context.lostNodes.value.contains(node) }

    /// A gateway node can't be reached: its sessions are in their grace.
    func lose(_ node: NodeID, at now: Timestamp) {
        graces.lose(node)
        entering.missedPages.lose(node)
        stream.lose(node, lanes: presence.lanes.lazy.filter { $0.node == node })
        for key in presence.keys(on: node) where graces.unreachable[key] == nil { lose(key, at: now) }
        touch()
    }

    /// A session can't be reached: its grace begins, or has begun when its connection was gone.
    func lose(_ key: PresenceKey, at now: Timestamp) {
        presence.setAway(key, at: now)
        let since = presence.visitor(key)?.awaySince ?? now
        graces.begin(key, until: since.adding(seconds: context.policy.graceSeconds))
        presence.setLost(key)
        cancelReads(of: key)
    }

    /// The session is reached, or has gone to another node.
    func endGrace(of key: PresenceKey) {
        graces.end(key)
        presence.setReached(key)
    }

    /// From here on the other replicas are told of that node's sessions and of those that can't be reached; nil: no more.
    func replicatePresence(of node: NodeID?) {
        presence.replicate(node)
        for key in graces.unreachable.keys { presence.setLost(key) }
    }

    /// It had left the former leader, which has told everybody so.
    private func leaveUntold(_ key: PresenceKey, at now: Timestamp) {
        for case .departed(let name) in presence.exit(key, notify: .none, at: now) {
            clearSeats(of: [name.user])
            graces.depart(name.user, mayReturn: isAnnouncing(at: now))
        }
        noteEmptiness()
    }

    /// A session that has not been announced again has left.
    /// - Parameter end: of the time that there is for it, by `EventLoop.nowNanoseconds`; at least one session leaves.
    /// - Returns: whether the time was too short for all.
    func endGraces(at now: Timestamp, untilNanoseconds end: UInt64) -> Bool {
        while let (key, hadLeft) = graces.takeDue(at: now) {
            touch()
            if hadLeft {
                leaveUntold(key, at: now)
                if EventLoop.nowNanoseconds >= end { return true }
                continue
            }
            if presence.visitor(key) != nil { context.departed.value.add(key, of: id, at: now) }
            exit(key, at: now)
            if EventLoop.nowNanoseconds >= end { return true }
        }
        return false
    }
}
