import ChatModel

/// Messages that wait for a manager (PROTOCOL.md, "Held messages"). Whether one waits is the leader's word, a fact of its
/// post; allowing, denying, withdrawing and the end of its time are decided here, and the first of them wins.
extension RoomState {
    // MARK: - Holding

    /// Throws 13009 for what can't wait, and where too many wait.
    func requireMayHold(_ draft: MessageDraft, _ bytes: Int) throws(ChatError) {
        guard draft.isKept else {
            throw ChatError(.rejected, "the message was refused by moderation: only kept ones can be held")
        }
        guard held.count < Limits.heldMessages, held.bytes + bytes <= Limits.heldBytesPerRoom else {
            throw ChatError(.rejected, "\(room) has too many messages that wait for a manager")
        }
    }

    /// Throws 416 for a user whose messages have their share of the room's places. The leader asks before it proposes; a few
    /// that are on their way come on top.
    public func requireShareOfHeld(of user: UserID) throws(ChatError) {
        let waiting = held.count(of: user)
        guard waiting < Limits.heldPerUser else {
            throw ChatError(
                .tooOften, "\(waiting) messages of yours wait for a manager of \(room) already", retryAfterMs: 10_000)
        }
        guard waiting + denied.count(of: user) < Limits.heldAndDeniedPerUser else {
            throw ChatError(
                .tooOften, "too many messages of yours were held in \(room) in the last minutes", retryAfterMs: 60_000)
        }
    }

    /// The message waits, without a place in the room's order.
    mutating func hold(
        _ fields: MessageFields, _ policy: HoldPolicy, key: CommandKey?, for command: Command,
        outcome: inout Outcome
    ) -> CommandResult {
        var isOfServer = true
        if case .member = command.actor { isOfServer = false }
        var record = HeldRecord(
            message: Message(fields), index: outcome.stamp.index, after: lastSeq, isOfServer: isOfServer, key: key,
            expiresAt: outcome.time.adding(seconds: policy.seconds), onExpiry: policy.onExpiry)
        record.isOfSender = command.facts.heldBySender
        put(record.with(command.facts.copies), &outcome)
        adoptShared(command, &outcome)
        referHeld(to: fields.body, copies: command.facts.copies, until: record.expiresAt, &outcome)
        if fields.webhook { oweHold(for: command, &outcome) }
        outcome.notices.append(.held(record))
        return .held(heldID: record.id)
    }

    // MARK: - Deciding

    mutating func decideHeld(
        _ heldID: String, _ decision: HeldDecision, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        guard isManager(command.actor) else { throw ChatError(.forbidden, "this is for managers of \(room)") }
        let record = try requireHeld(heldID, outcome.stamp)
        guard decision.isAllowed else {
            deny(record, decision.reason, &outcome)
            return .decided(record.message)
        }
        try requireMayRefer(to: record.message.body, copies: record.copies)
        return .decided(allow(record, for: command, &outcome))
    }

    /// Its sender takes a message back at any time while it waits, a manager one of those on whom he may act.
    mutating func withdrawHeld(
        _ heldID: String, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        let record = try requireHeld(heldID, outcome.stamp)
        if case .member(let user, _, _) = command.actor, user != record.sender {
            try requireManager(command.actor)
            guard let sender = record.message.sender else {
                throw ChatError(.forbidden, "nobody acts on an equal or higher rank")
            }
            try requireOutranks(command.actor, sender)
        }
        deny(record, DenialReason.withdrawn.rawValue, &outcome)
        return .done
    }

    /// Throws 404 for what was never held here, 409 for what was decided.
    private func requireHeld(_ heldID: String, _ stamp: Stamp) throws(ChatError) -> HeldRecord {
        if let record = held[heldID] { return record }
        guard case .held(let life, let index)? = MessageID.parse(heldID), life == incarnation, index < stamp.index
        else {
            throw ChatError(.notFound, "there is no held message \(heldID) in \(room)", field: "heldId")
        }
        throw ChatError(.conflict, "the message was decided already", field: "heldId")
    }

