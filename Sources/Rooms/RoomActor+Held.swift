import ChatModel
import GroupDriver
import RoomCore
import RoomProtocol
import Wire

/// Messages that wait for a manager (PROTOCOL.md, "Held messages"): managers are told that one waits, its sender that it was
/// denied. Decisions are in the room's state, so a leader tells again those that one before it may not have told.
extension RoomActor {
    /// How many of them a lane, or a manager, is told again; managers ask for the others.
    private static var toldAgainMax: Int { 100 }
    /// How many bytes of them a manager is told again.
    private static var toldAgainBytesMax: Int { 64 << 10 }

    // MARK: - Telling

    func notify(_ record: HeldRecord) {
        stream.notify(push(record), to: presence.sessions(of: state.managerUsers))
    }

    func notify(_ record: DeniedRecord) {
        guard let user = record.user else { return }
        stream.notify(push(record), to: presence.sessions(of: [user]))
    }

    private func push(_ record: HeldRecord) -> Push {
        .held(HeldPush(room: id, message: forReview(record.message)))
    }

    private func push(_ record: DeniedRecord) -> Push {
        .denied(
            DeniedPush(room: id, heldID: record.heldID, clientID: record.clientID, reason: record.reason))
    }

    /// A session that comes back may not have heard of it: of denials, and as a manager of what waits.
    func sendHeld(to arrival: Arrival, at now: Timestamp) {
        guard let since = arrival.request.since, arrival.request.epoch == epoch, !arrival.call.caller.anonymous else {
            return
        }
        let (user, address) = (arrival.call.caller.user, arrival.call.address)
        let session = [(lane: Lane(node: address.node, number: address.lane), sessions: [address.session])]
        for record in state.denials(of: user, since: since, at: now) { stream.notify(push(record), to: session) }
        guard state.managerUsers.contains(user) else { return }
        // A client on a bad link comes back often: its queue is for the room's messages.
        // A long one hides none of the others: it is passed over, unless it is the newest, which does not count then.
        var bytesLeft = Self.toldAgainBytesMax
        let waiting = state.held(since: since).suffix(Self.toldAgainMax)
        var told: [HeldRecord] = []
        for record in waiting.reversed() {
            let bytes = HistoryCodec.shownBytes(record.message)
            guard bytes <= bytesLeft || told.isEmpty else { continue }
            if bytes <= bytesLeft { bytesLeft -= bytes }
            told.append(record)
        }
        for record in told.reversed() { stream.notify(push(record), to: session) }
    }

    /// The sessions of a lane may not have heard of it from a leader before this one.
    func sendHeld(to lane: Lane, since seq: UInt64) {
        let sessions = { (users: [UserID]) in self.presence.sessions(of: users).filter { $0.lane == lane } }
        let now = context.now()
        for record in state.denials(since: seq, at: now).suffix(Self.toldAgainMax) {
            if let user = record.user { stream.notify(push(record), to: sessions([user])) }
        }
        let waiting = state.held(since: seq).suffix(Self.toldAgainMax)
        guard !waiting.isEmpty else { return }
        let managers = sessions(state.managerUsers)
        for record in waiting { stream.notify(push(record), to: managers) }
    }

    // MARK: - App-wide sanctions

    /// A user who is banned or muted in all rooms meanwhile gets nothing through, whoever decides: what waits of it is denied
    /// in the log before that.
    func denyHeld(before body: CommandBody) {
        switch body {
        case .decideHeld(let heldID, let decision) where decision.isAllowed:
            if let user = state.heldMessage(heldID)?.from?.user { denyHeld(of: user) }
        case .expire:
            for user in state.heldUsers { denyHeld(of: user) }
        default: break
        }
    }

    /// - Returns: whether something of the user's waits, and is denied.
    @discardableResult
    func denyHeld(of user: UserID) -> Bool {
        guard state.heldCount > 0 else { return false }
        let ids = state.heldIDs(of: user)
        guard !ids.isEmpty, let found = context.silencing(user) else { return false }
        let reason: DenialReason = found.kind == .banned ? .kicked : .muted
        let decision = HeldDecision(isAllowed: false, reason: reason.rawValue)
        for heldID in ids {
            let body = CommandBody.decideHeld(heldID: heldID, decision)
            propose(
                Proposal(
                    command: Command(id: nil, room: id, actor: .system, body: body, facts: facts([], body)), key: nil,
                    origin: .room))
        }
        return true
    }

    // MARK: - Asking

    /// A page of those that wait, not longer than a frame may be.
    func heldInFrame(_ request: HeldRequest) throws(ChatError) -> HeldResult {
        if !context.cluster.level.brings(.held) { throw .upgrading(.held) }
        var page = try state.heldPage(after: request.after, limit: Int(request.limit))
        page.items = page.items.map(forReview)
        let count = FrameSize.fitting(
            page.items, within: Limits.framePayloadBytes - Limits.kilobyte, HistoryCodec.shownBytes)
        if count < page.items.count {
            page = try state.heldPage(after: request.after, limit: count)
            page.items = page.items.map(forReview)
        }
        return HeldResult(messages: page.items, next: page.next)
    }

    /// A recall of a message that waits withdraws it.
    func withdrawing(_ change: consuming OperationChange) -> OperationChange {
        guard case .message(let heldID)? = change.lookup, RoomState.isHeldID(heldID) else { return change }
        (change.body, change.lookup) = (.withdrawHeld(heldID: heldID), nil)
        return change
    }

    /// A repeat of the decision that let a message through is answered with what it is now.
    func answerRepeatedDecision(_ messageID: String, to origin: Proposal.Origin) {
        begin { room in
            do throws(ChatError) {
                let message = try await room.message(messageID)
                room.answer(origin, .decided(message), isRepeat: true)
            } catch {
                room.answer(origin, .refused(error), isRepeat: false)
            }
        }
    }
}
