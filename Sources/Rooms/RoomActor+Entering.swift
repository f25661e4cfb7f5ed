import ChatModel
import RoomCore
import RoomLink
import RoomStream
import SessionCore
import Telemetry
import Wire

/// An enter that is answered at the end of the turn, so that its `seq` is that of the stream.
struct Arrival {
    var call: RoomCall
    var key: PresenceKey
    var request: EnterRequest
    /// What the client missed, as far as it had to be read from storage; nil when the tail can tell.
    var stored: Missed?
}

/// What a client missed.
struct Missed {
    var recovered: Bool
    var messages: [Message] = []
    var more = false
}

/// Entering and leaving (contract, "Entry", "Resume").
extension RoomActor {
    /// Accepts an enter or refuses it; the answer comes at the end of the turn, or when storage has been read.
    func enter(_ asked: EnterRequest, _ call: RoomCall, _ key: PresenceKey, at now: Timestamp) throws(ChatError) {
        var request = asked
        if let nick = asked.nick { request.nick = try passed(nick, "nick") }
        try checkMayEnter(request, call, at: now)
        try admit(at: now)
        if let since = request.since, needsStorage(since, epoch: request.epoch) {
            readMissed(Arrival(call: call, key: key, request: request), since)
        } else {
            arrive(Arrival(call: call, key: key, request: request))
        }
    }

    private func arrive(_ arrival: Arrival) {
        arrivals.append(arrival)
        arriving.insert(arrival.key)
    }

    /// Whether what came after `since` has left the tail. What can't be recovered at all needs no storage either.
    private func needsStorage(_ since: UInt64, epoch: String?) -> Bool {
        let lastSeq = state.lastSeq
        guard let epoch, epoch == self.epoch, since <= lastSeq else { return false }
        return !tail.holdsAll(after: since, lastSeq: lastSeq)
    }

    /// A storm of enters is taken as fast as the room can, and the rest of it is spread over the time that it needs.
    private func admit(at now: Timestamp) throws(ChatError) {
        let rate = context.limits.entersPerSecond
        guard !admission.take(ratePerSecond: rate, nowMilliseconds: now.milliseconds) else { return }
        context.figures.entersPutOff.add()
        throw ChatError(
            .unavailable, "too many enter \(id) at once",
            retryAfterMs: admission.wait(ratePerSecond: rate, nowMilliseconds: now.milliseconds))
    }

    private func checkMayEnter(_ request: EnterRequest, _ call: RoomCall, at now: Timestamp) throws(ChatError) {
        let caller = call.caller
        try state.mayEnter(
            caller.user, anonymous: caller.anonymous, invitedByToken: caller.rooms?.contains(id) == true, at: now)
        guard caller.anonymous else { return }
        guard let nick = request.nick, !nick.isEmpty else {
            throw ChatError(.badParameter, "an anonymous member needs a nick", field: "nick")
        }
        guard let avatar = request.avatar, !avatar.isEmpty else {
            throw ChatError(.badParameter, "an anonymous member needs an avatar", field: "avatar")
        }
    }

    /// The tail begins after `since`: history tells the rest, or that it is too old.
    private func readMissed(_ arrival: Arrival, _ since: UInt64) {
        var query = HistoryRequest()
        query.ascending = true
        query.afterSeq = since
        query.limit = Limits.missedMessages
        hold(arrival.key)
        page(query) { room, result in
            var arrival = arrival
            switch result {
            case .success(let page):
                // Without the message right after `since` something is gone for good.
                let isWhole = page.messages.first?.seq == since + 1
                arrival.stored = Missed(
                    recovered: isWhole, messages: isWhole ? page.messages : [], more: isWhole && page.more)
                room.arrive(arrival)
            case .failure(let error):
                room.tell(
                    arrival.call,
                    .entered(arrival.call.address.session, request: arrival.call.request, .failure(error)))
            }
            room.release(arrival.key, at: room.context.now())
        }
    }

