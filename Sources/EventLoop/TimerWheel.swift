/// Keys with the time at which each is due, in slots of ``slotMilliseconds``: to set, to move and to take out one costs
/// the same however many there are (Varghese and Lauck, "Hashed and hierarchical timing wheels"). Pure: times are passed
/// in, in milliseconds of whichever clock the owner goes by.
///
/// A key has one place at most. One that is due beyond the wheel's span lies in the last slot, and is moved on when its
/// turn comes: in each span every key is moved once at most, so no step is longer than another.
public struct TimerWheel<Key: Hashable & Sendable>: Sendable {
    /// A key is taken out at most so much later than it is due.
    @inlinable public static var slotMilliseconds: Int64 { 128 }
    @inlinable public static var slotCount: Int { 512 }

    /// The result of a step.
    public enum Step {
        /// The key is due, and has no place any more.
        case due(Key)
        /// A key was moved on.
        case moved
    }

    @usableFromInline struct Entry: Sendable {
        @usableFromInline var key: Key
        /// The number of the slot, counted from time 0, from which on it is due.
        @usableFromInline var due: Int64

        @inlinable init(key: Key, due: Int64) {
            self.key = key
            self.due = due
        }
    }

    @usableFromInline struct Place: Sendable {
        @usableFromInline var slot: Int32
        @usableFromInline var index: Int32

        @inlinable init(slot: Int32, index: Int32) {
            self.slot = slot
            self.index = index
        }
    }

    /// Without memory while there are no keys.
    @usableFromInline var slots: [[Entry]] = []
    @usableFromInline var places: [Key: Place] = [:]
    /// The number of the slot that is emptied next. Whatever lies in a slot is due there or later.
    @usableFromInline var position: Int64 = 0

    @inlinable public init() {}

    @inlinable public var count: Int { places.count }

    /// Puts the key where it is due, from wherever it was.
    @inlinable public mutating func set(_ key: Key, at due: Int64, now: Int64) {
        remove(key)
        if slots.isEmpty {
            slots = Array(repeating: [], count: Self.slotCount)
            position = Self.passed(at: now)
        }
        followClock(setBackTo: Self.passed(at: now))
        put(Entry(key: key, due: Self.slot(of: due)))
    }

    /// The same for a key that does not lie where it is taken out as early, or earlier. A key whose time moves on again
    /// and again keeps its place so, and its owner sets it anew when it has been taken out.
    @inlinable public mutating func hasten(_ key: Key, to due: Int64, now: Int64) {
        if !lies(key, notAfter: due) { set(key, at: due, now: now) }
    }

    /// Whether the key is taken out when that time comes.
    @inlinable public func lies(_ key: Key, notAfter due: Int64) -> Bool {
        guard let place = places[key] else { return false }
        return slots[Int(place.slot)][Int(place.index)].due <= Self.slot(of: due)
    }

    @inlinable public mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        let (slot, index) = (Int(place.slot), Int(place.index))
        let last = slots[slot].removeLast()
        if index < slots[slot].count {
            slots[slot][index] = last
            places[last.key] = place
        }
        if places.isEmpty { slots = [] }
    }

    @inlinable public mutating func removeAll() { self = TimerWheel() }

    /// Takes one step towards `now`; nil when nothing is left that is due.
    @inlinable public mutating func next(at now: Int64) -> Step? {
        guard !slots.isEmpty else { return nil }
        let end = Self.passed(at: now)
        followClock(setBackTo: end)
        // Or forward: each slot is looked at once.
        position = max(position, end - Int64(Self.slotCount) + 1)
        while position <= end {
            let slot = Self.index(of: position)
            guard let entry = slots[slot].popLast() else {
                // A slot that was full once does not keep its memory.
                slots[slot] = []
                position += 1
                continue
            }
            places[entry.key] = nil
            guard entry.due > end else {
                if places.isEmpty { slots = [] }
                return .due(entry.key)
            }
            put(entry)
            return .moved
        }
        return nil
    }

    /// After the clock was set back, keys that lie ahead are met in time all the same: they are moved on where they lie.
    @inlinable mutating func followClock(setBackTo end: Int64) {
        if end < position - 1 { position = end + 1 }
    }

    @inlinable mutating func put(_ entry: Entry) {
        let number = min(max(entry.due, position), position + Int64(Self.slotCount) - 1)
        let slot = Self.index(of: number)
        places[entry.key] = Place(slot: Int32(slot), index: Int32(slots[slot].count))
        slots[slot].append(entry)
    }

    @inlinable static func index(of number: Int64) -> Int {
        let rest = Int(number % Int64(slotCount))
        return rest < 0 ? rest + slotCount : rest
    }

    /// The slot behind that time, so that nothing is taken out early.
    @inlinable static func slot(of due: Int64) -> Int64 {
        let passed = passed(at: due)
        return passed * slotMilliseconds == due ? passed : passed + 1
    }

    /// The newest slot of which all is due.
    @inlinable static func passed(at now: Int64) -> Int64 {
        let (quotient, rest) = now.quotientAndRemainder(dividingBy: slotMilliseconds)
        return rest < 0 ? quotient - 1 : quotient
    }
}
