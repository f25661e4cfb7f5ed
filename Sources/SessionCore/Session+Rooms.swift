import ChatModel
import RoomProtocol
import Wire

/// The rooms that a session enters and leaves, as their leaders say it.
extension Session {
    /// The answer of a room's leader to an enter.
    public struct EnterAnswer: Sendable {
        /// The number under which the room was asked; nil: nobody waits for the answer.
        public var request: UInt32?
        public var result: Result<EnterResult, ChatError>
        public var missedAfter: UInt64?

        public init(request: UInt32?, result: Result<EnterResult, ChatError>, missedAfter: UInt64? = nil) {
            self.request = request
            self.result = result
            self.missedAfter = missedAfter
        }
    }

    /// A room has answered an enter. On success the session is in the room from here on: what follows in the stream is
    /// what it sees.
    /// - Parameter isOpen: whether the request still had no answer, and had not been given up.
    public mutating func onEntered(_ room: RoomID, _ answer: EnterAnswer, isOpen: Bool, at now: Timestamp) -> [Effect] {
        guard isOpen else {
            // It was given up, or answered by another leader. A newer one that is under way would be undone by a leave.
            guard case .success = answer.result, !isIn(room), !isEntering(room) else { return [] }
            noteLeave(of: room)
            return [.notify(room, .left)]
        }
        let asked = answer.request.flatMap { requests.end($0) }
        let isUndone = answer.request.flatMap { request in leftBehind[room].map { request <= $0 } } ?? false
        if isUndone, asked == nil { return [] }
        let notifyExt = entering.first { $0.room == room }?.notifyExt
        // A newer connection may wait for an enter of its own.
        if asked != nil { entering.removeAll { $0.room == room && !$0.isLater(than: answer.request) } }
        switch answer.result {
        case .failure(let error):
            return asked.map { [.reply($0, .failure(error))] } ?? []
        case .success where !mayEnter(room):
            // The token has been replaced by a narrower one since it asked.
            var effects = [Effect.notify(room, .left)]
            if let asked { effects.append(.reply(asked, .failure(Self.forbidden(room)))) }
            return effects
        case .success(let result):
            var effects = join(room, result, notifyExt: notifyExt, at: now)
            // The client has waited for it, so the session is to be in the room in spite of the leave.
            if isUndone { effects.append(.announce(room)) }
            enteredBy[room] = answer.request
            // A session that went meanwhile stays a member for the grace, but views nothing; back again, it enters
            // again.
            guard let asked, isConnected else { return effects }
            losses.forget(room)
            effects.append(
                .view(Entry(room: room, request: asked, result: result, missedAfter: answer.missedAfter)))
            return effects
        }
    }

    /// A room has answered an enter of this session on another lane, which the session has left. Its client never hears of
    /// that answer, but the session has to know of the room: else nobody would ever leave for it.
    public mutating func onEnteredElsewhere(_ room: RoomID, _ result: EnterResult, at now: Timestamp) -> [Effect] {
        // It may have asked again, and have its answer.
        guard !isIn(room) else { return [] }
        // Its token may be a narrower one by now.
        guard mayEnter(room) else { return [.notify(room, .left)] }
        var effects = join(room, result, notifyExt: nil, at: now)
        effects.append(.notify(room, .moved(from: nil)))
        if !isConnected { effects.append(.notify(room, .away)) }
        return effects
    }

    /// A room has answered an exit, or sees the session leave.
    /// - Parameters:
    ///   - request: the number under which the room was asked; nil: nobody has asked.
    ///   - isOpen: whether the request still had no answer, and had not been given up.
    public mutating func onExited(_ room: RoomID, request: UInt32?, isOpen: Bool) -> [Effect] {
        if !isOpen, let request {
            // A second answer to an exit, which was asked again, must not undo an enter of after it.
            if let entered = enteredBy[room], entered > request { return [] }
            // Its client was told that the exit has failed, and believes to be in the room: so it is there again.
            if isIn(room) { return [.announce(room)] }
        }
        // An enter, and another exit, that were asked behind this exit are under way.
        let later = entering.filter { $0.room == room && $0.isLater(than: request) }
        let exit = leaving[room].flatMap { last in request.flatMap { last > $0 ? last : nil } }
        var effects = part(room)
        entering += later
        leaving[room] = exit
        if let request, let asked = requests.end(request), isOpen { effects.append(.reply(asked, .success(.exit))) }
        return effects
    }

    /// A room has put the session out.
    /// - Parameter isAnnounced: the room is being told that the session is in it, and may have put it out before.
    public mutating func onKicked(
        _ room: RoomID, _ reason: KickReason, ext: String?, isAnnounced: Bool, nowMilliseconds now: UInt64
    ) -> [Effect] {
        let isEntering = isEntering(room)
        let isHere = isIn(room) || isEntering
        var effects = part(room)
        if isAnnounced, !isEntering {
            noteLeave(of: room)
            effects.append(.notify(room, .left))
        }
        // One that moves while it is put out may hear it twice.
        guard isHere else { return effects }
        var kick = KickedPush(room: room, reason: reason)
        kick.ext = ext
        if isConnected { effects.append(notify(kick, at: now)) } else { note(kick) }
        return effects
    }

