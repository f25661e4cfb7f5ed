import ChatModel
import EventLoop
import RoomCore
import RoomProtocol
import SessionCore
import Telemetry
import Wire

/// Entering and leaving (PROTOCOL.md, "Entry", "Resume").
extension RoomActor {
    /// Accepts an enter or refuses it; the answer comes at the end of the turn, or when storage has been read.
    func enter(_ asked: EnterRequest, _ call: SessionOrigin, _ key: PresenceKey, at now: Timestamp) throws(ChatError) {
        var request = asked
        if let nick = asked.nick { request.nick = try passed(nick, "nick") }
        try checkMayEnter(request, call, key, at: now)
        if let cause = untoldKick(request, call.caller, key, at: now) {
            notify(call, .kicked(key.session, cause.reason, ext: cause.ext))
            entering.toldKicks.note(key, revivedAt: call.caller.revivedAt)
            throw ChatError(.forbidden, "\(call.caller.user) was put out of \(id)")
        }
        try admit(at: now)
        if let since = request.since, needsStorage(since, epoch: request.epoch) {
            readMissed(Arrival(call: call, key: key, request: request), since)
        } else {
            arrive(Arrival(call: call, key: key, request: request), at: now)
        }
    }

    /// Whether what came after `since` has left the tail. An enter that can't recover anything needs no storage either.
    private func needsStorage(_ since: UInt64, epoch: String?) -> Bool {
        let lastSeq = state.lastSeq
        guard let epoch, epoch == self.epoch, since <= lastSeq else { return false }
        // Storage finds out whether the next one has expired, which the tail may still have.
        if let next = recent.tail.time(seq: since + 1), next < visibleSince { return true }
        return !recent.tail.holdsAll(after: since, lastSeq: lastSeq)
    }

    /// A storm of enters is taken as fast as the room can, and the rest of it is spread over the time that it needs.
    private func admit(at now: Timestamp) throws(ChatError) {
        let rate = context.limits.entersPerSecond
        guard !entering.admission.take(ratePerSecond: rate, nowMilliseconds: now.milliseconds) else { return }
        context.figures.entersPutOff.add()
        throw ChatError(
            .unavailable, "too many enter \(id) at once",
            retryAfterMs: entering.admission.wait(ratePerSecond: rate, nowMilliseconds: now.milliseconds))
    }

