import ChatModel
import RoomCore
import RoomProtocol
import Telemetry
import Wire

/// Barrage: never kept, never in the log. Everything that is shown has been judged here, by who may speak and by the
/// words; what gateways leave out has been judged by them (see `BarrageSieve`).
extension RoomActor {
    /// One item that came by itself, and is answered.
    func speakBarrage(_ request: BarrageRequest, _ call: SessionOrigin, _ visitor: Visitor, at now: Timestamp)
        throws(ChatError)
    {
        var item = try item(request.text, request.priority, visitor, at: now)
        (item.ext, item.style) = (request.ext, request.style)
        let hash = SampleHash.item(of: SampleHash.sender(visitor.key.session), number: call.number)
        desk.window.add(item, from: visitor.key, hash: hash)
        touchBarrage()
        reply(call, .success(.barrage(BarrageResult())))
    }

    /// Takes the batch that a gateway loop sends at the end of a window. Senders that have gone, or may not speak any
    /// more, have been left out.
    func take(_ batch: BarrageBatch, from lane: Lane, at now: Timestamp) {
        let source = desk.sources.count
        desk.sources.append(BarrageDesk.Source(lane: lane, window: batch.window))
        for (index, candidate) in batch.candidates.enumerated() {
            let key = PresenceKey(node: lane.node, session: candidate.sender)
            guard mayThrow(key), let visitor = presence.visitor(key),
                var item = try? item(candidate.text, candidate.priority, visitor, at: now)
            else {
                desk.window.leaveOut(candidate.count)
                continue
            }
            (item.ext, item.style, item.count) = (candidate.ext, candidate.style, candidate.count)
            desk.window.add(
                item, hash: candidate.hash, part: BarrageWindow.Part(window: source, candidate: index))
        }
        desk.window.leaveOut(batch.leftOut)
        touchBarrage()
    }

    /// Throws what `RoomState.maySpeak` throws, and 13009.
    private func item(_ text: String, _ priority: Priority, _ visitor: Visitor, at now: Timestamp) throws(ChatError)
        -> BarrageItem
    {
        try state.maySpeak(visitor.user, anonymous: visitor.anonymous, at: now)
        try requireVoice(of: visitor, at: now)
        let role = state.role(of: visitor.user).shownToOthers
        var item = BarrageItem(
            from: Sender(user: visitor.user, profile: visitor.profile, role: role), text: try passed(text, "text"),
            time: now)
        // HIGH is for creator and managers (PROTOCOL.md, "Priority").
        item.priority = priority == .high && role.rank < Role.manager.rank ? .normal : priority
        return item
    }

    /// HIGH barrages a second: the room's limit of HIGH messages, else the node's.
    static func highPerSecond(_ own: Int64?, _ policy: RoomPolicy) -> Int {
        own.map { Int(clamping: $0) } ?? policy.highPerSecondMax
    }

    // MARK: - The end of a window

    func closeBarrageWindow() {
        barrageEnded()
        let sample = desk.window.take(at: context.now())
        let sources = desk.sources
        desk.sources = []
        guard !sample.items.isEmpty || sample.skipped > 0 else { return }
        touch()
        desk.shown += Int64(sample.items.count)
        desk.dropped += Int64(sample.skipped)
        context.figures.barrageShown.add(sample.items.count)
        context.figures.barrageSkipped.add(sample.skipped)
        notify(sources, of: sample)
        show(sample)
    }

    /// Each gateway loop that has sent a window echoes what is not shown of it.
    private func notify(_ sources: [BarrageDesk.Source], of sample: BarrageWindow.Sample) {
        var shown = [[UInt32]](repeating: [], count: sources.count)
        for part in sample.shown { shown[part.window].append(UInt32(clamping: part.candidate)) }
        for (source, shown) in zip(sources, shown) {
            stream.notify(source.lane, .barrageReceipt(window: source.window, shown: shown))
        }
    }

    /// The sample for everybody; for whoever sent an item that was not picked, that item besides.
    private func show(_ sample: BarrageWindow.Sample) {
        var echoes: [PresenceKey: [BarrageItem]] = [:]
        for echo in sample.echoes { echoes[echo.sender, default: []].append(echo.item) }
        for (key, items) in echoes {
            guard let visitor = presence.visitor(key) else { continue }
            stream.notify(visitor.lane, .barrageEcho(key.session, items))
        }
        var frames = frames(of: sample.items)
        let last = frames.popLast()
        for frame in frames { stream.publishToEverybody(.frame(frame)) }
        stream.publishToEverybody(.barrage(last, skipped: sample.skipped))
    }

    /// One for each priority, so that a slow viewer's LOW ones can go first; more where they would be too long.
    private func frames(of items: [BarrageItem]) -> [SharedFrame] {
        var frames: [SharedFrame] = []
        for priority in [Priority.high, .normal, .low] {
            let parts = FrameSize.parts(
                of: items.filter { $0.priority == priority }, within: Limits.framePayloadBytes - 1024, FrameSize.of)
            for part in parts {
                var writer = stream.blankWriter
                writer.append(.barrage(BarragePush(room: id, items: Array(part))))
                frames.append(
                    writer.frame(.barrage(priority), barrage: part.reduce(0) { $0 + Int(clamping: $1.count) }))
            }
        }
        return frames
    }

    // MARK: - What gateways judge by

    /// Gateways are told what a user's sessions may say.
    func publishVoices(of user: UserID) {
        let now = context.now()
        for visitor in presence.visitors(of: user) where !visitor.isRobot { publishVoice(of: visitor, at: now) }
    }

    func publishVoice(of visitor: Visitor, at now: Timestamp) {
        let member = presence.overlay(state.member(visitor.user, at: now))
        stream.notify(visitor.lane, .voice(visitor.key.session, Voice(member, in: state.incarnation, at: now)))
    }

    /// Gateways are told when the room is muted and when it is no more.
    func publishSilence() {
        let isMuted = inPlace(&state) { $0.isMuted }
        guard isMuted != desk.toldMuted else { return }
        desk.toldMuted = isMuted
        if !presence.lanes.isEmpty { stream.publishToEverybody(.silence(isMuted)) }
    }
}
