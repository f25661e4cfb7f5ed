import ChatModel

/// The durable state of one room ID: a value that only `apply` changes, in log order, alike on every replica.
///
/// Everything that a decision reads is either here and in the rows and messages that `apply` has emitted, or in the
/// command. So a state that was restored at any entry decides like one that lived through all of them. Derived values
/// (orders, counts) never reach a decision through the order of a hash table.
public struct RoomState: Sendable {
    public let room: RoomID
    /// nil: there is no room of this ID.
    var record: RoomRecord?
    var members = MemberTable()
    var queue = RoomQueue()
    var slow = SlowMode()
    var uploads = UploadTable()
    var reports = ReportTable()
    /// Messages that wait for a manager, and those that were denied lately.
    var held = HeldTable()
    var denied = DeniedTable()
    /// Members that are here without any session.
    var robots: [UserID: RobotRecord] = [:]
    var tallies = TallyTable()
    var polls = PollTable()
    /// The windows of taps that this room and earlier ones of the ID have counted.
    var taps = TapLives()
    var ledger = CommandLedger()
    /// The debt to the app's webhook.
    var owed = WebhookRecord()
    /// Held messages that it is owed by rows of their own, oldest first; with those in `owed` at most
    /// `WebhookRecord.heldMax`.
    var owedHolds = Fifo<RoomLifeEvent>()
    /// The last room of this ID, which was deleted and can be restored; nil while there is a room.
    var deleted: DeletedRoom?
    /// Unkept messages of the log entry at hand: with its index they make message IDs. A state is restored between
    /// entries, so this need not be stored.
    private var unkept = (index: UInt64(0), count: UInt64(0))
    /// Nothing. An existential has no size that the compiler could load, so a state is only ever worked on where it lies:
    /// without this, each call of a method that does not change the state copies 2 KB to the stack, a fifth of a post's cost.
    private let inPlace: (any Sendable)? = nil

    /// - Parameters:
    ///   - rows: the `.command`, `.taps` and `.webhook` rows that an earlier life of the room ID has left; all rows of one that
    ///     was deleted and can be restored.
    ///   - recentCommands: of that one, as for ``init(restoring:rows:recentCommands:)``.
    public init(absent room: RoomID, rows: [CatalogueChange] = [], recentCommands: [RecentCommand] = []) {
        let kept = rows.lazy.compactMap { row -> DeletedRoomRecord? in
            if case .deletedRoom(let kept)? = row.value { kept } else { nil }
        }.first
        if let kept {
            self.init(restoring: kept.room, rows: rows, recentCommands: recentCommands)
            bury(kept)
        } else {
            self.init(without: room, rows)
        }
    }

    private init(without room: RoomID, _ rows: [CatalogueChange]) {
        self.room = room
        ledger = CommandLedger(results: Self.results(in: rows))
        taps = TapLives(rows)
        for case .webhook(let record)? in rows.map(\.value) { owed = record }
    }

    /// Restores a room from what it has emitted.
    ///
    /// - Parameters:
    ///   - rows: all catalogue rows of the room besides its own, in any order; rows that do not parse are ignored.
    ///   - recentCommands: the kept posts of this incarnation that carry a command key and are younger than
    ///     `Limits.commandMemorySeconds`, oldest first; recalled ones too.
    public init(restoring record: RoomRecord, rows: [CatalogueChange], recentCommands: [RecentCommand]) {
        room = record.info.id
        self.record = record
        queue = RoomQueue(nextPosition: record.nextQueuePosition)
        var times: [(user: UserID, spoken: SlowMode.Spoken)] = []
        var denials: [DeniedRecord] = []
        uploads = UploadTable(
            records: rows.compactMap { row in
                if case .upload(let record)? = row.value { (row.key, record) } else { nil }
            })
        var holds: [RoomLifeEvent] = []
        var (pollRecords, votes): ([PollRecord], [(key: String, votes: PollVotes)]) = ([], [])
        reports = ReportTable(
            rows.compactMap { row in if case .report(let report)? = row.value { report } else { nil } })
        for row in rows {
            switch row.value {
            case .member(let member):
                if let user = UserID(row.key) { members.set(member, of: user) }
            case .queue(let element, let position):
                queue.put(element, at: position)
            case .robot(let robot):
                if let user = UserID(row.key) { robots[user] = robot }
            case .time(let time):
                let sweepAt =
                    row.deadline ?? SlowMode.sweepTime(time, seconds: record.info.slowModeSeconds)
                if let user = UserID(row.key) {
                    times.append((user, SlowMode.Spoken(time: time, sweepAt: sweepAt)))
                }
            case .webhook(let record):
                owed = record
            case .tally(let tally):
                tallies.set(tally)
            case .poll(let record):
                pollRecords.append(record)
            case .votes(let some):
                votes.append((row.key, some))
            case .held(let record):
                held.put(record)
            case .denied(let record):
                denials.append(record)
            case .owedHeld(let event):
                holds.append(event)
            case .room, .deletedRoom, .command, .taps, .upload, .report, nil:
                break
            }
        }
        denied = DeniedTable(records: denials)
        owedHolds = Fifo(holds.sorted { $0.index < $1.index })
        slow = SlowMode(times: times)
        polls = PollTable(pollRecords, votes: votes)
        taps = TapLives(rows)
        ledger = CommandLedger(results: Self.results(in: rows))
        for recent in recentCommands {
            ledger.remember(
                CommandLedger.Post(seq: recent.seq, time: recent.time, priority: recent.priority), of: recent.key)
        }
    }

