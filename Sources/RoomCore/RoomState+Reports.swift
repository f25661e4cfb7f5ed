import ChatModel

/// Reports of messages (PROTOCOL.md, "Reports"). The message is in history: the leader looks it up, and states as a fact what it
/// has found. The reports are rows of the room, so that whoever moderates finds them when messages and people have gone.
extension RoomState {
    mutating func report(
        _ messageID: String, _ reason: String?, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        try requireMayReport(messageID, command.actor, at: outcome.time)
        guard case .member(let user, let profile, _) = command.actor else { return .done }
        let original = try original(messageID, command.facts)
        let life = command.facts.keptSince.map { outcome.time.milliseconds(since: $0) } ?? Self.lifeMilliseconds
        var report = MessageReport(
            index: outcome.stamp.index, messageID: messageID, seq: original.seq,
            from: original.user.map { UserName(user: $0, nick: original.nick) },
            reporter: UserName(user: user, nick: profile.nick), reason: reason, time: outcome.time,
            keptUntil: original.time.adding(milliseconds: max(0, life)), after: lastSeq)
        if !original.isRecalled, report.keptUntil > outcome.time { report.excerpt = original.excerpt }
        while reports.count >= Limits.reportsPerRoom, let oldest = reports.oldest { forget(oldest, &outcome) }
        put(report, &outcome)
        owe(report, for: command, &outcome)
        return .done
    }

    /// Each member reports a message once, and rarely: this is refused without looking the message up.
    public func requireMayReport(_ messageID: String, _ actor: Actor, at now: Timestamp) throws(ChatError) {
        try requireOpen()
        guard case .member(let user, _, _) = actor else {
            throw ChatError(.forbidden, "only members report messages")
        }
        try requireMayTakePart(actor, at: now)
        if let incarnation, case .kept(incarnation, let seq)? = MessageID.parse(messageID), reports.has(seq, by: user) {
            throw ChatError(.conflict, "\(user) has reported this message already", field: "messageId")
        }
        guard let latest = reports.latest(by: user) else { return }
        let next = latest.adding(seconds: Limits.reportSeconds)
        guard next > now else { return }
        let wait = next.milliseconds(since: now)
        throw ChatError(
            .tooOften, "one report in \(Limits.reportSeconds) s, the next in \(Self.seconds(wait)) s",
            retryAfterMs: wait)
    }

    /// Messages are recalled: nobody reads any more what they said.
    mutating func unquoteReports(of seqs: [UInt64], _ outcome: inout Outcome) {
        guard reports.count > 0 else { return }
        for seq in seqs {
            for index in reports.indexes(of: seq) {
                guard var report = reports[index], report.excerpt != nil else { continue }
                report.excerpt = nil
                put(report, &outcome)
            }
        }
    }

    /// The excerpts of messages that have expired go, at most so many. In a deleted room that can be restored the whole reports
    /// go: a row that is written while there is no room belongs to none of its lives.
    mutating func endExcerpts(countMax: Int, _ outcome: inout Outcome) {
        for _ in 0..<countMax {
            guard let due = (deleted?.reports ?? reports).deadlines.first, due.time <= outcome.time else { return }
            if deleted != nil {
                deleted?.reports.remove(due.index)
                outcome.rows.append(Self.noRow(due.index))
            } else if var report = reports[due.index] {
                report.excerpt = nil
                put(report, &outcome)
            }
        }
    }

    private mutating func put(_ report: MessageReport, _ outcome: inout Outcome) {
        reports.set(report)
        outcome.rows.append(Self.row(report))
    }

    private mutating func forget(_ index: UInt64, _ outcome: inout Outcome) {
        reports.remove(index)
        outcome.rows.append(Self.noRow(index))
        oweNoReports(through: index, areLost: true, &outcome)
    }

    private static func row(_ report: MessageReport) -> CatalogueChange {
        CatalogueChange(kind: .report, key: report.id, value: .report(report), deadline: report.deadline)
    }

    private static func noRow(_ index: UInt64) -> CatalogueChange {
        CatalogueChange(kind: .report, key: MessageReport.id(index), value: nil)
    }

    // MARK: - For the leader

    /// A page of the list, the oldest first. Throws 414 for a cursor that is none.
    /// - Parameter limit: at least 1.
    public func reportPage(after cursor: String?, limit: Int, at now: Timestamp) throws(ChatError)
        -> Page<MessageReport, String>
    {
        var after: UInt64 = 0
        if let cursor {
            guard let index = MessageReport.index(cursor) else { throw Self.badCursor }
            after = index
        }
        let most = min(max(1, limit), Limits.reportsPerRoom)
        let found = reports.after(after, countMax: most + 1)
        let items = found.prefix(most).map { $0.shown(at: now) }
        return Page(items: items, next: found.count > items.count ? items.last?.id : nil)
    }

    /// Those that the webhook is owed and that are behind a log entry, the oldest first.
    public func owedReports(after index: UInt64, countMax: Int) -> [MessageReport] {
        guard owed.firstReport > 0 else { return [] }
        return reports.after(max(index, owed.firstReport - 1), countMax: countMax)
    }

    /// The log entry of the latest report; 0: there is none.
    public var lastReport: UInt64 { reports.newest ?? 0 }
}
