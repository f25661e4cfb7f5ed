import ChatModel
import EventLoop
import GroupDriver
import History
import RoomCore
import RoomProtocol
import SessionCore
import Telemetry
import Webhooks
import Wire

/// One active chatroom, pinned to the loop of its shard.
///
/// Durable state (`RoomState`) changes only in `apply`, in log order. Presence and barrage are soft and belong to the
/// leader. The output of a turn is collected in `stream` and taken once, at the end of the turn.
actor RoomActor {
    nonisolated let id: RoomID
    /// The number of the ID (`RoomTally.number`).
    nonisolated let number: UInt64
    nonisolated let context: RoomContext
    nonisolated let storage: ShardStorage
    nonisolated let shard: ShardID
    private let wakeHost: @Sendable (RoomActor) -> Void

    nonisolated var unownedExecutor: UnownedSerialExecutor { context.loop.asUnownedSerialExecutor() }

    var state: RoomState
    var presence: Presence
    var recent = RecentHistory()
    var desk: BarrageDesk
    var tallyDesk = TallyDesk()
    var budget = ViewerBudget()
    var stream = TurnStream()
    /// The rest of this turn's output.
    var turn = RoomTurn()
    var entering = RoomEntering()
    var waiting = WaitingSessions()
    var reading = RoomReading()
    var graces = Graces()
    var times: RoomTimes
    /// The tallies of lanes as they were made last.
    var laneTallies: (stamp: TallyStamp, tallies: [LaneRoomTally])?
    /// The host's notes.
    var note = RoomAgenda.Note()

    /// Throws `WireError` when stored rows can't be understood.
    /// - Parameters:
    ///   - ledSince: since when this node leads the shard; nil while it does not.
    ///   - wake: tells the host that something was emitted outside of a call.
    init(
        id: RoomID, shard: ShardID, ledSince: Timestamp?, loaded: LoadedRoom, storage: ShardStorage,
        context: RoomContext, wake: @escaping @Sendable (RoomActor) -> Void
    ) throws {
        self.id = id
        number = RoomTally.number(of: id)
        wakeHost = wake
        self.shard = shard
        self.storage = storage
        self.context = context
        presence = Presence(policy: context.policy)
        desk = BarrageDesk(
            perSecond: context.policy.barragePerViewerPerSecond, highPerSecond: context.policy.highPerSecondMax)
        let now = context.now()
        times = RoomTimes(activatedAt: now, ledSince: ledSince ?? now)
        let learning = context.policy.onlinePushSeconds
        if let ledSince, now < ledSince.adding(seconds: learning) { presence.beginCounting(at: now) }
        (state, recent.tail) = try Self.restore(id, loaded)
        desk.toldMuted = state.info?.muted ?? false
        desk.window.highPerSecond = Self.highPerSecond(state, context.policy)
        for (robot, enteredAt) in state.robotsByEntering {
            guard let visitor = Visitor(robot, enteredAt: enteredAt) else { continue }
            _ = presence.announce(visitor, role: state.role(of: robot.user))
        }
        let graceEnd = times.activatedAt.adding(seconds: context.policy.graceSeconds)
        for owner in state.transientOwners { graces.absentOwners[owner] = graceEnd }
    }

    /// When those whom former leaders knew have been announced, or have left.
    var takeoverEnd: Timestamp { times.ledSince.adding(seconds: context.policy.graceSeconds) }

    /// This node leads the room from now on, and knows of nobody who is here.
    func lead(at now: Timestamp) {
        times = RoomTimes(activatedAt: now, ledSince: now)
        // Nobody else is here; whoever has not come back within the grace has left.
        let graceEnd = times.activatedAt.adding(seconds: context.policy.graceSeconds)
        graces.absentOwners = [:]
        graces.forgetDeparted()
        graces.beginLeading()
        presence.beginCounting(at: now)
        for owner in state.transientOwners { graces.absentOwners[owner] = graceEnd }
        touch()
    }

    private static func restore(_ id: RoomID, _ loaded: LoadedRoom) throws -> (RoomState, HotTail) {
        var record: RoomRecord?
        var rows: [CatalogueChange] = []
        for row in loaded.catalogue {
            guard let kind = CatalogueKind(rawValue: row.kind) else {
                throw UnknownContent(rowKind: row.kind, of: "room \(id)", own: .newest)
            }
            guard let bytes = row.value else { continue }
            let value = try CatalogueCodec.decode(kind: kind, bytes)
            if case .room(let found) = value {
                record = found
            } else {
                rows.append(CatalogueChange(kind: kind, key: row.key, value: value, deadline: row.deadline))
            }
        }
        let deleted = rows.lazy.compactMap { change -> RoomRecord? in
            if case .deletedRoom(let deleted)? = change.value { deleted.room } else { nil }
        }.first
        let isDeleted = record == nil
        guard let record = record ?? deleted else { return (RoomState(absent: id, rows: rows), HotTail()) }
        var tail = HotTail()
        // While the log is replayed, history may be ahead of the catalogue: those messages are applied again.
        var priorities: [UInt64: Priority] = [:]
        for row in loaded.tail where row.seq <= record.lastSeq {
            let message = try HistoryCodec.decode(row.payload)
            priorities[row.seq] = message.priority
            tail.append(message)
        }
        let recent = loaded.commands.reversed().filter { $0.seq <= record.lastSeq }
        let commands = recent.map {
            RecentCommand(key: $0.key, seq: $0.seq, time: $0.time, priority: priorities[$0.seq])
        }
        let state =
            isDeleted
            ? RoomState(absent: id, rows: rows, recentCommands: commands)
            : RoomState(restoring: record, rows: rows, recentCommands: commands)
        return (state, tail)
    }

    /// The time of the newest kept message.
    var newestTime: Timestamp? { recent.tail.last?.time }

    // MARK: - Applying

    /// The rows that follow from a command.
    struct Rows: Sendable {
        var history: [HistoryRow] = []
        var erasures: [Erasure] = []
        var catalogue: [CatalogueRow] = []
        var retired: [RetiredRoom] = []
        /// The copies of the COMBINE that is kept next, where the command has not brought them along.
        fileprivate var copies: [Message] = []
    }

    /// Applies one committed command and answers whoever proposed it.
    func apply(_ proposal: Proposal, at stamp: Stamp) -> Rows {
        var rows = Rows()
        let incarnation = state.incarnation
        let effects = state.apply(proposal.command, key: proposal.key, at: stamp)
        turn.lastChangeIndex = stamp.index
        // With an ID whatever is new leaves at least a row.
        let isRepeat = proposal.key != nil && effects.count == 1
        if !isRepeat, case .updateMe(let set, _, _) = proposal.command.body,
            case .result(.member(let member))? = effects.last
        {
            // Laid over what is shown now: another change may have come since this one was proposed.
            var profile = presence.profile(of: member.user) ?? member.profile
            set.apply(to: &profile)
            presence.setProfile(member.user, profile)
            for visitor in presence.visitors(of: member.user) where !visitor.isRobot {
                stream.notify(visitor.lane, .profile(visitor.key.session, profile))
            }
        }
        // An ack goes before the sender's own push.
        if case .result(let result)? = effects.last { answer(proposal.origin, result, isRepeat: isRepeat) }
        for effect in effects {
            perform(
                effect, proposal.command.facts, stamp: stamp, incarnation: incarnation ?? state.incarnation, rows: &rows
            )
        }
        clearSeatsOfGone(by: proposal)
        release(proposal)
        touch()
        if state.isOwing { context.callbacks.value.note(id, shard) }
        return rows
    }

    private func perform(
        _ effect: Effect, _ facts: CommandFacts, stamp: Stamp, incarnation: Incarnation?, rows: inout Rows
    ) {
        switch effect {
        case .catalogue(let change):
            if change.kind == .member, let user = UserID(change.key) {
                presence.setRole(user, state.role(of: user))
                publishVoices(of: user)
            }
            if case .queue(let element, _)? = change.value { noteOwner(of: element) }
            if change.kind == .tally { noteTotal(of: change.key) }
            if change.kind == .votes { noteVotes(in: change.key) }
            if change.kind == .room { turn.roomChange = nil }
            rows.catalogue.append(row(change, incarnation, stamp.index))
        case .roomChanged:
            turn.roomChange = stamp.index
            publishSilence()
            desk.window.highPerSecond = Self.highPerSecond(state, context.policy)
        case .keepCopies(let copies):
            rows.copies = copies
        case .append(let message, let key):
            guard let seq = message.seq, let incarnation else { return }
            let copies = rows.copies.isEmpty ? facts.copies : rows.copies
            rows.copies = []
            recent.tail.append(message)
            if turn.unwrittenFrom == nil { turn.unwrittenFrom = seq }
            turn.hasUnwrittenHistory = true
            var row = HistoryRow(
                incarnation: incarnation, seq: seq, index: stamp.index, time: message.time,
                type: message.body.type.number, sender: message.from?.user.text, command: key,
                payload: HistoryCodec.encode(message),
                copies: copies.isEmpty ? nil : HistoryCodec.encode(copies: copies))
            row.life = life(on: message.time.day)
            rows.history.append(row)
        case .erase(let seq, let day):
            guard let incarnation else { return }
            recent.erase(seq, of: state.lastSeq)
            // A recall that tells nobody has no seq of its own, so pages for those who enter would go on to show it.
            endMissedPages()
            turn.hasUnwrittenHistory = true
            rows.erasures.append(
                Erasure(incarnation: incarnation, seq: seq, day: day, index: stamp.index, life: life(on: day)))
        case .amend(let message):
            guard let seq = message.seq, let incarnation else { return }
            recent.amend(message, seq, of: state.lastSeq)
            endMissedPages()
            turn.hasUnwrittenHistory = true
            var row = HistoryRow(
                incarnation: incarnation, seq: seq, index: stamp.index, time: message.time,
                type: message.body.type.number, sender: message.from?.user.text, command: nil,
                payload: HistoryCodec.encode(message))
            row.isAmendment = true
            row.life = life(on: message.time.day)
            rows.history.append(row)
        case .publish(let message):
            publish(message)
            offerUnkept(message)
        case .leaveOut(let seqs): leaveOut(seqs, at: stamp.time)
        case .held(let record): notify(record)
        case .denied(let record): notify(record)
        case .kick(let user, let reason, let ext):
            recent.tail.noteKick(user, at: stamp.time, PutOut(reason, ext: ext))
            leave(presence.kick(user: user), reason, ext)
            noteEmptiness()
        case .kickAll(let reason, let ext):
            leave(presence.kickAll(), reason, ext)
            noteEmptiness()
        case .robotsEnter(let robots):
            enter(robots, at: stamp.time)
        case .robotsExit(let users):
            for user in users {
                if let key = PresenceKey.robot(user) { exit(key, at: stamp.time) }
            }
        case .retire(let retired):
            rows.retired.append(RetiredRoom(room: id, incarnation: retired))
            recent.tail = HotTail()
            budget = ViewerBudget()
        case .result:
            break
        }
    }

    private func row(_ change: CatalogueChange, _ incarnation: Incarnation?, _ index: UInt64) -> CatalogueRow {
        CatalogueRow(
            room: id,
            // Results outlive the room's life, and so do windows of taps and what the webhook is owed.
            incarnation: [.command, .taps, .webhook].contains(change.kind)
                ? Incarnation(0) : incarnation ?? Incarnation(0),
            kind: change.kind.rawValue, key: change.key,
            value: change.value.map(CatalogueCodec.encode),
            deadline: change.deadline, index: index)
    }

    /// A result as it is shown; a member as listings show it: with the present stay, except for whoever is just being thrown out.
    private func complete(_ result: CommandResult) -> CommandResult {
        let durable: Member
        switch result {
        case .room(let info): return .room(shown(info))
        case .pinned(let pinned): return .pinned(shown(pinned))
        case .member(let member): durable = member
        default: return result
        }
        var member = durable
        member.online = false
        member = presence.overlay(member)
        if member.blacklisted { (member.online, member.enteredAt) = (false, nil) }
        return .member(member)
    }

    func answer(_ origin: Proposal.Origin, _ result: CommandResult, isRepeat: Bool) {
        if case .amendedBefore(let messageID) = result { return answerRepeatedAmend(of: messageID, to: origin) }
        if case .decidedBefore(let messageID?) = result { return answerRepeatedDecision(messageID, to: origin) }
        let result = complete(result)
        switch origin {
        case .room:
            break
        case .batch(let batches):
            if case .refused(let error) = result { batches.refused(error) }
        case .taps(let lane, let window):
            switch result {
            case .tapped(let results): stream.notify(lane, .taps(window: window, .success(results)))
            case .refused(let error): stream.notify(lane, .taps(window: window, .failure(error)))
            default: break
            }
        case .server(let to):
            if case .refused(let error) = result {
                answer(to, .failure(error))
            } else {
                answer(to, .success(.command(result)))
            }
        case .session(let to):
            if to.answer.isOfMessage { count(result, startedAt: to.startedAt) }
            guard let request = to.request else { return }
            var isRefused = false
            if case .refused = result { isRefused = true }
            stream.notify(
                Lane(node: to.address.node, number: to.address.lane),
                .reply(
                    to.address.session, request: request,
                    placed(to.answer.answer(result, online: state.info == nil ? 0 : Int64(presence.online))),
                    isRepeat: isRepeat && !isRefused, charged: isRepeat && !isRefused ? 0 : to.charged))
        }
    }

    func answer(_ to: ServerOrigin, _ result: Result<RoomAnswer, ChatError>) {
        turn.answers.append((to.node, ServerAnswer(to: to, .answered(result))))
    }

    private func count(_ result: CommandResult, startedAt: ContinuousClock.Instant) {
        guard case .refused = result else {
            context.figures.acked.add()
            return context.figures.ack.record(seconds: (ContinuousClock.now - startedAt) / .seconds(1))
        }
        context.figures.refused.add()
    }

    /// The room as members see it; nil when it doesn't exist.
    var roomView: RoomView? {
        guard var info = state.info else { return nil }
        info.viewerBudget = info.viewerBudget ?? Int64(context.policy.viewerBudgetPerSecond)
        info.highPerSecond = info.highPerSecond ?? Int64(context.policy.highPerSecondMax)
        return RoomView(info: shown(info), online: Int64(presence.online))
    }

    // MARK: - The end of the turn

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

    func propose(_ proposal: Proposal) {
        if state.heldCount > 0 { denyHeld(before: proposal.command.body) }
        if let ready = mindingRecalls(proposal) { turn.proposed.append(ProposedCommand(ready)) }
    }

    /// The host proposes these now.
    func takeProposals() -> [ProposedCommand] {
        guard !turn.proposed.isEmpty else { return [] }
        defer { turn.proposed = [] }
        return turn.proposed
    }

    /// Whether the host must put this room on its lists of this turn.
    func takeDirt() -> (isNewlyDirty: Bool, hasNewBarrage: Bool, hasNewTotals: Bool) {
        let newly = turn.dirt == .dirty
        if newly { turn.dirt = .reported }
        defer { (desk.isNew, tallyDesk.isNew) = (false, false) }
        return (newly, desk.isNew, tallyDesk.isNew)
    }

    /// The result of a room's turn.
    struct TurnResult {
        var publications: [(NodeID, NodePublication)]
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
        let publications = stream.take(room: id, term: term, viewerLanes: presence.lanes)
        stream.encodings = presence.encodings
        let changed = turn.roomChange.flatMap { index in state.roomRow.map { row($0, state.incarnation, index) } }
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

    func facts(_ users: [UserID], _ body: CommandBody? = nil) -> CommandFacts {
        var names: [UserID: Profile] = [:]
        for user in users { names[user] = presence.profile(of: user) }
        var facts = CommandFacts(policy: context.policy, names: names)
        facts.webhook = context.callbacks.value.webhook != nil
        if case .setBlacklist(let user, enable: true, _)? = body {
            facts.addressHash = presence.visitors(of: user).last { $0.anonymous }?.addressHash
            facts.addressBarSeconds = context.policy.anonymousBarSeconds
        }
        if case .registerUpload(let draft)? = body {
            let random = (UInt64.random(in: 0 ... .max), UInt64.random(in: 0 ... .max))
            facts.mediaID = MediaID(in: id, random: random, isAvatar: draft.kind == .avatar).text
        }
        if body?.namesContent == true { facts.keptSince = contentKeptSince }
        if case .openPoll? = body {
            facts.pollKey = PollKey(high: .random(in: 0 ... .max), low: .random(in: 0 ... .max))
        }
        switch body {
        case .pin, .report, .importMessages: facts.keptSince = visibleSince
        // For rooms that have no life of their own.
        case .updateRoom(let set, _) where set.historyDays != nil:
            facts.keptSince = context.policy.keptSince(context.now())
        // The message that waits may name content.
        case .decideHeld, .expire:
            if state.heldCount > 0 { facts.keptSince = contentKeptSince }
        default: break
        }
        if case .post(let draft)? = body, !draft.to.isEmpty {
            facts.delivered = Int64(Set(draft.to).count { presence.isAddressable($0) })
        }
        return facts
    }

    func barrageEnded() { desk.isOpen = false }
}