    /// It becomes a message now, as if it had been sent now, under its old `clientId`.
    private mutating func allow(_ record: HeldRecord, for command: Command, _ outcome: inout Outcome) -> Message {
        remove(record, &outcome)
        let kept = nextKept()
        var fields = record.message.fields
        (fields.place, fields.messageID, fields.time) = (.kept(seq: kept.seq), kept.messageID, outcome.time)
        if let user = fields.from?.user {
            fields.from?.role = role(of: user).shownToOthers
            if command.facts.heldBySender, !record.isOfServer, role(of: user).rank < Role.manager.rank {
                fields.mentionAll = false
                if fields.priority == .high { fields.priority = .normal }
            }
        }
        if fields.priority == .high {
            fields.priority = counted(
                .high, ofServer: record.isOfServer, most: command.facts.highPerSecondMax, &outcome)
        }
        refer(
            to: fields.body, copies: record.copies, fields.place, keptSince: command.facts.keptSince, &outcome)
        if let key = record.key {
            ledger.remember(
                CommandLedger.Post(seq: kept.seq, time: fields.time, priority: fields.priority), of: key)
        }
        if !record.copies.isEmpty { outcome.history.append(.keepCopies(record.copies)) }
        let message = Message(fields)
        keep(message, key: record.key, for: command, &outcome)
        return message
    }

    private mutating func deny(
        _ record: HeldRecord, _ reason: String?, remembers: Bool = true, _ outcome: inout Outcome
    ) {
        remove(record, &outcome)
        var denial = DeniedRecord(
            heldID: record.id, user: record.sender, time: outcome.time, index: outcome.stamp.index, after: lastSeq)
        (denial.clientID, denial.reason, denial.key) = (record.message.clientID, reason, record.key)
        outcome.notices.append(.denied(denial))
        guard remembers else { return }
        if let forgotten = denied.put(denial) { outcome.rows.append(deniedRow(forgotten, nil)) }
        outcome.rows.append(deniedRow(record.id, denial))
    }

    // MARK: - What else ends it

    /// A user who may not speak any more gets nothing through. To be called behind what is told of it, so that a client that has
    /// heard that and not this is told again.
    mutating func denyHeld(of user: UserID, _ reason: DenialReason, _ outcome: inout Outcome) {
        for id in held.ids(of: user) {
            if let record = held[id] { deny(record, reason.rawValue, &outcome) }
        }
    }

    /// The room is closed.
    mutating func denyAllHeld(_ outcome: inout Outcome) {
        for id in held.ids {
            if let record = held[id] { deny(record, DenialReason.roomClosed.rawValue, &outcome) }
        }
    }

    /// The room is deleted for good: nobody will ask any more what became of them.
    mutating func forgetHeld(_ outcome: inout Outcome) {
        for id in held.ids {
            if let record = held[id] {
                deny(record, DenialReason.roomClosed.rawValue, remembers: false, &outcome)
            }
        }
        for id in denied.ids { outcome.rows.append(deniedRow(id, nil)) }
        denied = DeniedTable()
    }

    /// Decides about those whose time is over, at most so many.
    /// - Returns: whether all are decided.
    mutating func expireHeld(countMax: Int, for command: Command, _ outcome: inout Outcome) -> Bool {
        for _ in 0..<countMax {
            guard let due = held.deadlines.first, due.time <= outcome.time, let record = held[due.place.id] else {
                return true
            }
            switch record.onExpiry {
            case .allow where mayRefer(record): _ = allow(record, for: command, &outcome)
            case .allow, .deny: deny(record, DenialReason.expired.rawValue, &outcome)
            }
        }
        return held.deadlines.first.map { $0.time > outcome.time } ?? true
    }

    private func mayRefer(_ record: HeldRecord) -> Bool {
        (try? requireMayRefer(to: record.message.body, copies: record.copies)) != nil
    }

