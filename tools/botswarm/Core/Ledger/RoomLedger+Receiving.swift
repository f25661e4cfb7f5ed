import ChatModel

/// Pushes that bots see.
extension RoomLedger {
    /// Notes an `enter` that succeeded.
    ///
    /// - Returns: what the bot must now read from history (ASC, afterSeq), if anything.
    package mutating func enter(
        _ viewer: Viewer, _ reply: EntryReply, at instant: SwarmInstant
    ) -> ClosedRange<UInt64>? {
        guard isPlausible(reply.seq) || reply.seq == 0 else {
            note(.malformed, "\(name(viewer)): entered at the impossible seq \(reply.seq)")
            return nil
        }
        lastSeq = max(lastSeq, reply.seq)
        base = min(base ?? reply.seq, reply.seq)
        noteEpoch(reply.epoch, viewer)
        var rest: ClosedRange<UInt64>?
        if let since = reply.since { rest = checkMissed(viewer, reply, since) }
        viewers[viewer.index].enter(at: reply.seq, catchUp: rest, recovered: reply.missed.count)
        beginAccounts(viewer, at: instant)
        return rest
    }

    private mutating func noteEpoch(_ new: String, _ viewer: Viewer) {
        if let epoch, epoch != new {
            note(.notRecovered, "\(name(viewer)): the room's epoch has changed from \(epoch) to \(new)")
        }
        epoch = new
    }

    /// - Returns: what is left to be read from history.
    private mutating func checkMissed(
        _ viewer: Viewer, _ reply: EntryReply, _ since: UInt64
    ) -> ClosedRange<UInt64>? {
        guard reply.recovered == true, since <= reply.seq else {
            note(
                .notRecovered,
                "\(name(viewer)): entered since seq \(since), the room is at \(reply.seq), recovered is "
                    + (reply.recovered.map { "\($0)" } ?? "absent"))
            return nil
        }
        var next = since + 1
        for sighting in reply.missed {
            settle(sighting)
            noteOrder(sighting.seq, &next, place: "in the missed messages since \(since)", viewer: viewer)
        }
        if next > reply.seq + 1 {
            note(
                .contradiction, "\(name(viewer)): missed goes to seq \(next - 1), the reply says \(reply.seq)")
        }
        guard next <= reply.seq else {
            if reply.missedMore {
                note(
                    .contradiction, "\(name(viewer)): missedMore, and nothing is missing up to seq \(reply.seq)")
            }
            return nil
        }
        let rest = next...reply.seq
        if reply.missedMore { return rest }
        note(
            .hole, "\(name(viewer)): \(Self.text(rest)) are not among the missed messages since seq \(since)")
        return nil
    }

    /// Checks that `seq` is the `next` one of a list that must not have holes.
    private mutating func noteOrder(_ seq: UInt64, _ next: inout UInt64, place: String, viewer: Viewer) {
        guard isPlausible(seq) else { return }
        if seq > next {
            note(.hole, "\(name(viewer)): \(Self.text(next...(seq - 1))) missing \(place)")
        } else if seq < next {
            note(.reordered, "\(name(viewer)): seq \(seq) came in the place of \(next) \(place)")
        }
        next = max(next, seq + 1)
    }

    private mutating func beginAccounts(_ viewer: Viewer, at instant: SwarmInstant) {
        viewers[viewer.index].unkept.begin(at: instant)
        viewers[viewer.index].barrage.begin(at: instant)
        viewers[viewer.index].ownBarrage.removeAll()
    }

    /// The connection is lost: what was on its way is forgiven, and the bot has to resume.
    package mutating func disconnect(_ viewer: Viewer) {
        guard viewers[viewer.index].stay == .here else { return }
        viewers[viewer.index].stay = .away
        viewers[viewer.index].unkept.end()
        viewers[viewer.index].barrage.end()
        viewers[viewer.index].ownBarrage.removeAll()
    }

    /// The room's owner went away or is back: kept messages are not concerned, the others may be lost.
    package mutating func interrupt(_ viewer: Viewer, at instant: SwarmInstant) {
        guard viewers[viewer.index].stay == .here else { return }
        beginAccounts(viewer, at: instant)
    }

    /// The bot was put out of the room, or may not come back.
    package mutating func expel(_ viewer: Viewer, _ reason: String) {
        disconnect(viewer)
        viewers[viewer.index].stay = .out
        note(.notHere, "\(name(viewer)): \(reason)")
    }

    /// Notes a kept push and returns when it was sent, if it is a bot's, for the latency.
    package mutating func receive(_ sighting: KeptSighting, _ viewer: Viewer) -> SwarmInstant? {
        guard settle(sighting) else { return nil }
        let seq = sighting.seq
        let position = viewers[viewer.index].position
        guard viewers[viewer.index].stay == .here else {
            note(intrusion(viewer), "\(name(viewer)): seq \(seq) came while the bot was not in the room")
            return nil
        }
        switch viewers[viewer.index].receive(seq) {
        case .next, .afterHole: if budget != nil { contents[seq]?.receivedCount += 1 }
        case .late:
            note(.reordered, "\(name(viewer)): seq \(seq) came after seq \(position)")
        case .again:
            note(.duplicate, "\(name(viewer)): seq \(seq) came again, after seq \(position)")
        case .beforeEntry:
            note(.duplicate, "\(name(viewer)): seq \(seq) came although the stay began after it")
        case .tooManyHoles:
            note(.hole, "\(name(viewer)): more than \(SeqSet.rangesMax) holes that no gap names")
        }
        guard case .bot(let claim) = sighting.origin else { return nil }
        return message(claim)?.sentAt
    }

