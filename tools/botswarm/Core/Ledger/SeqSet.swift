/// Seqs as ascending ranges that neither touch nor overlap. Bounded in the number of ranges, not in their length.
package struct SeqSet: Hashable, Sendable {
    /// More than a viewer's budget of holes between two `gap` pushes.
    package static let rangesMax = 4_096

    /// The largest seq that is believed; every number of JSON up to here is exact, and none can overflow a sum.
    package static let seqMax: UInt64 = 1 << 53

    package private(set) var ranges: [ClosedRange<UInt64>] = []

    package init() {}

    package var isEmpty: Bool { ranges.isEmpty }
    package var first: UInt64? { ranges.first?.lowerBound }
    package var count: UInt64 { ranges.reduce(0) { $0 + UInt64($1.count) } }

    package func contains(_ seq: UInt64) -> Bool { ranges.contains { $0.contains(seq) } }

    /// Adds a range above all that are in it. Returns false at the bound, and then adds nothing.
    package mutating func append(_ range: ClosedRange<UInt64>) -> Bool {
        if let last = ranges.last {
            precondition(last.upperBound < range.lowerBound, "a range is appended above all others")
            if last.upperBound + 1 == range.lowerBound {
                ranges[ranges.count - 1] = last.lowerBound...range.upperBound
                return true
            }
        }
        guard ranges.count < Self.rangesMax else { return false }
        ranges.append(range)
        return true
    }

    /// Takes `range` out and returns those parts of it that were in.
    package mutating func remove(_ range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        guard ranges.contains(where: { $0.overlaps(range) }) else { return [] }
        var removed: [ClosedRange<UInt64>] = []
        var rest: [ClosedRange<UInt64>] = []
        for held in ranges {
            guard held.overlaps(range) else {
                rest.append(held)
                continue
            }
            removed.append(held.clamped(to: range))
            if held.lowerBound < range.lowerBound { rest.append(held.lowerBound...(range.lowerBound - 1)) }
            if held.upperBound > range.upperBound { rest.append((range.upperBound + 1)...held.upperBound) }
        }
        ranges = rest
        return removed
    }
}