    /// Messages are recalled: nobody quotes them any more.
    mutating func unquoteHeld(_ seqs: Set<UInt64>, _ outcome: inout Outcome) {
        for id in held.ids {
            guard var record = held[id], let reply = record.message.replyTo, reply.excerpt != nil,
                seqs.contains(reply.seq)
            else { continue }
            record.message.replyTo = reply.withoutExcerpt
            put(record, &outcome)
        }
    }

    // MARK: - Rows

    private mutating func put(_ record: HeldRecord, _ outcome: inout Outcome) {
        held.put(record)
        outcome.rows.append(
            CatalogueChange(kind: .held, key: record.id, value: .held(record), deadline: record.expiresAt))
    }

    private mutating func remove(_ record: HeldRecord, _ outcome: inout Outcome) {
        held.remove(record.id)
        outcome.rows.append(CatalogueChange(kind: .held, key: record.id, value: nil))
    }

    func deniedRow(_ id: String, _ record: DeniedRecord?) -> CatalogueChange {
        CatalogueChange(
            kind: .denied, key: id, value: record.map { .denied($0) },
            deadline: record.map { CommandLedger.sweepTime($0.time) })
    }

    // MARK: - For the leader

    /// Whether an ID is one of a held message, of this room or another one.
    public static func isHeldID(_ id: String) -> Bool {
        if case .held? = MessageID.parse(id) { true } else { false }
    }

    /// How many messages wait.
    public var heldCount: Int { held.count }

    /// The users who have messages that wait.
    public var heldUsers: [UserID] { held.users }

    /// Those of a user that wait, the oldest first.
    public func heldIDs(of user: UserID) -> [String] { held.ids(of: user) }

    /// A message that waits.
    public func heldMessage(_ heldID: String) -> Message? { held[heldID]?.message }

    /// The message that was held by that log entry, if it still waits.
    public func heldMessage(index: UInt64) -> Message? {
        incarnation.flatMap { held[MessageID.held($0, index: index).text]?.message }
    }

    /// One page of those that wait, the oldest first. A cursor is the ID of the last message of a page, so one of another room
    /// or an invented one is known. Throws 414 for a cursor that is none.
    /// - Parameter limit: at least 1.
    public func heldPage(after cursor: String?, limit: Int) throws(ChatError) -> Page<Message, String> {
        var after: UInt64?
        if let cursor {
            guard case .held(let life, let index)? = MessageID.parse(cursor), life == incarnation else {
                throw Self.badCursor
            }
            after = index
        }
        var items: [Message] = []
        var last: HeldTable.Place?
        var next: String?
        held.order.ascend(skipping: { place in after.map { place.index <= $0 } ?? false }) { place in
            if items.count >= max(1, limit) {
                next = last?.id
                return false
            }
            if let record = held[place.id] { items.append(record.message) }
            last = place
            return true
        }
        return Page(items: items, next: next)
    }

    /// Those that were held when the room was at that seq, or later: whom a leader before this one may not have told of them.
    public func held(since seq: UInt64) -> [HeldRecord] {
        held.ids.compactMap { held[$0] }.filter { $0.after >= seq }
    }

    /// The denials of a user's messages that a client which has everything up to that seq may not have heard of.
    public func denials(of user: UserID, since seq: UInt64, at now: Timestamp) -> [DeniedRecord] {
        denied.records(of: user).filter { $0.after >= seq && !CommandLedger.isForgotten($0.time, at: now) }
    }

    /// The same of all users.
    public func denials(since seq: UInt64, at now: Timestamp) -> [DeniedRecord] {
        denied.ids.compactMap { denied.records[$0] }.filter {
            $0.after >= seq && !CommandLedger.isForgotten($0.time, at: now)
        }
    }

    /// Creator and managers.
    public var managerUsers: [UserID] { members.managers.elements.map(\.user) }
}

extension HeldRecord {
    fileprivate func with(_ copies: [Message]) -> HeldRecord {
        var record = self
        record.copies = copies
        return record
    }
}
