/// Values by numbers that count up, as the requests of one asker are numbered. Most are removed in the order in which they
/// came, so the first one is nearly always the one that is looked for; others are found by halving. A dictionary would hash
/// each number, several times.
///
/// A number that does not count up, or that is there already, is taken nevertheless: then all are looked through, oldest
/// first, until none is left.
public struct AscendingTable<Value> {
    @usableFromInline struct Entry {
        @usableFromInline var number: UInt32
        /// nil: removed.
        @usableFromInline var value: Value?

        @inlinable
        init(number: UInt32, value: Value?) {
            self.number = number
            self.value = value
        }
    }

    /// The first one and the last one are not removed.
    @usableFromInline var entries: ContiguousArray<Entry> = []
    /// The first one's index. Small, as its owners are many.
    @usableFromInline var head: UInt32 = 0
    @usableFromInline var removed: UInt32 = 0
    /// The distances of all numbers from the first one grow; they may wrap around.
    @usableFromInline var isAscending = true

    /// More removed entries than this, and than are left, are let go of.
    @usableFromInline static var removedMax: Int { 32 }
    @usableFromInline static var capacityMin: Int { 4 }

    @inlinable
    public init() {}

    @inlinable public var isEmpty: Bool { entries.isEmpty }
    @inlinable public var count: Int { entries.count - Int(removed) }

    /// All, oldest first.
    @inlinable public var values: some Sequence<Value> { entries[Int(head)...].lazy.compactMap(\.value) }

    /// Those of all values, oldest first.
    @inlinable public var numbers: some Sequence<UInt32> {
        entries[Int(head)...].lazy.filter { $0.value != nil }.map(\.number)
    }

    /// Places a value behind all others.
    @inlinable
    public mutating func append(_ value: Value, at number: UInt32) {
        if let last = entries.last {
            let first = entries[Int(head)]
            if number &- first.number <= last.number &- first.number { isAscending = false }
        } else {
            // They would grow several times for an asker of several things at once.
            entries.reserveCapacity(Self.capacityMin)
        }
        entries.append(Entry(number: number, value: value))
    }

    /// The oldest value of that number.
    @inlinable
    public subscript(number: UInt32) -> Value? { index(of: number).flatMap { entries[$0].value } }

    /// Removes the oldest value of that number, and returns it; nil when there is none.
    ///
    /// - Parameter isWanted: which one, where several have the number.
    @inlinable
    public mutating func removeValue(at number: UInt32, where isWanted: (Value) -> Bool = { _ in true }) -> Value? {
        guard let index = index(of: number, where: isWanted), let value = entries[index].value.take() else {
            return nil
        }
        removed += 1
        guard count > 0 else {
            // Askers are many, and most wait for nothing most of the time.
            self = AscendingTable()
            return value
        }
        while entries[Int(head)].value == nil { head += 1 }
        while let last = entries.last, last.value == nil {
            entries.removeLast()
            removed -= 1
        }
        if removed > Self.removedMax, removed > count {
            entries.removeAll { $0.value == nil }
            (head, removed) = (0, 0)
        }
        return value
    }

    @inlinable
    func index(of number: UInt32, where isWanted: (Value) -> Bool = { _ in true }) -> Int? {
        guard !entries.isEmpty else { return nil }
        guard isAscending else {
            return entries[Int(head)...].firstIndex { $0.number == number && $0.value.map(isWanted) == true }
        }
        let first = entries[Int(head)].number
        if first == number { return Int(head) }
        var (low, high) = (Int(head), entries.count)
        while low < high {
            let middle = low + (high - low) / 2
            if entries[middle].number &- first < number &- first { low = middle + 1 } else { high = middle }
        }
        return low < entries.count && entries[low].number == number ? low : nil
    }
}

extension AscendingTable: Sendable where Value: Sendable {}
extension AscendingTable.Entry: Sendable where Value: Sendable {}
