import ChatModel

/// Polls, once more: see `NaiveRoom`.
extension NaiveRoom {
    struct Ballot {
        var id: String
        var options: Int
        var until: Int64
        var mayChange: Bool
        var votes: [UserID: Int] = [:]
        var isClosed = false

        var counts: [Int64] { (0..<options).map { option in Int64(votes.values.count { $0 == option }) } }
    }

    mutating func openPoll(_ id: String, _ draft: PollDraft, _ actor: Actor, _ now: Int64) -> Answer {
        guard isManager(actor) else { return Answer(code: .forbidden) }
        let open = polls.filter { !$0.isClosed }
        if open.count >= 5 || open.contains(where: { $0.id == id }) { return Answer(code: .conflict) }
        // The ID of one that is closed is free.
        polls.removeAll { $0.id == id }
        let ballot = Ballot(
            id: id, options: draft.options.count, until: now + draft.seconds * 1000, mayChange: draft.mayChange)
        polls.append(ballot)
        return Answer(events: [.pollOpened], counts: ballot.counts)
    }

    mutating func vote(_ id: String, _ option: Int64, _ actor: Actor, _ now: Int64) -> Answer {
        guard case .member(let user, _, let isAnonymous) = actor, !isAnonymous else { return Answer(code: .forbidden) }
        guard let place = polls.firstIndex(where: { $0.id == id }) else { return Answer(code: .notFound) }
        let ballot = polls[place]
        if ballot.isClosed || now >= ballot.until { return Answer(code: .conflict) }
        guard option >= 0, option < ballot.options else { return Answer(code: .badParameter) }
        if ballot.votes[user] != nil, !ballot.mayChange { return Answer(code: .conflict) }
        polls[place].votes[user] = Int(option)
        return Answer(counts: polls[place].counts)
    }

    mutating func closePoll(_ id: String, _ actor: Actor) -> Answer {
        guard isManager(actor) else { return Answer(code: .forbidden) }
        guard let place = polls.firstIndex(where: { $0.id == id }) else { return Answer(code: .notFound) }
        if polls[place].isClosed { return Answer(code: .conflict) }
        polls[place].isClosed = true
        return Answer(events: [.pollClosed], counts: polls[place].counts)
    }

    mutating func expirePolls(_ now: Int64) -> [EventCode] {
        var events: [EventCode] = []
        for place in polls.indices where !polls[place].isClosed && polls[place].until <= now {
            polls[place].isClosed = true
            events.append(.pollClosed)
        }
        return events
    }
}
