/// A set of seqs as ascending, disjoint ranges that do not touch.
struct SeqRanges: Hashable, Sendable {
    private(set) var ranges: [ClosedRange<UInt64>] = []

    var isEmpty: Bool { ranges.isEmpty }
    var count: Int { ranges.count }

    func contains(_ seq: UInt64) -> Bool { ranges.contains { $0.contains(seq) } }

    mutating func insert(_ range: ClosedRange<UInt64>) {
        var (low, high) = (range.lowerBound, range.upperBound)
        var kept: [ClosedRange<UInt64>] = []
        for each in ranges {
            let touches = each.lowerBound <= Self.after(high) && low <= Self.after(each.upperBound)
            guard touches else {
                kept.append(each)
                continue
            }
            low = min(low, each.lowerBound)
            high = max(high, each.upperBound)
        }
        let place = kept.firstIndex { $0.lowerBound > high } ?? kept.count
        kept.insert(low...high, at: place)
        ranges = kept
    }

    /// Takes all seqs of `range` out; what of them was there.
    @discardableResult
    mutating func remove(_ range: ClosedRange<UInt64>) -> [ClosedRange<UInt64>] {
        var (kept, removed): ([ClosedRange<UInt64>], [ClosedRange<UInt64>]) = ([], [])
        for each in ranges {
            guard each.overlaps(range) else {
                kept.append(each)
                continue
            }
            removed.append(each.clamped(to: range))
            if each.lowerBound < range.lowerBound { kept.append(each.lowerBound...(range.lowerBound - 1)) }
            if each.upperBound > range.upperBound { kept.append((range.upperBound + 1)...each.upperBound) }
        }
        ranges = kept
        return removed
    }

    /// Takes the range of the lowest seqs out.
    mutating func removeFirst() -> ClosedRange<UInt64>? { ranges.isEmpty ? nil : ranges.removeFirst() }

    mutating func removeAll() { ranges = [] }

    private static func after(_ seq: UInt64) -> UInt64 { seq == .max ? seq : seq + 1 }
}