    private static func results(in rows: [CatalogueChange]) -> [(key: CommandKey, memory: CommandMemory)] {
        rows.compactMap { row in
            guard case .command(let memory)? = row.value, let key = CommandKey(text: row.key) else { return nil }
            return (key, memory)
        }
    }

    // MARK: - What the room is

    // Never inlined: in another module's optimised code Swift 6.3.1 fails an ownership check (`CopyPropagation`) on
    // parts of this optional record.
    public var exists: Bool { incarnation != nil }
    /// A copy of all of the room's texts: not for what is asked with each message.
    public var info: RoomInfo? { @inline(never) get { record?.info } }
    /// Whether the room is muted as a whole.
    public var isMuted: Bool { @inline(never) get { record?.info.muted ?? false } }
    /// The room's own limit of HIGH messages.
    public var highPerSecond: Int64? { @inline(never) get { record?.info.highPerSecond } }
    /// Whether the room closes some time after nobody is in it any more.
    public var closesWhenIdle: Bool {
        @inline(never) get { record.map { $0.info.idleCloseSeconds > 0 && !$0.info.closed } ?? false }
    }
    public var incarnation: Incarnation? { @inline(never) get { record?.incarnation } }
    /// The seq of the newest kept message; 0 before the first.
    public var lastSeq: UInt64 { @inline(never) get { record?.lastSeq ?? 0 } }

    /// When the room needs an `expire`: the earliest end of a temporary mute or a ban, the idle close, or the removal of
    /// results, of slow mode's times, of windows of taps and of excerpts that are forgotten.
    public var nextDeadline: Timestamp? {
        // Asked at the end of each of the room's turns.
        var next: Timestamp?
        func sooner(_ other: Timestamp?) {
            if let other { next = next.map { min($0, other) } ?? other }
        }
        sooner(members.deadlines.first?.time)
        sooner(idleDeadline)
        sooner(ledger.nextSweep)
        sooner(slow.nextSweep)
        sooner(nextPollDeadline)
        sooner(taps.nextSweep)
        sooner(held.deadlines.first?.time)
        sooner((deleted?.denied ?? denied).nextSweep)
        sooner(deleted?.record.purgeAt)
        sooner((deleted?.uploads ?? uploads).nextDeadline)
        sooner((deleted?.reports ?? reports).nextDeadline)
        return next
    }

    /// When the room closes if nobody enters.
    public var idleDeadline: Timestamp? { @inline(never) get { record?.idleDeadline } }
    /// Since when the room is empty, as far as the log knows.
    public var emptySince: Timestamp? { @inline(never) get { record?.emptySince } }

    // MARK: - Numbers

    /// The seq and ID of the next kept message.
    mutating func nextKept() -> (seq: UInt64, messageID: String) {
        let seq = lastSeq &+ 1
        record?.lastSeq = seq
        return (seq, MessageID.kept(record?.incarnation ?? Incarnation(0), seq: seq).text)
    }

    /// The ID of an unkept message of this log entry.
    mutating func nextUnkeptID(_ stamp: Stamp) -> String {
        if unkept.index != stamp.index { unkept = (stamp.index, 0) }
        defer { unkept.count &+= 1 }
        return MessageID.unkept(
            record?.incarnation ?? Incarnation(0), index: stamp.index, ordinal: unkept.count
        ).text
    }

    /// The life of the room ends; results other than those of its posts stay, windows of taps too.
    mutating func becomeAbsent() {
        clearContent()
        ledger.forgetPosts()
    }

    /// The room is not there any more; what is remembered of commands stays.
    mutating func clearContent() {
        record = nil
        members = MemberTable()
        queue = RoomQueue()
        slow = SlowMode()
        uploads = UploadTable()
        reports = ReportTable()
        (held, denied) = (HeldTable(), DeniedTable())
        robots = [:]
        tallies = TallyTable()
        polls = PollTable()
    }
}

/// A kept post whose command must not happen twice.
public struct RecentCommand: Sendable, Hashable {
    public var key: CommandKey
    public var seq: UInt64
    public var time: Timestamp
    /// The message's priority, as it was accepted; nil when nobody has looked at the message.
    public var priority: Priority?

    public init(key: CommandKey, seq: UInt64, time: Timestamp, priority: Priority?) {
        self.key = key
        self.seq = seq
        self.time = time
        self.priority = priority
    }
}
