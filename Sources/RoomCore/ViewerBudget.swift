import ChatModel

/// Decides which messages of a big room go to everybody, which to some only, and what is told about the rest
/// (PROTOCOL.md, "Viewer budget"). A room with few people does not ask it.
///
/// In any second a viewer is shown at most the budget, in this order:
/// 1. notifications and `mentionAll`, for everybody (360 is like the message that it amends, of whoever amends it), up to
///    four fifths; messages that mention the viewer or are directed to it, and its own. All of them together stay within
///    the budget; while they fill it, nothing else is shown.
/// 2. HIGH, while the second has room for it.
/// 3. A sample of the rest, the same for all. A fifth of the budget stays free of it, so that what is more important
///    finds room. When more of (1) than that comes at once, a second can exceed the budget by it; the sample then
///    pauses until the budget holds again.
///
/// The sample is paced by slots of a tenth of a second. A slot may show half of what is left of the second, but at
/// least an even share; while more comes than that, a hash of the place in the stream decides, by the rate of the slot
/// before, and not who comes first in a slot: clients that send by the same clock would always win or always lose.
///
/// Nothing here is per viewer. Bounded: one entry per message shown in the last second, and one per exception made in
/// it (each of which is pushed, too); the ranges of a report by `rangesMax`; one entry per report of the last minute.
public struct ViewerBudget: Sendable {
    /// The viewers that are shown a message.
    public enum Audience: Sendable, Hashable {
        case everybody
        /// Those of these users who are here; may be empty.
        case only([UserID])
    }

    /// The messages that were left out since the last report.
    public struct Report: Sendable, Hashable {
        /// The seqs that were not shown to everybody, ascending; they may cover some that were.
        public var ranges: [ClosedRange<UInt64>] = []
        /// How many unkept messages were not shown to everybody.
        public var unkept = 0
        /// Sessions that were spared more or less than `unkept`, and by how many.
        public var corrections: [PresenceKey: Int] = [:]

        /// The number of unkept messages that a session was spared.
        public func unkept(of session: PresenceKey) -> Int { max(0, unkept + corrections[session, default: 0]) }
    }

    private struct Shown: Sendable {
        var time: Int64
        var comesFirst: Bool
    }

    private struct Told: Sendable {
        var time: Int64
        var firstSeq: UInt64
    }

    private struct Exception: Sendable {
        var time: Int64
        var user: UserID
    }

    static let slotMilliseconds: Int64 = 100
    static let reportMilliseconds: Int64 = 1000
    static let rememberedMilliseconds: Int64 = 60_000
    /// Beyond it the last range is widened: a `gap` may name what a session did receive.
    static let rangesMax = 256
    private static let slotsPerSecond = 10

    /// The time of the last decision; it never goes back.
    private var now: Int64 = 0
    /// The messages that everybody was shown in the last second.
    private var shown = Fifo<Shown>()
    private var comingFirst = 0
    /// The messages that single users were shown besides, in the last second.
    private var exceptions = Fifo<Exception>()
    private var exceptionsByUser: [UserID: Int] = [:]

    private var slot: Int64 = 0
    /// Messages that competed for a place in the sample, in this slot and in the one before.
    private var competing: UInt64 = 0
    private var competedBefore: UInt64 = 0
    private var sampled = 0
    private var allowed = 0
    private var place: UInt64 = 0

    private var report = Report()
    /// When there is something to tell; nil while there is nothing.
    public private(set) var reportDueAt: Timestamp?
    private var reportedAt = Timestamp(0)
    /// The reports of the last minute that named seqs.
    private var told = Fifo<Told>()
    /// Messages that were not shown to everybody, in all.
    public private(set) var messagesLeftOut: Int64 = 0

    public init() {}

    // MARK: - Deciding

    /// Decides who is shown a message of a big room. Messages come in the order of the stream.
    /// - Parameter perSecond: messages a second to one viewer, at least 1.
    public mutating func audience(of message: Message, perSecond: Int, at time: Timestamp) -> Audience {
        let budget = max(1, perSecond)
        advance(to: time, budget)
        if !message.to.isEmpty {
            return .only(admit(message.concernedUsers, budget))
        }
        // A fifth stays for what concerns one viewer: a manager's script must not cost the others their own messages.
        if message.comesFirst, comingFirst < Self.sampleMax(budget) {
            show(comesFirst: true)
            return .everybody
        }
        if message.priority == .high ? shown.count < budget : isSampled(budget) {
            show(comesFirst: false)
            return .everybody
        }
        leaveOut(message)
        messagesLeftOut += 1
        return .only(admit(message.concernedUsers, budget))
    }

    private mutating func show(comesFirst: Bool) {
        shown.append(Shown(time: now, comesFirst: comesFirst))
        if comesFirst { comingFirst += 1 }
    }

    /// Those of the users whose second has room for it.
    private mutating func admit(_ users: [UserID], _ budget: Int) -> [UserID] {
        let admitted = users.filter { comingFirst + exceptionsByUser[$0, default: 0] < budget }
        for user in admitted {
            exceptions.append(Exception(time: now, user: user))
            exceptionsByUser[user, default: 0] += 1
        }
        return admitted
    }