    /// Notes an unkept message and returns when it was sent, if it is a bot's.
    package mutating func receive(_ sighting: UnkeptSighting, _ viewer: Viewer) -> SwarmInstant? {
        guard viewers[viewer.index].stay == .here else {
            note(intrusion(viewer), "\(name(viewer)): an unkept message came while the bot was not in the room")
            return nil
        }
        let position = viewers[viewer.index].position
        if sighting.after < position {
            note(
                .reordered,
                "\(name(viewer)): an unkept message that follows seq \(sighting.after) came after seq \(position)")
        }
        switch sighting.origin {
        case .notification(let event):
            otherUnkept += 1
            if case .digest = event { digests += 1 }
            return nil
        case .foreign:
            note(.foreign, "\(name(viewer)): an unkept message that no bot has sent")
            return nil
        case .bot(let claim):
            guard
                let message = see(
                    claim, .unkept, body: sighting.body, messageID: sighting.messageID, sentAt: sighting.sentAt)
            else {
                return nil
            }
            notes?.note(unkept: claim, sighting)
            if !viewers[viewer.index].unkept.receive(number: message.number, sentAt: message.sentAt) {
                note(
                    .duplicate, "\(name(viewer)): the unkept \(names.stem(of: claim.bot, claim.n)) came again")
            }
            return message.sentAt
        }
    }

    /// Notes a barrage item and returns when it was sent.
    package mutating func receive(_ sighting: BarrageSighting, _ viewer: Viewer) -> SwarmInstant? {
        guard viewers[viewer.index].stay == .here else {
            note(intrusion(viewer), "\(name(viewer)): a barrage came while the bot was not in the room")
            return nil
        }
        guard let claim = sighting.claim else {
            note(.foreign, "\(name(viewer)): a barrage that no bot has sent")
            return nil
        }
        guard let message = see(claim, .barrage, body: sighting.body, messageID: nil, sentAt: sighting.sentAt) else {
            return nil
        }
        let stem = names.stem(of: claim.bot, claim.n)
        if sighting.count != 1 {
            note(.duplicate, "\(name(viewer)): the barrage \(stem) was sent once and counts \(sighting.count)")
        }
        if !viewers[viewer.index].barrage.receive(number: message.number, sentAt: message.sentAt) {
            note(.duplicate, "\(name(viewer)): the barrage \(stem) came again")
        }
        if claim.bot == viewers[viewer.index].bot { viewers[viewer.index].ownBarrage.remove(claim.n) }
        return message.sentAt
    }

    /// Notes a `gap`.
    ///
    /// - Returns: with SLOW, what the bot must fetch from history after a random delay. A BUDGET gap is never fetched:
    ///   the reading of the whole history at the end has to find it.
    package mutating func gap(
        _ viewer: Viewer, _ ranges: [ClosedRange<UInt64>], _ reason: GapReason, at instant: SwarmInstant
    ) -> [ClosedRange<UInt64>] {
        guard viewers[viewer.index].stay == .here else { return [] }
        var missing: [ClosedRange<UInt64>] = []
        for range in ranges {
            guard isPlausible(range.lowerBound), isPlausible(range.upperBound) else {
                note(.malformed, "\(name(viewer)): a gap names the impossible \(Self.text(range))")
                continue
            }
            lastSeq = max(lastSeq, range.upperBound)
            missing += viewers[viewer.index].name(range)
            if reason == .budget { budgetRanges.insert(range) }
        }
        let count = missing.reduce(0) { $0 + UInt64($1.count) }
        switch reason {
        case .slow:
            namedBySlow += count
            return missing
        case .budget:
            namedByBudget += count
            noteBudget(viewer, missing)
            if !viewers[viewer.index].noteBudgetGap(at: instant) {
                note(.tooOften, "\(name(viewer)): more than one BUDGET gap a second")
            }
            return []
        }
    }

    /// The fault of a push outside a stay: after a stay it should not come, before the first one nobody has asked for
    /// it.
    private func intrusion(_ viewer: Viewer) -> Finding.Kind {
        viewers[viewer.index].stay == .never ? .malformed : .hereAlthoughPutOut
    }

    /// Notes a `skipped`.
    package mutating func skip(_ viewer: Viewer, unkept: Int64, barrage: Int64) {
        let isUnkeptFine = viewers[viewer.index].unkept.notify(unkept)
        let isBarrageFine = viewers[viewer.index].barrage.notify(barrage)
        if !isUnkeptFine || !isBarrageFine {
            note(.malformed, "\(name(viewer)): skipped \(unkept) unkept and \(barrage) barrage")
        }
    }
}
