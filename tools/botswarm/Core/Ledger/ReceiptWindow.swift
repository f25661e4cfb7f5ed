/// Which of a room's numbered items a viewer has received, for the newest ones: one bit each.
///
/// It grows with the items, to at most `itemsMax` bits, and then moves on. Receipts older than the window can't be
/// judged any more.
package struct ReceiptWindow: Sendable {
    package enum Outcome: Hashable, Sendable {
        case first, again, tooOld
    }

    /// 8 KB for each viewer at most.
    package static let itemsMax = 65_536

    private var words: [UInt64] = []
    /// The number of the first bit; a multiple of 64.
    private var base = 0

    package init() {}

    /// Notes that item `number` (from 0) has come.
    package mutating func insert(_ number: Int) -> Outcome {
        guard number >= base else { return .tooOld }
        let wordMax = Self.itemsMax / 64
        var word = (number - base) / 64
        if word >= wordMax {
            // A quarter at a time, so that moving costs little for each item.
            let moved = max(word - wordMax + 1, wordMax / 4)
            words.removeFirst(min(moved, words.count))
            base += moved * 64
            word -= moved
        }
        if word >= words.count { words.append(contentsOf: repeatElement(0, count: word - words.count + 1)) }
        let bit: UInt64 = 1 << UInt64(number % 64)
        guard words[word] & bit == 0 else { return .again }
        words[word] |= bit
        return .first
    }
}
