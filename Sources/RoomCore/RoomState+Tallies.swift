import ChatModel

/// Tallies: taps of members, which come as sums of gateways, and gifts of the app server (PROTOCOL.md, "Tallies").
extension RoomState {
    /// All of them, `like` first.
    public var tallyList: [Tally] { tallies.all }

    /// Those that somebody has set or tapped: what viewers may have been told.
    public var writtenTallies: [Tally] { tallies.written }

    public func tally(_ key: String) -> Tally? { tallies[key] }

    /// The answer to a window that has been counted; nil for one that is new.
    public func counted(_ batch: TapBatch) -> [Int64]? {
        guard let memory = taps.memory(of: batch.life), batch.window <= memory.window else { return nil }
        return batch.window == memory.window ? memory.results : []
    }

    /// The taps of a window of a lane. The lane has asked who may speak, and does not say who has tapped.
    mutating func tap(_ batch: TapBatch, for command: Command, _ outcome: inout Outcome) throws(ChatError)
        -> CommandResult
    {
        try requireServer(command.actor)
        if let results = counted(batch) { return .tapped(results) }
        guard let incarnation else { throw ChatError(.notFound, "there is no room \(room)") }
        guard batch.incarnation ?? incarnation == incarnation else { throw .tappedBefore(room) }
        try requireOpen()
        var results: [Int64] = []
        for sum in batch.sums {
            do throws(ChatError) {
                results.append(try add(sum.count, to: sum.key, byMember: true, &outcome).total)
            } catch {
                results.append(-Int64(error.code.rawValue))
            }
        }
        let memory = TapMemory(window: batch.window, time: outcome.time, results: results)
        if let forgotten = taps.remember(memory, of: batch.life) { outcome.rows.append(tapsRow(forgotten, nil)) }
        outcome.rows.append(tapsRow(batch.life, memory))
        return .tapped(results)
    }

    mutating func changeTally(
        _ key: String, _ change: TallyChange, for command: Command, _ outcome: inout Outcome
    ) throws(ChatError) -> CommandResult {
        switch change {
        case .tap(let count):
            if case .member(let user, _, let anonymous) = command.actor {
                try maySpeak(user, anonymous: anonymous, at: outcome.time)
            }
            return .tally(try add(count, to: key, byMember: true, &outcome))
        case .add(let delta):
            try requireServer(command.actor)
            return .tally(try add(delta, to: key, byMember: false, &outcome))
        case .set(let settings):
            try requireServer(command.actor)
            return .tally(try set(settings, of: key, &outcome))
        case .remove:
            try requireServer(command.actor)
            _ = try requireTally(key)
            if key == Tally.like {
                // It is as if it were new then. Its row stays, so that viewers are told of it by another leader, too.
                put(Tally(key: key), &outcome)
            } else if tallies.remove(key) {
                outcome.rows.append(CatalogueChange(kind: .tally, key: key, value: nil))
            }
            return .done
        }
    }

    /// - Parameter byMember: tallies of the server take nothing of members.
    private mutating func add(_ delta: Int64, to key: String, byMember: Bool, _ outcome: inout Outcome)
        throws(ChatError) -> Tally
    {
        var tally = try requireTally(key)
        guard !tally.closed else { throw .tallyClosed(key, room) }
        guard !byMember || tally.by == .anyone else { throw .tallyOfServer(key, room) }
        let (total, overflow) = tally.total.addingReportingOverflow(delta)
        guard !overflow, (0...Limits.tallyTotal).contains(total) else {
            throw ChatError(
                .conflict, "the total of \(key) would not be from 0 to \(Limits.tallyTotal)", field: "delta")
        }
        guard delta != 0 else { return tally }
        tally.total = total
        put(tally, &outcome)
        return tally
    }

    private mutating func set(_ settings: TallySettings, of key: String, _ outcome: inout Outcome) throws(ChatError)
        -> Tally
    {
        guard Tally.isKey(key) else { throw .notTallyKey }
        guard !key.hasPrefix(Tally.pollPrefix) else {
            throw ChatError(.badParameter, "keys of polls begin with \(Tally.pollPrefix)", field: "key")
        }
        let present = tallies[key]
        if present == nil, tallies.madeCount >= Limits.tallies {
            throw ChatError(.badParameter, "\(room) has \(Limits.tallies) tallies already", field: "key")
        }
        var tally = present ?? Tally(key: key)
        if let total = settings.total { tally.total = total }
        if let closed = settings.closed { tally.closed = closed }
        if let by = settings.by { tally.by = by }
        if tally != present || key == Tally.like { put(tally, &outcome) }
        return tally
    }

    private func requireTally(_ key: String) throws(ChatError) -> Tally {
        guard let tally = tallies[key] else { throw .noTally(key, room) }
        return tally
    }

    private mutating func put(_ tally: Tally, _ outcome: inout Outcome) {
        tallies.set(tally)
        // The sums of a window have each key once, so no command writes a row twice.
        outcome.rows.append(CatalogueChange(kind: .tally, key: tally.key, value: .tally(tally)))
    }

    func tapsRow(_ life: UInt64, _ memory: TapMemory?) -> CatalogueChange {
        CatalogueChange(
            kind: .taps, key: String(life, radix: 16), value: memory.map { .taps($0) },
            deadline: memory.map { TapLives.sweepTime($0.time) })
    }
}
