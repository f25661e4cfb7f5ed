import ChatModel
import EventLoop
import Moderation
import RoomCore
import RoomProtocol
import SessionCore
import ShardPlacement
import Wire

/// Barrage on its way in and out. Up to what a room can show each item is passed on and answered by the leader. Beyond
/// that the lane judges by what it has been told of the session, answers, and sends the leader the best of a window.
extension GatewayLane {
    /// Keeps an item until the end of the window, or refuses it: beyond what a window can show nobody's item goes on, also
    /// that of whoever may not speak.
    /// - Returns: false when it has to be passed on.
    func sift(_ request: BarrageRequest, _ id: UInt32?, session: LaneSession, connection: ClientConnection) -> Bool {
        guard let hub = hubs[request.room], session.state.isIn(request.room) || session.state.isEntering(request.room)
        else {
            return false
        }
        let intake = intake(of: hub)
        guard !intake.sieve.passes(from: session.id, at: loop.nowMilliseconds) else { return false }
        let text: String
        let voice: Voice
        do throws(ChatError) {
            voice = try self.voice(of: session, in: hub)
            text = words.isEmpty ? request.text : try words.passed(request.text, "text")
        } catch {
            connection.reply(id, error: error)
            return true
        }
        var item = BarrageCandidate(
            sender: session.id, text: text,
            hash: SampleHash.item(of: session.hash, number: session.state.pass()))
        (item.ext, item.style) = (request.ext, request.style)
        // HIGH is for creator and managers (PROTOCOL.md, "Priority").
        let mayBeHigh = voice.role.rank >= Role.manager.rank
        item.priority = request.priority == .high && !mayBeHigh ? .normal : request.priority
        intake.sieve.hold(item)
        if intake.caller == nil { intake.caller = (address(of: session), session.state.caller) }
        connection.reply(id, .barrage(BarrageResult()))
        if intake.sieve.isFull { endWindow(of: hub) } else { schedule(intake, of: hub) }
        return true
    }

    /// Throws what the leader would say of whoever may not speak; 503 while it has not told who the session is there.
    private func voice(of session: LaneSession, in hub: Hub) throws(ChatError) -> Voice {
        guard let voice = session.state.voice(in: hub.room) else {
            throw ChatError(
                .unavailable, "\(hub.room) takes no more barrage from here now",
                retryAfterMs: Int64(BarrageSieve.windowMilliseconds))
        }
        let refusal = voice.refusal(
            of: session.state.caller.user, in: hub.room, isMuted: hub.isMuted, at: shared.now())
        if let refusal { throw refusal }
        return voice
    }

    private func intake(of hub: Hub) -> BarrageIntake {
        if let intake = hub.intake { return intake }
        // The room's leader knows how many the room allows: this only bounds what goes there.
        let high = max(configuration.highPerSecondMax, Int(Limits.highPerSecond))
        let intake = BarrageIntake(perSecond: configuration.barragePerViewerPerSecond, highPerSecond: high)
        hub.intake = intake
        return intake
    }

    private func schedule(_ intake: BarrageIntake, of hub: Hub) {
        guard !intake.isScheduled else { return }
        intake.isScheduled = true
        loop.schedule(afterMilliseconds: BarrageSieve.windowMilliseconds) { [weak self, weak hub] in
            guard let self, let hub else { return }
            hub.intake?.isScheduled = false
            endWindow(of: hub)
        }
    }

    /// Sends the best of the window to the leader. While there is none the window stays open.
    func endWindow(of hub: Hub) {
        guard let intake = hub.intake, !intake.sieve.isEmpty, let (address, caller) = intake.caller else { return }
        guard open.leader(of: shared.shardMap.shard(of: hub.room)) != nil else {
            showOverflow(of: intake, hub)
            return schedule(intake, of: hub)
        }
        let window = intake.sieve.close(at: loop.nowMilliseconds)
        watch(intake, of: hub)
        let batch = BarrageBatch(
            window: window.number, candidates: window.candidates, leftOut: window.leftOut)
        call(RoomRequest(room: hub.room, from: SessionOrigin(address, caller), .barrages(batch)))
        showOverflow(of: intake, hub)
    }

    /// Another node leads these rooms: what the former leader was sent and has not shown counts as left out.
    func loseBarrage(of shard: ShardID) {
        for (room, hub) in hubs where shared.shardMap.shard(of: room) == shard { loseBarrage(of: hub) }
    }

    func loseBarrage(of hub: Hub) {
        guard let intake = hub.intake else { return }
        intake.sieve.loseOpen()
        if !intake.sieve.isEmpty { schedule(intake, of: hub) }
    }