    /// Names the life of this room: a seq means something only together with it. A restore gives seqs out again, so it
    /// begins a new life of every room.
    var epoch: String {
        let life = String(state.incarnation?.number ?? 0, radix: 36)
        let generation = context.restoreGeneration
        return generation == 0 ? life : life + "." + String(generation, radix: 36)
    }

    /// Answers the enters of the turn, behind everything that the turn showed.
    func settleArrivals() {
        guard !arrivals.isEmpty else { return }
        stream.endFrame()
        let due = arrivals
        arrivals = []
        arriving.removeAll(keepingCapacity: true)
        let now = context.now()
        for arrival in due {
            holdIfThrownOut(arrival.call.caller.user, arrival.key)
            guard holds[arrival.key] == nil else {
                // In front of what the session has asked since.
                holds[arrival.key]?.calls.insert(arrival.call, at: 0)
                continue
            }
            do throws(ChatError) {
                // Again: the room or the user's standing may have changed since.
                try checkMayEnter(arrival.request, arrival.call, at: now)
                try settle(arrival, at: now)
            } catch {
                tell(
                    arrival.call,
                    .entered(arrival.call.address.session, request: arrival.call.request, .failure(error)))
            }
        }
    }

    private func settle(_ arrival: Arrival, at now: Timestamp) throws(ChatError) {
        guard let info = state.info else { throw ChatError(.notFound, "there is no room \(id)") }
        let caller = arrival.call.caller
        let saved = state.memberRecord(of: caller.user)?.savedProfile ?? Profile()
        // What a session has set lasts until its exit, over entering again. Of what is saved only some may have been
        // given.
        let known = presence.visitor(arrival.key)?.profile ?? saved.filled(from: caller.tokenProfile)
        let request = arrival.request
        let profile = Profile(
            nick: request.nick ?? known.nick, avatar: request.avatar ?? known.avatar, ext: request.ext ?? known.ext)
        var visitor = Visitor(
            key: arrival.key, laneNumber: arrival.call.address.lane, user: caller.user, profile: profile,
            anonymous: caller.anonymous, device: caller.device, enteredAt: now)
        visitor.notifyExt = request.notifyExt
        visitor.encoding = arrival.call.address.encoding
        // Its node is reached again, and may have nothing to announce: an enter without an answer is asked again.
        unreachable[arrival.key] = nil
        let isNew = presence.visitor(arrival.key) == nil
        let effects = try presence.enter(
            visitor, role: role(of: visitor), notify: info.enterExitNotify, at: now)
        // Those who go by this see no more but their own end, so what only they understand ends here too.
        stream.encodings = presence.encodings
        if isNew { budget.noteEntered(arrival.key) }
        var result = EnterResult(
            room: roomView ?? RoomView(info: info, online: Int64(presence.online)),
            me: presence.overlay(state.member(caller.user, at: now)), epoch: epoch,
            seq: state.lastSeq)
        if request.withQueue { result.queue = queueElements() }
        if let since = request.since { fillMissed(&result, arrival, since) }
        tell(
            arrival.call,
            .entered(arrival.call.address.session, request: arrival.call.request, .success(result)))
        tellUntold(arrival, at: now)
        // Others hear of it behind the reply; so does whoever came.
        perform(effects)
    }

    /// What came after `since`, at most 100 messages, without a hole before the reply's `seq`.
    private func fillMissed(_ result: inout EnterResult, _ arrival: Arrival, _ since: UInt64) {
        guard arrival.request.epoch == epoch, since <= state.lastSeq, arrival.stored?.recovered != false else {
            result.recovered = false
            return
        }
        result.recovered = true
        var missed = arrival.stored?.messages ?? []
        var more = arrival.stored?.more ?? false
        let last = missed.last?.seq ?? since
        if !more, last < state.lastSeq {
            let room = Limits.missedMessages - missed.count
            if let newer = tail.messages(after: last, lastSeq: state.lastSeq, limit: room) { missed += newer }
            more = (missed.last?.seq ?? since) < state.lastSeq
        }
        result.missed = missed
        result.missedMore = more
    }
}
