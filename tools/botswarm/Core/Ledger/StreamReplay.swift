import ChatModel

/// Follows a room's stream from its beginning, and compares what bots were answered with what it tells.
struct StreamReplay {
    struct Complaint: Hashable {
        let kind: Finding.Kind
        let text: String
    }

    private(set) var queue = QueueModel()
    private(set) var standing = StandingModel()
    private var notes: ReplayNotes
    private let names: BotNames
    private let managers: Set<UserID>
    private var complaints: [Complaint] = []
    private var answers: [UInt64: [(viewer: RoomLedger.Viewer, answer: QueueAnswer)]]
    private var entries: [UInt64: [ReplayNotes.Entry]]
    private var unkept: [UInt64: [ReplayNotes.Place]]
    /// Each version that a key has had, from which seq on; 0 is none.
    private var versions: [String: [(seq: UInt64, version: Int64)]] = [:]
    private var partClears: [UserID: [UInt64]] = [:]
    private var polled: [String: Int] = [:]

    /// The grace in which a dropped owner's seats are held (PROTOCOL.md, "Names and limits"), and how late the room may
    /// be.
    static let graceMilliseconds: UInt64 = 10_000
    static let lateMilliseconds: UInt64 = 4_000
    /// A new leader does not know since when somebody is away, and begins a grace of its own.
    static let heldMilliseconds = 2 * graceMilliseconds + lateMilliseconds

    init(notes: ReplayNotes, names: BotNames, managers: Set<UserID>) {
        self.notes = notes
        self.names = names
        self.managers = managers
        answers = Dictionary(grouping: notes.queueAnswers, by: \.answer.seq)
        entries = Dictionary(grouping: notes.entries, by: \.seq)
        unkept = Dictionary(grouping: notes.unkept.values, by: \.after)
    }

    /// The stream begins after `seq`.
    mutating func begin(at seq: UInt64) { compare(at: seq) }

    /// The next message or notification; messages of bots carry their claim.
    mutating func follow(_ seq: UInt64, _ claim: Claim?, _ time: Timestamp) {
        if let (event, eventTime) = notes.events[seq] {
            standing.apply(event, at: seq, time: eventTime)
            follow(event, seq)
        } else if let claim {
            check(claim, time, "seq \(seq)")
        }
        compare(at: seq)
    }

    private mutating func check(_ claim: Claim, _ time: Timestamp, _ place: String) {
        let user = names.user(of: claim.bot)
        if let objection = standing.objection(toMessageOf: user, isManager: managers.contains(user), at: time) {
            complain(
                .heardAlthoughSilenced, "\(place) is \(names.stem(of: claim.bot, claim.n)), whose sender \(objection)")
        }
    }

    private mutating func follow(_ event: RoomEvent, _ seq: UInt64) {
        if let complaint = queue.apply(event) { complain(.queueDiffers, "seq \(seq): \(complaint)") }
        switch event {
        case .queueChanged(.poll, let element?):
            polled[element.value, default: 0] += 1
            noteVersion(element.key, 0, seq)
        case .queueChanged(.drop, _): for key in versions.keys { noteVersion(key, 0, seq) }
        case .queueChanged(_, let element?): written(element, seq)
        case .queueBatchChanged(.partClear, let elements):
            for owner in Set(elements.map(\.owner)) { partClears[owner, default: []].append(seq) }
            for element in elements { noteVersion(element.key, 0, seq) }
        case .queueBatchChanged(_, let elements): for element in elements { written(element, seq) }
        default: break
        }
    }

    private mutating func noteVersion(_ key: String, _ version: Int64, _ seq: UInt64) {
        versions[key, default: []].append((seq, version))
    }

    private mutating func written(_ element: QueueElement, _ seq: UInt64) {
        noteVersion(element.key, element.version, seq)
        guard let write = notes.writes[element.value] else { return }
        notes.writes[element.value]?.appearances += 1
        if write.key != element.key || write.owner != element.owner {
            complain(
                .queueDiffers,
                "seq \(seq) has \(element.value) at \(element.key) of \(element.owner), written to \(write.key) by \(write.owner)"
            )
        }
        if case .acked(let answer?) = write.state, !QueueAnswer.same(answer, element) {
            complain(
                .queueDiffers,
                "seq \(seq) has \(element.key) in version \(element.version), answered was \(answer.version)")
        }
    }

    // MARK: - What holds at a place

