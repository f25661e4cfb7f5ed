import ChatModel
import Synchronization

/// The types of messages, as a set that fits a word.
///
/// Numbers from 31 on are one: a set may say that a type is there which is not, and never the reverse.
struct TypeMask: Sendable, Hashable {
    private var bits: UInt32 = 0

    init() {}

    init(_ types: Set<Int>) {
        for type in types { insert(type) }
    }

    mutating func insert(_ type: Int) { bits |= 1 << UInt32(clamping: min(max(type, 0), 31)) }

    func meets(_ other: TypeMask) -> Bool { bits & other.bits != 0 }
}

/// The types that stand in runs of a shard's messages, as earlier reads have seen them.
///
/// A read that wants few types looks at all messages in between. Without this, members who ask for a type that a room
/// does not have would make a node walk over its whole history each time. A run is known once a read has seen every seq
/// of it; no message changes its type, and none comes between two others, so it stays true until the node ends.
final class TypeRuns: Sendable {
    private struct Run: Hashable {
        var life: UInt64
        var number: Int64
    }

    /// As many are read between two looks at what is known.
    private static let partRuns: Int64 = 4

    private let known = Mutex<[Run: TypeMask]>([:])
    /// Messages of a run.
    private let rows: Int64
    /// Beyond it, all runs are forgotten: reads find them again.
    private let runsMax: Int

    /// - Parameters:
    ///   - rows: so many messages are looked at in vain at either end of what is known.
    ///   - runsMax: some 50 bytes each.
    init(rows: Int, runsMax: Int = 32_768) {
        self.rows = Int64(max(1, rows))
        self.runsMax = max(1, runsMax)
    }

    /// The first part of a range, in an order, that may have messages of these types, a few runs of it at most; nil: the range
    /// has none. Looks at each run of the range once at most: the range ends where the room's messages do.
    func part(
        of range: ClosedRange<Int64>, in order: HistoryQuery.Order, of life: Incarnation, with types: TypeMask
    ) -> ClosedRange<Int64>? {
        known.withLock { known in
            func isWithout(_ number: Int64) -> Bool {
                known[Run(life: life.number, number: number)].map { !$0.meets(types) } ?? false
            }
            let step: Int64 = order == .ascending ? 1 : -1
            let (low, high) = (number(of: range.lowerBound), number(of: range.upperBound))
            var first = step > 0 ? low : high
            let last = step > 0 ? high : low
            while isWithout(first) {
                if first == last { return nil }
                first += step
            }
            var end = first
            while end != last, abs(end - first) < Self.partRuns - 1, !isWithout(end + step) { end += step }
            return max(
                range.lowerBound, seqs(of: min(first, end)).lowerBound)...min(
                    range.upperBound, seqs(of: max(first, end)).upperBound)
        }
    }

    fileprivate func set(_ number: Int64, of life: Incarnation, _ types: TypeMask) {
        known.withLock { known in
            if known.count >= runsMax { known.removeAll(keepingCapacity: true) }
            known[Run(life: life.number, number: number)] = types
        }
    }

    /// The run in which a seq stands; seqs begin with 1.
    fileprivate func number(of seq: Int64) -> Int64 { (max(seq, 1) - 1) / rows }

    fileprivate func seqs(of number: Int64) -> ClosedRange<Int64> {
        // No overflow at its start, which is a seq; seq 0, which no message has, counts to the first run.
        let start = number * rows
        return (start == 0 ? 0 : start + 1)...(start > .max - rows ? .max : start + rows)
    }
}

/// A walk over messages that notes the types of whole runs.
struct TypeRunWalk: Sendable {
    let runs: TypeRuns
    private let life: Incarnation
    private var types = TypeMask()
    /// The seq that comes next if none is left out.
    private var next: Int64?

    init(_ life: Incarnation, _ runs: TypeRuns) { (self.life, self.runs) = (life, runs) }

    mutating func note(_ seq: Int64, _ type: Int, in order: HistoryQuery.Order) {
        let number = runs.number(of: seq)
        let run = runs.seqs(of: number)
        let low = max(run.lowerBound, 1)
        let (first, last) = order == .ascending ? (low, run.upperBound) : (run.upperBound, low)
        if seq == first {
            types = TypeMask()
        } else if seq != next {
            next = nil
            return
        }
        types.insert(type)
        if seq == last {
            runs.set(number, of: life, types)
            next = nil
        } else {
            next = order == .ascending ? seq + 1 : seq - 1
        }
    }
}
