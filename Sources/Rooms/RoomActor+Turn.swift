import ChatModel
import History
import RoomCore
import RoomProtocol

/// The output of a turn: the host is told that there is some, and takes it once at the end.
extension RoomActor {
    func touch() { if turn.dirt == .clean { turn.dirt = .dirty } }

    /// After something that no call of the host has brought: an answer from storage.
    func wake() {
        touch()
        wakeHost(self)
    }

    func touchBarrage() {
        guard !desk.isOpen else { return }
        desk.isOpen = true
        desk.isNew = true
        touch()
    }

    func propose(_ proposal: consuming Proposal) {
        if state.heldCount > 0 { denyHeld(before: proposal.command.body) }
        if let ready = mindingRecalls(proposal) { propose(ProposedCommand(consume ready)) }
    }

    /// Proposes it as it is.
    func propose(_ ready: ProposedCommand) {
        if let slot = ready.content.slot { waiting.undecided.propose(slot) }
        turn.proposed.append(ready)
    }

    /// The host proposes these now.
    func takeProposals() -> [ProposedCommand] {
        guard !turn.proposed.isEmpty else { return [] }
        defer { turn.proposed = [] }
        return turn.proposed
    }

    /// Whether the host must put a room on its lists of this turn.
    struct NewDirt {
        var isDirty: Bool
        var hasBarrage: Bool
        var hasTotals: Bool
    }

    func takeDirt() -> NewDirt {
        let isNewlyDirty = turn.dirt == .dirty
        if isNewlyDirty { turn.dirt = .reported }
        defer { (desk.isNew, tallyDesk.isNew) = (false, false) }
        return NewDirt(isDirty: isNewlyDirty, hasBarrage: desk.isNew, hasTotals: tallyDesk.isNew)
    }

    /// Everything that the host takes after each call of a room: `takeProposals` and `takeDirt`. Together with the call
    /// itself, because entering an actor costs as much as some calls do.
    func takeOutcome() -> (proposed: [ProposedCommand], dirt: NewDirt) { (takeProposals(), takeDirt()) }

    /// The result of a room's turn.
    struct TurnResult {
        var publications: [(node: NodeID, publication: NodePublication)]
        var answers: [(NodeID, ServerAnswer)]
        /// The room's row, if it has changed.
        var roomRow: CatalogueRow?
        /// There was no time for everything: it is to be asked again in the next turn.
        var hasMore: Bool
    }

    /// Everything emitted in this turn, for each node that is concerned.
    ///
    /// - Parameters:
    ///   - term: the leader's.
    ///   - end: until when enters are answered, by `EventLoop.nowNanoseconds`.
    func takeTurn(term: UInt64, untilNanoseconds end: UInt64) -> TurnResult {
        turn.dirt = .clean
        publishLeftOut(at: context.now())
        turn.unwrittenFrom = nil
        settleArrivals(untilNanoseconds: end)
        if entering.arrivals.isEmpty { endMissedPages() }
        let (lanes, encodings) = inPlace(&presence) { ($0.lanes, $0.encodings) }
        let publications = stream.take(room: id, term: term, viewerLanes: lanes)
        stream.encodings = encodings
        let changed = turn.roomChange.flatMap { index in
            inPlace(&state) { $0.roomRow }.map { row($0, state.incarnation, index) }
        }
        turn.roomChange = nil
        readWritten()
        // It stays on the host's list then.
        turn.dirt = entering.arrivals.isEmpty ? .clean : .reported
        defer { turn.answers = [] }
        return TurnResult(
            publications: publications, answers: turn.answers, roomRow: changed, hasMore: !entering.arrivals.isEmpty)
    }

    /// Returns when history has everything that was applied: the server API's callers, who are not told by what a turn
    /// publishes, may ask for what was acked a moment ago.
    func writtenRows() async {
        guard turn.hasUnwrittenHistory else { return }
        await withCheckedContinuation { turn.waitingReads.append($0) }
    }

    /// The rows of this turn are handed to storage with its end.
    private func readWritten() {
        turn.hasUnwrittenHistory = false
        guard !turn.waitingReads.isEmpty else { return }
        let waiting = turn.waitingReads
        turn.waitingReads = []
        for read in waiting { read.resume() }
    }

    func barrageEnded() { desk.isOpen = false }
}
