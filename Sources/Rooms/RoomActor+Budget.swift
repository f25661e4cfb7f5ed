import ChatModel
import RoomCore
import RoomProtocol
import Telemetry
import Wire

/// The viewers in a room that are shown a message, and the notice to the others (PROTOCOL.md, "Viewer budget",
/// "Unkept").
extension RoomActor {
    /// Shows a message to everybody, or to whom it concerns when it is directed or the room is big and busy.
    func publish(_ message: Message) {
        // Another node shows it, and no viewer of this one misses it.
        guard isLed else { return }
        guard presence.online > context.policy.viewerBudgetAboveOnline else {
            if message.to.isEmpty { return stream.show(message) }
            return stream.show(message, to: presence.sessions(of: message.concernedUsers))
        }
        switch budget.audience(of: message, perSecond: viewerBudget, at: message.time) {
        case .everybody:
            stream.show(message)
        case .only(let users):
            let sessions = presence.sessions(of: users)
            stream.show(message, to: sessions)
            if message.to.isEmpty {
                context.figures.messagesLeftOut.add()
                if message.seq == nil { noteShown(to: sessions) }
            } else {
                noteSpared(message.concernedUsers.filter { !users.contains($0) })
            }
        }
    }

    /// Kept messages that nobody is shown: viewers are told of them with what the budget leaves out, at most once a
    /// second. Their lanes go on behind these at once, so that none takes them for what it has missed.
    func leaveOut(_ seqs: ClosedRange<UInt64>, at time: Timestamp) {
        guard !presence.lanes.isEmpty, let gap = gapFrame([seqs]) else { return }
        budget.leaveOut(seqs, at: time)
        stream.endFrame()
        for lane in presence.lanes where !stream.isWaiting(lane) { stream.notify(lane, .frameFor([], gap)) }
    }

    private var viewerBudget: Int {
        state.info?.viewerBudget.map { Int(clamping: $0) } ?? context.policy.viewerBudgetPerSecond
    }

    private func noteShown(to sessions: [(lane: Lane, sessions: [SessionID])]) {
        for (lane, sessions) in sessions {
            for session in sessions { budget.noteShown(to: PresenceKey(node: lane.node, session: session)) }
        }
    }

    private func noteSpared(_ users: [UserID]) {
        for (lane, sessions) in presence.sessions(of: users) {
            for session in sessions { budget.noteSpared(PresenceKey(node: lane.node, session: session)) }
        }
    }

    /// Tells what was left out, if it is time: one `gap` for all viewers, and `skipped`, which is another number for
    /// those who were shown some of it, or came in the middle of it.
    /// - Parameter isLast: another node leads from now on, and does not know of it.
    func publishLeftOut(at now: Timestamp, isLast: Bool = false) {
        guard let report = budget.takeReport(at: now, isLast: isLast) else { return }
        if let gap = gapFrame(report.ranges) { stream.publishToEverybody(.frame(gap)) }
        let special = report.corrections.keys.compactMap { presence.visitor($0) }
        if let everybody = skippedFrame(unkept: report.unkept) {
            stream.publishToEverybody(
                special.isEmpty ? .frame(everybody) : .frameExcept(special.map(\.key.session), everybody))
        }
        for visitor in special {
            guard let own = skippedFrame(unkept: report.unkept(of: visitor.key)) else { continue }
            stream.notify(visitor.lane, .frameFor([visitor.key.session], own))
        }
    }

    /// This leader's time is over.
    func publishLastLeftOut(at now: Timestamp) {
        guard budget.reportDueAt != nil else { return }
        publishLeftOut(at: now, isLast: true)
        touch()
    }

    /// Tells a session that comes back what it may have missed the telling of.
    func sendUnsent(_ arrival: Arrival, at now: Timestamp) {
        guard let since = arrival.request.since, arrival.request.epoch == epoch,
            let range = budget.untold(through: min(since, state.lastSeq), at: now), let gap = gapFrame([range])
        else { return }
        notify(arrival.call, .frameFor([arrival.call.address.session], gap))
    }

    private func gapFrame(_ ranges: [ClosedRange<UInt64>]) -> SharedFrame? {
        guard let first = ranges.first, let last = ranges.last else { return nil }
        let told = ranges.map { SeqRange(from: $0.lowerBound, to: $0.upperBound) }
        var writer = stream.blankWriter
        writer.append(.gap(GapPush(room: id, ranges: told, cause: .budget)))
        return writer.frame(.messages, keptSeqs: first.lowerBound...last.upperBound)
    }

    private func skippedFrame(unkept: Int) -> SharedFrame? {
        guard unkept > 0 else { return nil }
        var push = SkippedPush(room: id)
        push.unkept = Int64(unkept)
        var writer = stream.blankWriter
        writer.append(.skipped(push))
        return writer.frame(.messages, unkept: unkept)
    }
}
