import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement
import Synchronization
import Telemetry
import Wire

/// Taps on tallies (PROTOCOL.md, "Tallies"): an addition each. At the end of a window the room's leader gets the sums.
///
/// The lane decides whether a session may speak, by what the leader tells it of that (`Voice`), as for barrage that is not
/// passed on: the leader is told sums and not who has tapped. A tap with a `clientId` goes to the leader by itself.
extension GatewayLane {
    /// Takes a tap of a session whose rates and room have been looked at.
    /// - Parameter number: the session's, under which it waits for the answer; nil: it does not.
    /// - Returns: false when it has to be passed on by itself.
    func take(_ tap: TapRequest, _ number: UInt32?, _ session: LaneSession) -> Bool {
        guard shared.takesTaps.load(ordering: .relaxed) else {
            refuse(tap, number, session: session, error: .upgrading(.tallies))
            return true
        }
        guard tap.clientID == nil else { return false }
        guard let voice = session.state.voice(in: tap.room), let hub = hubs[tap.room] else {
            // It is entering, or its leader has just changed.
            guard number == nil else { return false }
            shared.figures.tapsDropped.add(Int(tap.delta))
            return true
        }
        let refusal = voice.refusal(
            of: session.state.caller.user, in: tap.room, isMuted: hub.isMuted, at: shared.now())
        if let refusal {
            refuse(tap, number, session: session, error: refusal)
            return true
        }
        guard number == nil || waitingTaps < OpenRequests.openMax else {
            refuse(tap, number, session: session, error: tooManyTaps)
            return true
        }
        guard let intake = intake(of: tap.room, voice.incarnation, session) else {
            refuse(tap, number, session: session, error: .tappedBefore(tap.room))
            return true
        }
        let waiter = number.map { (session: session.id, request: $0) }
        guard intake.windows.add(tap.delta, to: tap.key, waiter: waiter, at: loop.nowMilliseconds) else {
            refuse(tap, number, session: session, error: tooManyTaps)
            return true
        }
        if number != nil { waitingTaps += 1 }
        if !intake.windows.isSending { schedule(intake, of: tap.room) }
        return true
    }

    private var tooManyTaps: ChatError {
        ChatError(
            .unavailable, "too many taps wait to be counted", retryAfterMs: Int64(TapWindows.windowMilliseconds))
    }

    /// A request without an ID gets no answer. The taps are counted as dropped.
    private func refuse(_ tap: TapRequest, _ number: UInt32?, session: LaneSession, error: ChatError) {
        shared.figures.tapsDropped.add(Int(tap.delta))
        if let number { answerTap(session.id, number, room: tap.room, result: .failure(error)) }
    }

    /// - Returns: nil when the room was deleted in which the session is.
    private func intake(of room: RoomID, _ incarnation: Incarnation?, _ session: LaneSession) -> TapIntake? {
        if let intake = taps[room] {
            let (own, others) = (incarnation ?? Incarnation(0), intake.windows.incarnation ?? Incarnation(0))
            guard own > others else { return own == others ? intake : nil }
            giveUp(intake, room)
        }
        let intake = TapIntake(
            life: life, of: incarnation, address: address(of: session), caller: session.state.caller)
        taps[room] = intake
        return intake
    }

    /// The room was deleted, and is made anew. Its last window may have been counted before.
    private func giveUp(_ intake: TapIntake, _ room: RoomID) {
        let (waiters, dropped) = intake.windows.giveUp()
        shared.figures.tapsDropped.add(Int(clamping: dropped))
        waitingTaps -= waiters.count
        let error = ChatError(.unavailable, "the room in which this was tapped was deleted", retryAfterMs: 500)
        for waiter in waiters { answerTap(waiter.session, waiter.request, room: room, result: .failure(error)) }
    }

    private func schedule(_ intake: TapIntake, of room: RoomID) {
        guard !intake.isScheduled else { return }
        intake.isScheduled = true
        loop.schedule(afterMilliseconds: TapWindows.windowMilliseconds) { [weak self, weak intake] in
            guard let self, let intake else { return }
            intake.isScheduled = false
            endTaps(intake, of: room)
        }
    }

    /// Sends the window, unless the former is on its way. While there is no leader it stays open.
    private func endTaps(_ intake: TapIntake, of room: RoomID) {
        guard open.leader(of: shared.shardMap.shard(of: room)) != nil else {
            if !intake.windows.isIdle { schedule(intake, of: room) }
            return
        }
        lastTapWindow += 1
        if let batch = intake.windows.close(as: lastTapWindow, at: loop.nowMilliseconds) {
            call(request(for: batch, intake, room))
        }
    }

    private func request(for batch: TapBatch, _ intake: TapIntake, _ room: RoomID) -> RoomRequest {
        RoomRequest(room: room, from: SessionOrigin(intake.address, intake.caller), .taps(batch))
    }

    /// Another node leads these rooms, or the same one is reached again: what is on its way is sent again, under the same
    /// number.
    func tapsAgain(of shard: ShardID) -> [RoomRequest] {
        taps.compactMap { room, intake in
            guard shared.shardMap.shard(of: room) == shard else { return nil }
            return intake.windows.sendAgain(isOverdue: false, at: loop.nowMilliseconds).map {
                request(for: $0, intake, room)
            }
        }
    }

    /// Ten times a second: windows that nobody has answered are sent again, and those who have waited for long are
    /// answered.
    func watchTaps() {
        guard !taps.isEmpty else { return }
        let now = loop.nowMilliseconds
        for (room, intake) in taps {
            let hasLeader = open.leader(of: shared.shardMap.shard(of: room)) != nil
            let (waiters, dropped) = intake.windows.expire(hasLeader: hasLeader, at: now)
            shared.figures.tapsDropped.add(Int(clamping: dropped))
            waitingTaps -= waiters.count
            for waiter in waiters {
                let error = ChatError(.unavailable, "the room has no leader at the moment", retryAfterMs: 500)
                answerTap(waiter.session, waiter.request, room: room, result: .failure(error))
            }
            if hasLeader, let batch = intake.windows.sendAgain(isOverdue: true, at: now) {
                call(request(for: batch, intake, room))
            }
            // The window that was on its way has been given up: what was added up behind it goes on.
            if !intake.windows.isIdle, !intake.windows.isSending { schedule(intake, of: room) }
            forgetIfIdle(intake, room)
        }
    }

    /// The leader says what has become of a window.
    func settleTaps(_ window: UInt64, _ result: Result<[Int64], ChatError>, of room: RoomID) {
        guard let intake = taps[room], let settled = intake.windows.settle(window, result, in: room) else { return }
        shared.figures.tapsCounted.add(Int(clamping: settled.counted))
        shared.figures.tapsDropped.add(Int(clamping: settled.refused))
        waitingTaps -= settled.answers.count
        for (waiter, total) in settled.answers {
            answerTap(waiter.session, waiter.request, room: room, result: total.map { .tally(TapResult(total: $0)) })
        }
        forgetIfIdle(intake, room)
        if !intake.windows.isIdle { schedule(intake, of: room) }
    }

    private func forgetIfIdle(_ intake: TapIntake, _ room: RoomID) {
        if intake.windows.isIdle { taps[room] = nil }
    }

    private func answerTap(
        _ id: SessionID, _ number: UInt32, room: RoomID, result: Result<OperationResult, ChatError>
    ) {
        settleCost(of: number, id, isRepeat: false)
        reply(to: id, number, result, of: room)
    }
}
