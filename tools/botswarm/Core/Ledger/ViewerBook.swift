/// One bot's place in one room: which seqs it has, which it was told are only in history, and what it is owed.
///
/// Its size does not grow with the messages: a position, the open holes, and two accounts.
package struct ViewerBook: Sendable {
    /// Whether the bot views the room.
    package enum Stay: Hashable, Sendable {
        /// It has not entered yet. Can transition to: `here`.
        case never
        /// It is told what happens. Can transition to: `away`, `out`, and `here` by entering again.
        case here
        /// The connection is lost. Can transition to: `here`.
        case away
        /// It was put out, or has given up. Final.
        case out
    }

    /// The meaning of a kept push for the order.
    package enum KeptOutcome: Hashable, Sendable {
        case next
        /// It came, and these before it have not; a `gap` has to name them.
        case afterHole(ClosedRange<UInt64>)
        /// It came after a higher one.
        case late
        case again
        /// The stay began after it.
        case beforeEntry
        /// There are more holes than can be noted; nothing was changed but the position.
        case tooManyHoles
    }

    package let bot: BotID
    package internal(set) var stay = Stay.never
    /// Everything up to here has come, is in `holes` or `catchUp`, or was named by a `gap`.
    package private(set) var position: UInt64 = 0
    package private(set) var entrySeq: UInt64 = 0
    /// Not received, not named by a `gap` yet.
    package private(set) var holes = SeqSet()
    /// The rest to be read from history after an `enter` with `missedMore`; live pushes go on above it.
    package private(set) var catchUp: ClosedRange<UInt64>?
    package internal(set) var unkept = LossAccount()
    package internal(set) var barrage = LossAccount()
    /// Barrage of the bot's own that has not come back, by its n.
    package internal(set) var ownBarrage: Set<Int> = []

    package private(set) var received: UInt64 = 0
    package private(set) var recovered: UInt64 = 0
    package private(set) var named: UInt64 = 0

    /// The BUDGET gaps of this stay.
    private var budgetGaps = 0
    private var firstBudgetGap: SwarmInstant?

    package init(bot: BotID) { self.bot = bot }

    /// The seq with which to resume: the last one before anything that is missing.
    package var resumePoint: UInt64 {
        var point = position
        if let hole = holes.first { point = min(point, hole - 1) }
        if let next = catchUp?.lowerBound { point = min(point, next - 1) }
        return point
    }

    /// Whether nothing is missing up to the position.
    package var isWhole: Bool { holes.isEmpty && catchUp == nil }

    package mutating func enter(at seq: UInt64, catchUp: ClosedRange<UInt64>?, recovered: Int) {
        if stay == .never { entrySeq = seq }
        stay = .here
        position = seq
        holes = SeqSet()
        budgetGaps = 0
        firstBudgetGap = nil
        self.catchUp = catchUp
        self.recovered += UInt64(recovered)
    }

    package mutating func receive(_ seq: UInt64) -> KeptOutcome {
        guard seq > position else {
            if holes.contains(seq) {
                _ = holes.remove(seq...seq)
                received += 1
                return .late
            }
            return seq <= entrySeq ? .beforeEntry : .again
        }
        received += 1
        let before = position
        position = seq
        guard seq > before + 1 else { return .next }
        let hole = (before + 1)...(seq - 1)
        return holes.append(hole) ? .afterHole(hole) : .tooManyHoles
    }

    /// Notes a range of a `gap` and returns what of it had not come.
    package mutating func name(_ range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var missing = holes.remove(range)
        if range.upperBound > position {
            let ahead = max(range.lowerBound, position + 1)...range.upperBound
            if ahead.lowerBound > position + 1 { _ = holes.append((position + 1)...(ahead.lowerBound - 1)) }
            missing.append(ahead)
            position = range.upperBound
        }
        named += missing.reduce(0) { $0 + UInt64($1.count) }
        return missing
    }

    /// Returns false when there were more than one a second since the first. Two may come early: how long each was on
    /// its way differs.
    package mutating func noteBudgetGap(at instant: SwarmInstant) -> Bool {
        let first = firstBudgetGap ?? instant
        firstBudgetGap = first
        budgetGaps += 1
        let seconds = instant.microseconds(since: first) / 1_000_000
        return budgetGaps <= Int(clamping: seconds) + 1 + Self.earlyGapsMax
    }

    private static let earlyGapsMax = 2

    /// Notes that history gave everything that was missed up to `seq`.
    package mutating func catchUp(to seq: UInt64) {
        guard let range = catchUp, seq >= range.lowerBound else { return }
        recovered += min(seq, range.upperBound) - range.lowerBound + 1
        catchUp = seq < range.upperBound ? (seq + 1)...range.upperBound : nil
    }

    /// Gives up what history did not have.
    package mutating func abandonCatchUp() { catchUp = nil }
}
