import ChatModel
import EventLoop
import RoomCore
import RoomProtocol
import Wire

/// Windows of taps on their way into the log, and totals on their way to viewers (PROTOCOL.md, "Tallies").
extension RoomActor {
    /// The taps that a lane has counted in a window become one command, whoever and however many have tapped: the lane
    /// has asked each tap whether its session may speak, by what this leader tells it of voices (`Voice`). A mute holds
    /// from where it stands in the room's stream to the lane, as for barrage; a list of users beside the sums would cost
    /// the leader what the sums save.
    func take(_ batch: TapBatch, from lane: Lane) {
        if let results = state.counted(batch) {
            // Applied, so it is on disk at a majority.
            return stream.notify(lane, .taps(window: batch.window, .success(results)))
        }
        // The lane asks again before the log has decided: one proposal is enough.
        if let window = tallyDesk.proposedTaps[batch.life], batch.window <= window { return }
        tallyDesk.proposedTaps[batch.life] = batch.window
        propose(
            Proposal(
                command: Command(id: nil, room: id, actor: .system, body: .tap(batch), facts: facts([])), key: nil,
                origin: .taps(lane, window: batch.window)))
    }

    // MARK: - What viewers are told

    /// A tally has changed. Viewers are told of it with the next tick of the host, or when they have not been told
    /// anything for as long as it takes.
    func noteTotal(of key: String) {
        tallyDesk.changed.insert(key)
        guard !tallyDesk.isOpen else { return }
        (tallyDesk.isOpen, tallyDesk.isNew) = (true, true)
        touch()
    }

    /// Somebody has voted: the counts of the open polls are told.
    func noteVotes(in row: String) {
        for count in state.pollCounts(ofRow: row) { noteTotal(of: count.key) }
    }

    /// Called with each tick of the host while totals have changed.
    /// - Returns: whether it is too early.
    func publishTotals() -> Bool {
        let now = context.loop.nowMilliseconds
        if let toldAt = tallyDesk.toldAt, now < toldAt + UInt64(context.policy.tallyPushMilliseconds) { return true }
        let changed = tallyDesk.changed
        (tallyDesk.changed, tallyDesk.isOpen) = ([], false)
        let present = state.tallyList + state.pollCounts
        let counts = present.filter { changed.contains($0.key) }
        guard !changed.isEmpty, !presence.lanes.isEmpty else { return false }
        tallyDesk.toldAt = now
        touch()
        // Some have gone: no lane tells them again.
        if counts.count < changed.count { stream.publishToEverybody(.frame(frame(of: [[], present]))) }
        // One frame for each encoding, for all viewers of all nodes.
        if !counts.isEmpty { stream.publishToEverybody(.frame(frame(of: [counts]))) }
        return false
    }

    /// A lane that was told something by another leader, or may have lost something, gets all totals, in place of what it
    /// was told before.
    func publishTotals(to lane: Lane) {
        let all = state.writtenTallies + state.pollCounts
        if !all.isEmpty { stream.notify(lane, .frame(frame(of: [all]))) }
    }

    /// A push for each list. One without totals begins a restatement: lanes take what follows in place of what they were
    /// told before, and give it to no viewer. Those of a version before give it to all, who learn nothing new from it.
    private func frame(of lists: [[Tally]]) -> SharedFrame {
        var writer = stream.blankWriter
        for tallies in lists {
            writer.append(
                .tallies(TalliesPush(room: id, totals: tallies.map { TallyCount(key: $0.key, count: $0.total) })))
        }
        return writer.frame(.totals)
    }
}
