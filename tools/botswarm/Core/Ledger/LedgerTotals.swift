/// The ledger in numbers, of one room or of all.
package struct LedgerTotals: Hashable, Sendable, Codable {
    /// The totals of one kind of message.
    package struct Sent: Hashable, Sendable, Codable {
        package var sent: UInt64 = 0
        package var accepted: UInt64 = 0
        package var refused: UInt64 = 0
        /// Without an answer that appeared, and without one that did not.
        package var unansweredButSeen: UInt64 = 0
        package var unanswered: UInt64 = 0
    }

    package var kept = Sent()
    package var unkept = Sent()
    package var barrage = Sent()

    /// Kept messages by push.
    package var received: UInt64 = 0
    /// Kept messages by `missed` or from history after `missedMore`.
    package var recovered: UInt64 = 0
    package var namedBySlow: UInt64 = 0
    package var namedByBudget: UInt64 = 0
    package var foundAfterGap: UInt64 = 0
    /// Seqs found by the reading of the whole history.
    package var inHistory: UInt64 = 0

    package var unkeptReceived: UInt64 = 0
    package var unkeptSkipped: UInt64 = 0
    package var barrageReceived: UInt64 = 0
    package var barrageSkipped: UInt64 = 0
    /// Unkept notifications (301, 302, 350), all viewers.
    package var notifications: UInt64 = 0
    /// The digests (350) among those.
    package var digests: UInt64 = 0
    /// Kept changes of the queue in the stream (317, 320), changes that bots made, and answers of `queue` compared.
    package var queueEvents: UInt64 = 0
    package var queueWrites: UInt64 = 0
    package var queueAnswers: UInt64 = 0
    /// Mutes, kicks and blacklistings in the stream, and refusals that were compared with it.
    package var sanctions: UInt64 = 0
    package var refusals: UInt64 = 0
    /// Deliveries too late to know whether they were doubles.
    package var unjudged: UInt64 = 0

    package init() {}

    mutating func add(_ notes: ReplayNotes) {
        queueEvents += notes.queueEventCount
        queueWrites += notes.writeCount
        queueAnswers += UInt64(notes.queueAnswers.count)
        sanctions += notes.sanctionCount
        refusals += UInt64(notes.refusals.count)
    }

    mutating func count(_ message: SentMessage) {
        switch message.kind {
        case .kept: Self.count(message, &kept)
        case .unkept: Self.count(message, &unkept)
        case .barrage: Self.count(message, &barrage)
        }
    }

    private static func count(_ message: SentMessage, _ sent: inout Sent) {
        sent.sent += 1
        switch message.state {
        case .accepted: sent.accepted += 1
        case .refused: sent.refused += 1
        case .unanswered:
            if message.wasSeen { sent.unansweredButSeen += 1 } else { sent.unanswered += 1 }
        }
    }

    package mutating func add(_ other: LedgerTotals) {
        kept.add(other.kept)
        unkept.add(other.unkept)
        barrage.add(other.barrage)
        received += other.received
        recovered += other.recovered
        namedBySlow += other.namedBySlow
        namedByBudget += other.namedByBudget
        foundAfterGap += other.foundAfterGap
        inHistory += other.inHistory
        unkeptReceived += other.unkeptReceived
        unkeptSkipped += other.unkeptSkipped
        barrageReceived += other.barrageReceived
        barrageSkipped += other.barrageSkipped
        notifications += other.notifications
        digests += other.digests
        queueEvents += other.queueEvents
        queueWrites += other.queueWrites
        queueAnswers += other.queueAnswers
        sanctions += other.sanctions
        refusals += other.refusals
        unjudged += other.unjudged
    }
}

extension LedgerTotals.Sent {
    mutating func add(_ other: Self) {
        sent += other.sent
        accepted += other.accepted
        refused += other.refused
        unansweredButSeen += other.unansweredButSeen
        unanswered += other.unanswered
    }
}
