import ChatModel

/// Notes of bots for the replay at the end. In a room whose stream is not replayed these do nothing.
extension RoomLedger {
    /// Notes what `queue` answered.
    package mutating func queueRead(_ viewer: Viewer, _ answer: QueueAnswer) { notes?.note(answer, viewer) }

    /// Notes a change of the queue that is about to be asked for; `value` is like no other.
    package mutating func seatWrite(_ viewer: Viewer, key: String, value: String) {
        guard let writes = notes?.writes.count, writes < ReplayNotes.itemsMax else { return }
        let owner = user(viewer)
        notes?.writes[value] = ReplayNotes.SeatWrite(key: key, owner: owner)
    }

    package mutating func seatAnswered(value: String, _ state: ReplayNotes.SeatState) {
        notes?.writes[value]?.state = state
    }

    /// Notes what `queueTake` gave.
    package mutating func seatTaken(_ viewer: Viewer, _ element: QueueElement) {
        notes?.taken[element.value, default: 0] += 1
    }

    /// Notes that something was refused.
    ///
    /// - Parameters:
    ///   - from: the bot's place in the stream when it asked.
    ///   - n: of a message.
    ///   - version: what a refused `ifVersion` named.
    package mutating func refusal(
        _ viewer: Viewer, _ code: ErrorCode, _ what: String, from: UInt64, n: Int? = nil,
        version: ReplayNotes.QueueVersion? = nil
    ) {
        let refusal = ReplayNotes.Refusal(
            user: user(viewer), code: code, what: what, from: from, n: n, version: version)
        notes?.note(refusal)
    }

    /// Notes that a bot has come in.
    package mutating func entry(_ viewer: Viewer, at seq: UInt64, after absence: ReplayNotes.Absence?) {
        let entry = ReplayNotes.Entry(viewer: viewer, user: user(viewer), seq: seq, absence: absence)
        notes?.note(entry)
    }

    /// Notes an answer that the protocol does not have for what was asked.
    package mutating func noteWrongAnswer(_ viewer: Viewer, _ text: String) {
        note(.wrongAnswer, "\(name(viewer)): \(text)")
    }

    /// The bot left by itself, or was put out and told so.
    package mutating func leave(_ viewer: Viewer, kicked: Bool) {
        disconnect(viewer)
        let user = user(viewer)
        if kicked { notes?.kicksTold[user, default: 0] += 1 }
    }

    /// Notes that the room counts another number of people than are there.
    package mutating func noteMiscount(_ text: String) { note(.miscounted, "\(room): \(text)") }

    /// The version of an element as far as somebody was told; 0 when it is not there.
    package func seatVersion(_ key: String) -> Int64 { notes?.versions[key] ?? 0 }

    func user(_ viewer: Viewer) -> UserID { names.user(of: viewers[viewer.index].bot) }
}

/// The replay of the stream, in seq order, when all of it is known.
extension RoomLedger {
    mutating func closeReplay() {
        guard let notes, let end = historyEnd else { return }
        var replay = StreamReplay(notes: notes, names: names, managers: managers)
        var seq = (base ?? 0) + 1
        replay.begin(at: seq - 1)
        // Without its whole stream a room can't be judged; the holes are findings already.
        while seq <= end, let content = contents[seq], content.isInHistory {
            replay.follow(seq, content.claim, content.time)
            seq += 1
        }
        guard seq > end else { return }
        closeRefusals(replay)
        closeKicks(replay)
        for complaint in replay.finish() { note(complaint.kind, "\(room): \(complaint.text)") }
    }

    private mutating func closeRefusals(_ replay: StreamReplay) {
        guard let notes else { return }
        for refusal in notes.refusals {
            // A message that was sent later and acked was applied later.
            var upTo: UInt64?
            if let n = refusal.n,
                let index = viewerIndex.first(where: { names.user(of: $0.key) == refusal.user })?.value
            {
                upTo = sent[index].dropFirst(n).prefix(64).first { $0.state == .accepted && $0.seq != nil }?.seq
            }
            if let complaint = replay.complaint(about: refusal, upTo: upTo) {
                note(.wrongAnswer, "\(refusal.user) in \(room): \(refusal.what) was answered \(complaint)")
            }
        }
    }

    /// A kicked bot was told so, and did not stay.
    private mutating func closeKicks(_ replay: StreamReplay) {
        guard let notes else { return }
        for (user, told) in notes.kicksTold.sorted(by: { $0.key < $1.key }) {
            let count = replay.standing.kicks[user]?.count ?? 0
            if told > count {
                note(
                    .hereAlthoughPutOut,
                    "\(user) was told \(told) times that he is out of \(room), put out \(count) times")
            }
        }
        var lastEntries: [UserID: UInt64] = [:]
        for entry in notes.entries { lastEntries[entry.user] = max(lastEntries[entry.user] ?? 0, entry.seq) }
        for viewer in viewers where viewer.stay == .here {
            let user = names.user(of: viewer.bot)
            guard let kick = replay.standing.kicks[user]?.last, let entry = lastEntries[user], entry < kick else {
                continue
            }
            note(.hereAlthoughPutOut, "\(user) was put out of \(room) by seq \(kick) and is still there")
        }
    }
}
