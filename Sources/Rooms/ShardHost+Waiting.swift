import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import RoomCore
import RoomProtocol
import Wire

/// Answers must be current: nobody else leads meanwhile, and everything that was acked is in them. Work waits for that.
extension ShardHost {
    // MARK: - Until a majority has confirmed

    /// A read needs the word of a majority that nobody else leads meanwhile (thesis §6.4); a change gets it with its
    /// commit.
    func mayAnswer(_ request: RoomRequest) -> Bool {
        if log.isSoleVoter { return true }
        switch request.body {
        // In the lane's own order, whichever of its sessions waits for something else.
        case .announce, .follow: return true
        default: break
        }
        if let session = request.session, questions.mentions(PresenceKey(session.address)) { return false }
        return !request.mustBeCurrent
    }

    func confirm(_ work: RoomWork) {
        guard questions.append(work) else {
            return refusals.fail(work, ChatError(.unavailable, "too many questions wait", retryAfterMs: 500))
        }
        confirmNext()
    }

    /// One confirmation for everything that waits; what comes meanwhile waits for the next.
    private func confirmNext() {
        guard questions.beginConfirming() else { return }
        log.readIndex { [unowned self] result in
            // Where leadership was lost they have been refused already.
            guard case .success = result else { return }
            questions.endConfirming()
            noteWork()
            context.loop.executeLater {}
            confirmNext()
        }
    }

    /// Answers what is confirmed, until there is none or the time is over.
    /// - Returns: whether there is more.
    func takeConfirmed(untilNanoseconds end: UInt64) -> Bool {
        while let work = questions.takeConfirmed() {
            take(work)
            if end != .max, EventLoop.nowNanoseconds >= end { return true }
        }
        return false
    }

    // MARK: - Until what is committed has been applied

    /// Whether everything has been applied that was committed before this node led.
    var isUpToDate: Bool {
        // Later entries are acked after they have been applied, so nobody knows of them yet.
        let former = formerIndex ?? log.commitIndex
        if log.isEstablished { formerIndex = former }
        return queue.isEmpty && appliedIndex >= former
    }

    /// Whether committed entries are still to be applied; then the work waits for that.
    func mustWait(_ work: RoomWork) -> Bool {
        if isUpToDate { return false }
        // Nobody knows when that will be.
        if !storage.health.takesRows, !work.isPresence {
            refusals.fail(work, ShardProposals.tooSlow)
            return true
        }
        if work.mayWait(behind: early.count, max: Self.earlyMax) {
            early.append(work)
        } else {
            refusals.fail(
                work, ChatError(.unavailable, "the shard's rooms are still loading", retryAfterMs: 500))
        }
        return true
    }

    /// Waiting work is received anew: more may have changed than what it has waited for.
    func receiveEarly() {
        guard !early.isEmpty else { return }
        for work in takeEarly() { receive(work) }
    }

    /// Nobody knows when everything will have been applied: who asks is told why, and who is here goes on waiting.
    func failEarly(_ error: ChatError) {
        let failed = early.filter { !$0.isPresence }
        early.removeAll { !$0.isPresence }
        for work in failed { refusals.fail(work, error) }
    }

    func takeEarly() -> [RoomWork] {
        defer { early = [] }
        return early
    }

    private static let earlyMax = 10_000
}