    private mutating func isSampled(_ budget: Int) -> Bool {
        competing += 1
        place &+= 1
        guard sampled < allowed, shown.count < Self.sampleMax(budget) else { return false }
        let expected = max(competedBefore, 1)
        guard SampleHash.mix(place) % expected < UInt64(allowed) else { return false }
        sampled += 1
        return true
    }

    private static func sampleMax(_ budget: Int) -> Int { budget - budget / 5 }

    private mutating func advance(to time: Timestamp, _ budget: Int) {
        now = max(now, time.milliseconds)
        while let oldest = shown.first, oldest.time <= now - 1000 {
            shown.removeFirst()
            if oldest.comesFirst { comingFirst -= 1 }
        }
        while let oldest = exceptions.first, oldest.time <= now - 1000 {
            exceptions.removeFirst()
            let left = exceptionsByUser[oldest.user, default: 1] - 1
            exceptionsByUser[oldest.user] = left > 0 ? left : nil
        }
        let current = now / Self.slotMilliseconds
        guard current != slot else { return }
        competedBefore = current == slot + 1 ? competing : 0
        slot = current
        competing = 0
        sampled = 0
        let left = Self.sampleMax(budget) - shown.count
        allowed = max(0, min(left, max(Self.sampleMax(budget) / Self.slotsPerSecond, left / 2, 1)))
    }

    // MARK: - Telling

    private mutating func leaveOut(_ message: Message) {
        owe()
        guard let seq = message.seq else {
            report.unkept += 1
            return
        }
        leaveOut(seq...seq)
    }

    private mutating func leaveOut(_ seqs: ClosedRange<UInt64>) {
        guard let last = report.ranges.last else { return report.ranges.append(seqs) }
        if last.upperBound + 1 == seqs.lowerBound || report.ranges.count == Self.rangesMax {
            report.ranges[report.ranges.count - 1] = last.lowerBound...max(last.upperBound, seqs.upperBound)
        } else {
            report.ranges.append(seqs)
        }
    }

    /// Kept messages that nobody is shown, however few are here.
    public mutating func leaveOut(_ seqs: ClosedRange<UInt64>, at time: Timestamp) {
        now = max(now, time.milliseconds)
        owe()
        leaveOut(seqs)
    }

    /// An unkept message that was left out was shown to this session after all.
    public mutating func noteShown(to session: PresenceKey) { correct(session, by: -1) }

    /// A directed message was not shown to this session, whose second was full.
    public mutating func noteSpared(_ session: PresenceKey) {
        owe()
        correct(session, by: 1)
    }

    private mutating func owe() {
        guard reportDueAt == nil else { return }
        reportDueAt = max(Timestamp(now), reportedAt).adding(milliseconds: Self.reportMilliseconds)
    }

    /// A session that was not here until now: what was left out before does not concern it.
    public mutating func noteEntered(_ session: PresenceKey) {
        if report.unkept > 0 { report.corrections[session] = -report.unkept }
    }

    private mutating func correct(_ session: PresenceKey, by change: Int) {
        report.corrections[session, default: 0] += change
    }

    /// The messages that were left out, when it is time to tell: a second after the first of it, so at most once a
    /// second.
    /// - Parameter isLast: nobody would tell later.
    public mutating func takeReport(at now: Timestamp, isLast: Bool = false) -> Report? {
        guard let due = reportDueAt, due <= now || isLast else { return nil }
        defer {
            report = Report()
            reportDueAt = nil
            reportedAt = now
        }
        forgetTold(at: now)
        if let first = report.ranges.first {
            told.append(Told(time: now.milliseconds, firstSeq: first.lowerBound))
        }
        return report
    }

    /// The ranges that a returning session, with everything up to `since`, may not have been told: a session that went
    /// before a report came has holes that nobody explains again.
    public mutating func untold(through since: UInt64, at now: Timestamp) -> ClosedRange<UInt64>? {
        forgetTold(at: now)
        guard let first = told.first?.firstSeq, first <= since else { return nil }
        return first...since
    }

    private mutating func forgetTold(at now: Timestamp) {
        while let oldest = told.first, oldest.time <= now.milliseconds - Self.rememberedMilliseconds {
            told.removeFirst()
        }
    }
}

extension Message {
    /// Users that a message concerns more than others: whom it mentions, or whom alone it is for, and its sender.
    public var concernedUsers: [UserID] {
        var users = to.isEmpty ? mentions : to
        if let sender = from?.user ?? amender { users.append(sender) }
        var known: Set<UserID> = []
        return users.filter { known.insert($0).inserted }
    }

    fileprivate var comesFirst: Bool {
        guard case .notification(let notification) = body else { return mentionAll }
        return notification.event != .amended
    }

    private var amender: UserID? {
        guard case .notification(let notification) = body, notification.event == .amended else { return nil }
        return notification.operator?.user
    }
}