    /// Windows that a leader has not answered count as left out, too: else their senders would never see them.
    func loseOverdueBarrage() {
        for hub in exchange(&sifting, with: []) {
            guard let intake = hub.intake else { continue }
            intake.isAwaited = false
            // It may have been answered, and the last viewer may have left.
            guard intake.sieve.isWaiting, hubs[hub.room] === hub else { continue }
            intake.sieve.loseOverdue(at: loop.nowMilliseconds)
            if !intake.sieve.isEmpty { schedule(intake, of: hub) }
            watch(intake, of: hub)
        }
    }

    private func watch(_ intake: BarrageIntake, of hub: Hub) {
        guard !intake.isAwaited, intake.sieve.isWaiting else { return }
        intake.isAwaited = true
        sifting.append(hub)
    }

    // MARK: - What the leader says

    func settle(_ window: UInt64, shown: [UInt32], in hub: Hub) {
        guard let intake = hub.intake else { return }
        echo(intake.sieve.settle(window, shown: shown), of: intake, hub)
        if !intake.sieve.isEmpty { schedule(intake, of: hub) }
    }

    func echo(_ items: [BarrageItem], to session: SessionID, in hub: Hub) {
        let intake = intake(of: hub)
        for item in items { intake.echo(item, to: session) }
    }

    private func echo(_ candidates: [BarrageCandidate], of intake: BarrageIntake, _ hub: Hub) {
        guard !candidates.isEmpty else { return }
        let now = shared.now()
        for candidate in candidates {
            guard let session = sessions[candidate.sender], let stay = session.state.stays[hub.room],
                let voice = session.state.voice(in: hub.room)
            else { continue }
            var item = BarrageItem(
                from: Sender(user: session.state.caller.user, profile: stay.profile, role: voice.role),
                text: candidate.text, time: now)
            (item.ext, item.style, item.priority) = (candidate.ext, candidate.style, candidate.priority)
            intake.echo(item, to: candidate.sender)
        }
    }

    /// Nobody has answered for so long that senders get their own before the sample.
    private func showOverflow(of intake: BarrageIntake, _ hub: Hub) {
        let overflow = intake.sieve.takeOverflow()
        guard !overflow.isEmpty else { return }
        echo(overflow, of: intake, hub)
        show(nil, skipped: 0, in: hub)
    }

    /// The end of a room's window. A session that gets its own besides is told of so many fewer that it was spared.
    func show(_ sample: SharedFrame?, skipped: Int, in hub: Hub) {
        var writer = SharedFrameWriter(ClientEncodings(ClientEncoding.allCases.map { ClientEncodings($0) }))
        let told = skippedPush(skipped, hub.room)
        if skipped > 0 { writer.append(told) }
        let whole =
            sample.map { skipped > 0 ? $0.followed(by: told, told: skipped) : $0 }
            ?? (skipped > 0 ? writer.frame(.barrage(.low), barrage: skipped, told: skipped) : nil)
        let echoes = hub.intake?.takeEchoes() ?? [:]
        var special: [(viewer: ClientConnection, own: [BarrageItem])] = []
        for (id, own) in echoes {
            if let viewer = sessions[id]?.connection, viewer.views[hub.room] != nil { special.append((viewer, own)) }
        }
        guard !special.isEmpty else {
            if let whole { hub.broadcast(whole) }
            return
        }
        if let whole { hub.broadcast(whole, except: special.map(\.viewer)) }
        var frames = sample.map { LaneFrames($0, of: hub.room, countedIn: buffers) }
        for (viewer, own) in special {
            hub.settle(viewer)
            frames?.enqueue(to: viewer)
            for frame in ownFrames(own, skipped, encoding: viewer.encoding, room: hub.room) {
                var ownFrames = LaneFrames(frame, of: hub.room, countedIn: buffers)
                ownFrames.enqueue(to: viewer)
            }
        }
    }

    /// One as a rule; more where it would be longer than a frame may be.
    private func ownFrames(_ own: [BarrageItem], _ skipped: Int, encoding: ClientEncoding, room: RoomID)
        -> [SharedFrame]
    {
        var left = skipped
        let parts = FrameSize.parts(of: own, within: Limits.framePayloadBytes - 1024, FrameSize.of)
        return parts.enumerated().map { index, items in
            let count = items.reduce(0) { $0 + Int(clamping: $1.count) }
            var writer = SharedFrameWriter(ClientEncodings(encoding))
            writer.append(.barrage(BarragePush(room: room, items: Array(items))))
            left -= count
            guard index == parts.count - 1 else { return writer.frame(.barrage(.high), barrage: count) }
            if left > 0 { writer.append(skippedPush(left, room)) }
            return writer.frame(.barrage(.high), barrage: max(left + count, count), told: max(left, 0))
        }
    }

    private func skippedPush(_ count: Int, _ room: RoomID) -> Push {
        var push = SkippedPush(room: room)
        push.barrage = Int64(count)
        return .skipped(push)
    }
}
