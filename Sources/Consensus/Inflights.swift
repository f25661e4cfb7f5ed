/// A queue of (last index, bytes), bounded by count and bytes, released from the front by index: the appends under way
/// to a follower, proposals not yet committed, entries not yet applied.
struct Inflights: Sendable {
    private struct Item: Sendable {
        var lastIndex: UInt64
        var bytes: Int
    }

    let countMax: Int
    let bytesMax: Int
    /// A ring; grows by doubling up to `countMax`, so that an idle queue costs nothing.
    private var items: [Item] = []
    private var head = 0
    private(set) var count = 0
    private(set) var bytes = 0

    init(countMax: Int = .max, bytesMax: Int) {
        self.countMax = max(1, countMax)
        self.bytesMax = max(1, bytesMax)
    }

    /// Nothing more may be added. One item may exceed `bytesMax`, or a big entry would never leave.
    var isFull: Bool { count >= countMax || bytes >= bytesMax }
    var isEmpty: Bool { count == 0 }

    /// Indices must ascend.
    mutating func add(lastIndex: UInt64, bytes added: Int) {
        if count == items.count { grow() }
        items[(head + count) & (items.count - 1)] = Item(lastIndex: lastIndex, bytes: added)
        count += 1
        bytes += added
    }

    /// Takes out what ends at or before `index`.
    mutating func release(upTo index: UInt64) {
        while count > 0, items[head].lastIndex <= index {
            bytes -= items[head].bytes
            head = (head + 1) & (items.count - 1)
            count -= 1
        }
    }

    mutating func removeAll() {
        head = 0
        count = 0
        bytes = 0
    }

    private mutating func grow() {
        var grown: [Item] = []
        grown.reserveCapacity(max(8, items.count * 2))
        for offset in 0..<count { grown.append(items[(head + offset) & (items.count - 1)]) }
        while grown.count < max(8, items.count * 2) { grown.append(Item(lastIndex: 0, bytes: 0)) }
        items = grown
        head = 0
    }
}
