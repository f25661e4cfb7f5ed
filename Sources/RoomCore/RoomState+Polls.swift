import ChatModel

/// Polls: one vote a user, in the log (PROTOCOL.md, "Polls"). The state has the voters, so no vote waits for a
/// look-up on disk.
extension RoomState {
    /// Those that are open, and the latest that were closed; oldest first.
    public var pollList: [Poll] { polls.all.map(\.poll) }

    /// The counts of open polls, as tallies.
    public var pollCounts: [Tally] {
        polls.all.filter { $0.record.closedAt == nil }.flatMap { entry in
            entry.voters.counts.enumerated().map { option, count in
                Tally(key: Poll.countKey(entry.record.poll.id, option), total: count)
            }
        }
    }

    /// The same of the poll to which a row of votes belongs.
    public func pollCounts(ofRow key: String) -> [Tally] {
        guard let number = PollTable.place(ofRow: key)?.number,
            let entry = polls.entries.values.first(where: { $0.record.number == number && $0.record.closedAt == nil })
        else { return [] }
        return entry.voters.counts.enumerated().map { option, count in
            Tally(key: Poll.countKey(entry.record.poll.id, option), total: count)
        }
    }

    mutating func openPoll(
        _ id: String, _ draft: PollDraft, options: NotifyOptions, for command: Command, outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        guard isManager(command.actor) else { throw ChatError(.forbidden, "this is for managers of \(room)") }
        if let present = polls[id], present.record.closedAt == nil {
            throw ChatError(.conflict, "the poll \(id) is open in \(room)", field: "poll")
        }
        guard polls.openCount < Limits.openPolls else {
            throw ChatError(.conflict, "\(room) has \(Limits.openPolls) open polls already", field: "poll")
        }
        guard let key = command.facts.pollKey else { throw ChatError(.internal, "a poll without a key") }
        let poll = Poll(
            id: id, title: draft.title, options: draft.options, closesAt: outcome.time.adding(seconds: draft.seconds),
            mayChange: draft.mayChange)
        let record = PollRecord(poll: poll, number: outcome.stamp.index, key: key)
        polls.put(PollTable.Entry(record: record, voters: PollVoters(options: poll.options.count)))
        outcome.rows.append(pollRow(record))
        notify(.pollOpened, options, data: .poll(poll), for: command, &outcome)
        return .poll(poll)
    }

    mutating func vote(_ id: String, option: Int64, for command: Command, _ outcome: inout Outcome) throws(ChatError)
        -> CommandResult
    {
        guard case .member(let user, _, let anonymous) = command.actor, !anonymous else {
            throw ChatError(.forbidden, "members vote")
        }
        // No copy of the entry is held: the voters would be copied with the vote.
        guard let record = polls[id]?.record else { throw noPoll(id) }
        // Its time is over as soon as it is, whenever the room gets to say so.
        guard record.closedAt == nil, outcome.time < record.poll.closesAt else { throw pollClosed(id) }
        guard let choice = Int(exactly: option), record.poll.options.indices.contains(choice) else {
            throw ChatError(.badParameter, "option is from 0 to \(record.poll.options.count - 1)", field: "option")
        }
        let hash = PollVoters.hash(user, record.key)
        let former = polls[id]?.voters.option(of: hash)
        if former != nil {
            guard record.poll.mayChange else {
                throw ChatError(.conflict, "\(user) has voted in \(id) already", field: "poll")
            }
        } else {
            guard polls[id]?.voters.total ?? 0 < Limits.pollVoters else {
                throw ChatError(.conflict, "\(id) has \(Limits.pollVoters) votes already", field: "poll")
            }
        }
        if former != choice {
            polls[id]?.voters.set(choice, of: hash)
            let part = PollVoters.part(of: hash)
            outcome.rows.append(
                CatalogueChange(
                    kind: .votes, key: PollTable.rowKey(record.number, part),
                    value: polls[id]?.voters.parts[part].map { .votes(PollVotes(bytes: $0)) }))
        }
        return .poll(polls[id]?.poll ?? record.poll)
    }

    mutating func closePoll(
        _ id: String, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        guard isManager(command.actor) else { throw ChatError(.forbidden, "this is for managers of \(room)") }
        guard let entry = polls[id] else { throw noPoll(id) }
        guard entry.record.closedAt == nil else { throw pollClosed(id) }
        return .poll(close(entry, options, for: command, &outcome))
    }

    private mutating func close(
        _ entry: PollTable.Entry, _ options: NotifyOptions, for command: Command, _ outcome: inout Outcome
    ) -> Poll {
        var record = entry.record
        record.poll.counts = entry.voters.counts
        record.poll.closed = true
        record.closedAt = outcome.time
        polls[record.poll.id]?.record = record
        outcome.rows.append(pollRow(record))
        notify(.pollClosed, options, data: .poll(record.poll), for: command, &outcome)
        return record.poll
    }

    /// Part of `expire`: closes what is due, and removes some rows of votes that nobody needs any more.
    mutating func expirePolls(for command: Command, _ outcome: inout Outcome) {
        guard exists else { return }
        for entry in polls.all where entry.record.closedAt == nil && entry.record.poll.closesAt <= outcome.time {
            _ = close(entry, NotifyOptions(), for: command, &outcome)
        }
        let (parts, emptied, forgotten) = polls.takeSwept(atMost: Self.partsSweptAtOnce)
        for (number, part) in parts {
            outcome.rows.append(CatalogueChange(kind: .votes, key: PollTable.rowKey(number, part), value: nil))
        }
        for id in emptied { if let record = polls[id]?.record { outcome.rows.append(pollRow(record)) } }
        for id in forgotten { outcome.rows.append(CatalogueChange(kind: .poll, key: id, value: nil)) }
    }

    /// When polls need an `expire`.
    var nextPollDeadline: Timestamp? {
        guard let close = polls.nextClose, let sweep = polls.sweepAt else { return polls.nextClose ?? polls.sweepAt }
        return min(close, sweep)
    }

    /// A closed one keeps its deadline as long as rows of its votes are there: a room that nobody opens is woken to remove
    /// them. A deadline that stays would keep others of the shard from being found.
    func pollRow(_ record: PollRecord, withDeadline: Bool = true) -> CatalogueChange {
        let hasVotes = polls[record.poll.id].map { !$0.voters.parts.isEmpty } ?? false
        let deadline = record.closedAt == nil ? record.poll.closesAt : hasVotes ? record.closedAt : nil
        return CatalogueChange(
            kind: .poll, key: record.poll.id, value: .poll(record), deadline: withDeadline ? deadline : nil)
    }

    private func noPoll(_ id: String) -> ChatError {
        ChatError(.notFound, "there is no poll \(id) in \(room)", field: "poll")
    }

    private func pollClosed(_ id: String) -> ChatError {
        ChatError(.conflict, "the poll \(id) of \(room) is closed", field: "poll")
    }

    private static var partsSweptAtOnce: Int { 256 }
}
