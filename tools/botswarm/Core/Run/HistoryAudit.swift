/// The reading of a room's whole history, shared by the bots of the room: pages at known places, because seqs are dense.
package struct HistoryAudit: Sendable {
    package enum Stage: Hashable, Sendable {
        /// The room's seq has to be asked for. Can transition to: `asking`.
        case idle
        /// Somebody has asked. Can transition to: `reading`, `done`, and `idle` when the answer does not come.
        case asking
        /// Pages are being read. Can transition to: `done`.
        case reading
        /// Everything was read. Final.
        case done
    }

    /// The most that one request gives.
    package static let pageItems: UInt64 = 100
    /// Bots of one room that read at a time.
    package static let readersMax = 16

    package private(set) var stage = Stage.idle
    private var rest: ClosedRange<UInt64>?
    private var returned: [ClosedRange<UInt64>] = []
    private var readers = 0

    package init() {}

    /// Whether the caller is to ask for the room's seq.
    package mutating func takeQuestion() -> Bool {
        guard stage == .idle else { return false }
        stage = .asking
        return true
    }

    /// The question was not answered.
    package mutating func returnQuestion() {
        if stage == .asking { stage = .idle }
    }

    /// The question was answered: what there is to be read.
    package mutating func begin(_ range: ClosedRange<UInt64>?) {
        rest = range
        stage = range == nil ? .done : .reading
    }

    /// The next page to read.
    package mutating func take() -> ClosedRange<UInt64>? {
        guard stage == .reading, readers < Self.readersMax else { return nil }
        if let range = returned.popLast() {
            readers += 1
            return range
        }
        guard let rest else { return nil }
        let last = min(rest.upperBound, rest.lowerBound + (Self.pageItems - 1))
        self.rest = last < rest.upperBound ? (last + 1)...rest.upperBound : nil
        readers += 1
        return rest.lowerBound...last
    }

    /// A page was read.
    package mutating func finish() {
        readers -= 1
        if readers == 0, rest == nil, returned.isEmpty { stage = .done }
    }

    /// The page could not be read; somebody else has to.
    package mutating func giveBack(_ range: ClosedRange<UInt64>) {
        readers -= 1
        returned.append(range)
    }
}