    private func checkMayEnter(
        _ request: EnterRequest, _ call: SessionOrigin, _ key: PresenceKey, at now: Timestamp
    ) throws(ChatError) {
        let caller = call.caller
        let here = presence.visitor(key)
        try state.mayEnter(
            caller.user, anonymous: caller.anonymous, isHere: here != nil,
            invitedByToken: caller.rooms?.contains(id) == true, addressHash: caller.addressHash, at: now)
        guard caller.anonymous else { return }
        guard let nick = request.nick ?? here?.profile.nick, !nick.isEmpty else {
            throw ChatError(.badParameter, "an anonymous member needs a nick", field: "nick")
        }
        guard let avatar = request.avatar ?? here?.profile.avatar, !avatar.isEmpty else {
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
        let reader = beginReading(arrival.key)
        begin { [query] room in
            do throws(ChatError) {
                let page = try await room.page(query, for: reader)
                var arrival = arrival
                // Without the message right after `since` something is gone for good.
                let isWhole = page.messages.first?.seq == since + 1
                arrival.stored = Missed(
                    recovered: isWhole, messages: isWhole ? page.messages : [], more: isWhole && page.more)
                room.arrive(arrival, at: room.context.now())
            } catch {
                room.refuse(arrival, error)
            }
            room.endReading(arrival.key, reader)
            room.release(arrival.key, at: room.context.now())
        }
    }

    /// Names the life of this room: a seq means something only together with it. A restore gives seqs out again, so it
    /// begins a new life of every room.
    var epoch: String { (state.incarnation ?? Incarnation(0)).epoch(generation: context.restoreGeneration) }

    /// Answers the enters of the turn, behind everything that the turn showed: at least one, and as many as there is
    /// time for. The others are answered in the next turn.
    /// - Parameter end: of the time, by `EventLoop.nowNanoseconds`.
    func settleArrivals(untilNanoseconds end: UInt64 = .max) {
        guard !entering.arrivals.isEmpty else { return }
        stream.endFrame()
        let now = context.now()
        if !entering.missedPages.serve(entering.arrivals.encodings, lastSeq: state.lastSeq) {
            let encodings = entering.arrivals.encodings.union(entering.missedPages.encodings)
            endMissedPages()
            entering.missedPages = MissedPages(encodings: encodings, lastSeq: state.lastSeq)
        }
        var isFirst = true
        while isFirst || end == .max || EventLoop.nowNanoseconds < end, let arrival = entering.arrivals.popFirst() {
            isFirst = false
            // Connected again, its node asks again.
            guard !isLost(arrival.key.node) else { continue }
            holdIfThrownOut(arrival.call.caller.user, arrival.key)
            guard waiting.holds[arrival.key] == nil else {
                // In front of what the session has asked since.
                waiting.holds[arrival.key]?.calls.insert(
                    RoomRequest(room: id, from: arrival.call, .operation(.enter(arrival.request))), at: 0)
                continue
            }
            do throws(ChatError) {
                // Again: the room or the user's standing may have changed since.
                try checkMayEnter(arrival.request, arrival.call, arrival.key, at: now)
                try settle(arrival, at: now)
            } catch {
                refuse(arrival, error)
            }
        }
    }

    func refuse(_ arrival: Arrival, _ error: ChatError) {
        let call = arrival.call
        notify(call, .entered(call.address.session, request: call.request, .failure(error)))
    }

    /// Lets the lanes forget what they were told of what was missed.
    func endMissedPages() {
        for lane in entering.missedPages.toldLanes { stream.notify(lane, .missed(nil)) }
        entering.missedPages = MissedPages()
    }

    private func settle(_ arrival: Arrival, at now: Timestamp) throws(ChatError) {
        guard let info = state.info else { throw ChatError(.notFound, "there is no room \(id)") }
        let caller = arrival.call.caller
        let saved = state.memberRecord(of: caller.user)?.savedProfile ?? Profile()
        // The profile that a session has set lasts until its exit, over entering again. Only some fields of the saved
        // profile may have been given.
        let known = presence.visitor(arrival.key)?.profile ?? saved.filled(from: caller.tokenProfile)
        let request = arrival.request
        let profile = Profile(
            nick: request.nick ?? known.nick, avatar: request.avatar ?? known.avatar, ext: request.ext ?? known.ext)
        var visitor = Visitor(
            key: arrival.key, laneNumber: arrival.call.address.lane, user: caller.user, profile: profile,
            anonymous: caller.anonymous, device: caller.device,
            enteredAt: max(now, state.earliestStay(of: caller.user)))
        visitor.notifyExt = request.notifyExt
        visitor.addressHash = caller.addressHash
        visitor.encoding = arrival.call.address.encoding
        visitor.enteredBy = arrival.call.number
        visitor.revivedAt = caller.revivedAt
        // Its node is reached again, and may have nothing to announce: an enter without an answer is asked again.
        endGrace(of: arrival.key)
        _ = context.departed.value.remove(arrival.key, of: id)
        let isNew = presence.visitor(arrival.key) == nil
        stream.enter(visitor.lane)
        let effects = try presence.enter(
            visitor, role: role(of: visitor), notify: mayHaveBeenHere(caller) ? nil : info.enterExitNotify, at: now)
        // Those who go by this see no more but their own end, so what only they understand ends here too.
        stream.encodings = presence.encodings
        if isNew { budget.noteEntered(arrival.key) }
        var result = EnterResult(
            room: roomView ?? RoomView(info: info, online: Int64(presence.online)),
            me: presence.overlay(state.member(caller.user, at: now)), epoch: epoch,
            seq: state.lastSeq)
        let missed = fillMissed(&result, arrival, info)
        let missedAfter = missed.after
        if request.withTallies { result.tallies = state.tallyList + state.pollCounts }
        if request.withQueue { fillQueue(&result, beside: missed.bytes, info) }
        notify(
            arrival.call,
            .entered(
                arrival.call.address.session, request: arrival.call.request, .success(result), missedAfter: missedAfter)
        )
        sendUnsent(arrival, at: now)
        sendHeld(to: arrival, at: now)
        // Others hear of it behind the reply; so does whoever came.
        perform(effects)
    }

    /// The messages after `since`, at most 100 messages and at most as long as they may be, without a hole before the
    /// reply's `seq`; without `since`, and where they can't be given, the newest.
    /// - Returns: how many bytes they have; and the seq for which the lane has been told what the result lacks, nil
    ///   when it lacks nothing.
    private func fillMissed(_ result: inout EnterResult, _ arrival: Arrival, _ info: RoomInfo)
        -> (bytes: Int, after: UInt64?)
    {
        let isUnrecoverable = isUnrecoverable(arrival)
        if arrival.request.since != nil { result.recovered = !isUnrecoverable }
        guard !isUnrecoverable, let since = arrival.request.since else { return fillNewest(&result, arrival, info) }
        let bytesMax = missedBytes(info)
        if let stored = arrival.stored {
            var (missed, more) = (stored.messages, stored.more)
            let last = missed.last?.seq ?? since
            if !more, last < state.lastSeq {
                missed += newer(than: last, limit: Limits.missedMessages - missed.count)
                more = (missed.last?.seq ?? since) < state.lastSeq
            }
            let count = EnterResult.fittingMissed(missed, within: bytesMax)
            if count < missed.count { (missed, more) = (Array(missed.prefix(count)), true) }
            (result.missed, result.missedMore) = (missed, more)
            return (bytesMax, nil)
        }
        guard since < state.lastSeq else {
            (result.missed, result.missedMore) = ([], false)
            return (0, nil)
        }
        let page = entering.missedPages.page(after: since, bytesMax: bytesMax) {
            newer(than: since, limit: Limits.missedMessages)
        }
        let bytes = page.messages.byteCount
        guard bytes <= bytesMax else {
            // Made for others, before the room was given a longer announcement: history has it all.
            (result.missed, result.missedMore) = ([], true)
            return (0, nil)
        }
        result.missedMore = page.lastSeq < state.lastSeq
        sendMissed(page.messages, after: since, to: arrival.call.address)
        return (bytes, since)
    }

    /// Tells it to the session's lane, unless that has been told already.
    func sendMissed(_ messages: MissedMessages, after seq: UInt64, to address: SessionAddress) {
        let lane = Lane(node: address.node, number: address.lane)
        if entering.missedPages.noteFirstSent(lane, after: seq) { stream.notify(lane, .missed(messages)) }
    }

    func newer(than seq: UInt64, limit: Int) -> [Message] {
        recent.tail.messages(after: seq, lastSeq: state.lastSeq, limit: limit) ?? []
    }
}