    private mutating func compare(at seq: UInt64) {
        for place in unkept[seq] ?? [] { check(place.claim, place.time, "an unkept message after seq \(seq)") }
        for (_, answer) in answers.removeValue(forKey: seq) ?? [] where !answer.agrees(with: queue) {
            complain(
                .queueDiffers,
                "queue as of seq \(seq) was answered as \(Self.text(answer.elements)), the stream tells "
                    + Self.text(queue.elements))
        }
        for entry in entries.removeValue(forKey: seq) ?? [] { check(entry) }
    }

    private mutating func check(_ entry: ReplayNotes.Entry) {
        let seats = queue.seats(of: entry.user)
        switch entry.absence {
        case nil: break
        case .left:
            if let seat = seats.first {
                complain(.wrongSeat, "\(entry.user) had left and still owned \(seat.key) at seq \(entry.seq)")
            }
        case .dropped(let milliseconds, let from):
            if milliseconds > Self.heldMilliseconds, let seat = seats.first {
                complain(
                    .wrongSeat,
                    "\(entry.user) was away for \(milliseconds) ms and still owned \(seat.key) at seq \(entry.seq)")
            }
            let cleared = (partClears[entry.user] ?? []).last { $0 > from }
            let wasPutOut = (standing.kicks[entry.user]?.last ?? 0) > from
            if milliseconds + Self.lateMilliseconds < Self.graceMilliseconds, let cleared, !wasPutOut {
                complain(
                    .wrongSeat,
                    "\(entry.user) was away for \(milliseconds) ms and lost his seats by seq \(cleared), within the grace"
                )
            }
        }
    }

    // MARK: - The end

    /// The complaint about a refusal, beginning with its code; nil when it fits.
    func complaint(about refusal: ReplayNotes.Refusal, upTo high: UInt64?) -> String? {
        let code = refusal.code
        let fits =
            switch code {
            case .muted: standing.wasMuted(refusal.user, from: refusal.from, to: high)
            case .roomMuted: standing.wasRoomMuted(from: refusal.from, to: high)
            case .blacklisted:
                standing.wasBlacklisted(refusal.user, from: refusal.from) || standing.kicks[refusal.user] != nil
            case .notInRoom: standing.wasPutOut(refusal.user, from: refusal.from)
            case .conflict: refusal.version.map { hadOther($0, from: refusal.from) } ?? false
            default: true
            }
        return fits
            ? nil
            : "\(code.number) \(code.name), for which the stream has no reason after seq \(refusal.from)"
                + (high.map { " and before \($0)" } ?? "") + "; it has: \(standing.text(of: refusal.user))"
    }

    /// Whether a key had another version at some place from a seq on.
    private func hadOther(_ version: ReplayNotes.QueueVersion, from: UInt64) -> Bool {
        let all = versions[version.key] ?? []
        let before = all.last { $0.seq <= from }?.version ?? 0
        return before != version.version || all.contains { $0.seq > from && $0.version != version.version }
    }

    /// All that does not fit.
    mutating func finish() -> [Complaint] {
        for entry in notes.entries where standing.wasBlacklisted(entry.user, around: entry.seq) {
            complain(.hereAlthoughPutOut, "\(entry.user) came in at seq \(entry.seq) and was blacklisted")
        }
        for (value, write) in notes.writes.sorted(by: { $0.key < $1.key }) {
            switch write.state {
            case .acked where write.appearances != 1:
                complain(
                    .queueDiffers,
                    "\(value) was written to \(write.key), and the stream has it \(write.appearances) times")
            case .refused where write.appearances > 0:
                complain(.queueDiffers, "\(value) was refused for \(write.key), and the stream has it")
            case .unanswered where write.appearances > 1:
                complain(
                    .queueDiffers,
                    "\(value) was written once to \(write.key), and the stream has it \(write.appearances) times")
            default: break
            }
        }
        for (value, count) in notes.taken.sorted(by: { $0.key < $1.key }) where (polled[value] ?? 0) < count {
            complain(
                .queueDiffers,
                "\(value) was given to \(count) takers, and the stream has \(polled[value] ?? 0) POLL of it")
        }
        for (seq, rest) in answers.sorted(by: { $0.key < $1.key }) {
            complain(.queueDiffers, "queue was answered \(rest.count) times as of seq \(seq), where the stream is not")
        }
        return complaints
    }

    private mutating func complain(_ kind: Finding.Kind, _ text: String) {
        complaints.append(Complaint(kind: kind, text: text))
    }

    private static func text(_ elements: [QueueElement]) -> String {
        let shown = elements.prefix(6).map { "\($0.key)=\($0.value) v\($0.version)" }
        return "[" + shown.joined(separator: ", ") + (elements.count > 6 ? ", …" : "") + "]"
    }
}