    /// The session shows something else of itself in a room that it is in.
    public mutating func onProfile(_ profile: Profile, in room: RoomID) { stays[room]?.profile = profile }

    /// The leader of a room that it is in tells whether it may speak.
    public mutating func onVoice(_ voice: Voice, in room: RoomID) {
        if stays[room] != nil { voices[room] = voice }
    }

    /// The losses that a session is told of when it keeps up again.
    public mutating func takeLosses() -> [Push] {
        var pushes: [Push] = []
        // Bytes that waited when the session left a room may have been lost after that: nobody there waits for them.
        for loss in losses.take() where isIn(loss.room) {
            if !loss.ranges.isEmpty {
                let ranges = loss.ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
                pushes.append(.gap(GapPush(room: loss.room, ranges: ranges, cause: .slow)))
            }
            if loss.unkept + loss.barrage > 0 {
                var skipped = SkippedPush(room: loss.room)
                skipped.barrage = Int64(loss.barrage)
                skipped.unkept = Int64(loss.unkept)
                pushes.append(.skipped(skipped))
            }
        }
        return pushes
    }

    // MARK: - Being in a room

    func mayEnter(_ room: RoomID) -> Bool { caller.rooms?.contains(room) ?? true }

    static func forbidden(_ room: RoomID) -> ChatError {
        ChatError(.forbidden, "the token does not allow room \(room)", field: "room")
    }

    mutating func noteLeave(of room: RoomID) {
        if leftBehind.count == Self.leftBehindMax { leftBehind = [:] }
        leftBehind[room] = UInt32(truncatingIfNeeded: requests.count)
    }

    private static let leftBehindMax = 16

    private mutating func join(
        _ room: RoomID, _ result: EnterResult, notifyExt: String?, at now: Timestamp
    ) -> [Effect] {
        var effects = join(room, SessionStay(result, notifyExt: notifyExt))
        effects.append(.heard(room, through: result.seq))
        voices[room] = Voice(result.me, in: Incarnation(epoch: result.epoch), at: now)
        return effects
    }

    /// The session is in a room, from now on or as before.
    mutating func join(_ room: RoomID, _ stay: SessionStay) -> [Effect] {
        // Its client has entered again, and knows.
        forgetKick(from: room)
        guard stays.updateValue(stay, forKey: room) == nil else { return [] }
        rooms.append(room)
        return [.joined(room)]
    }

    /// The session is in the room no more, nor enters it.
    mutating func part(_ room: RoomID) -> [Effect] {
        enteredBy[room] = nil
        leaving[room] = nil
        entering.removeAll { $0.room == room }
        losses.forget(room)
        voices[room] = nil
        guard stays.removeValue(forKey: room) != nil else { return [] }
        rooms.removeAll { $0 == room }
        return [.parted(room)]
    }

    /// The client is not there to be told that it is out of a room. It is told once of each room.
    mutating func note(_ kick: KickedPush) {
        untoldKicks.removeAll { $0.room == kick.room }
        untoldKicks.append(kick)
        // A session that is away enters nothing, so there are no more than it was in.
        if untoldKicks.count > Self.untoldKicksMax { untoldKicks.removeFirst() }
    }

    /// The client is told that it is out of a room.
    mutating func notify(_ kick: KickedPush, at now: UInt64) -> Effect {
        toldKicks.removeAll { $0.kick.room == kick.room }
        toldKicks.append(ToldKick(kick: kick, atMilliseconds: now))
        if toldKicks.count > Self.untoldKicksMax { toldKicks.removeFirst() }
        return .push(.kicked(kick))
    }

    /// The session is in the room again, or its client has asked to be.
    mutating func forgetKick(from room: RoomID) {
        toldKicks.removeAll { $0.kick.room == room }
        untoldKicks.removeAll { $0.room == room }
    }

    /// The connection is of no use any more: a client that was silent after a kick may not have got it, and is told again.
    /// - Parameter heardAt: when the client's last byte came, in loop time.
    mutating func noteUnheardKicks(heardAt: UInt64) {
        for told in toldKicks where heardAt < told.atMilliseconds + Self.deliveryMilliseconds { note(told.kick) }
        toldKicks = []
    }

    /// A byte that comes so long after a push shows that the connection lived when that was sent: one that came sooner may have
    /// been on its way.
    private static let deliveryMilliseconds: UInt64 = 2_000
    private static let untoldKicksMax = 100
}

extension SessionStay {
    /// The profile of a session that has entered.
    init(_ result: EnterResult, notifyExt: String?) {
        self.init(
            profile: result.me.profile, enteredAt: result.me.enteredAt ?? result.room.info.createdAt,
            notifyExt: notifyExt)
    }
}
