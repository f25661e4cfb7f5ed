import ChatModel

/// Keys with the time at which each is due, in slots of ``slotMilliseconds``: to set, to move and to take out one costs
/// the same however many there are (Varghese and Lauck, "Hashed and hierarchical timing wheels"). Pure: times are
/// passed in.
///
/// A key has one place at most. One that is due beyond the wheel's span lies in the last slot, and is moved on when its
/// turn comes: in each span every key is moved once at most, so no step is longer than another.
struct TimerWheel<Key: Hashable & Sendable>: Sendable {
    /// A key is taken out at most so much later than it is due.
    static var slotMilliseconds: Int64 { 128 }
    static var slotCount: Int { 512 }

    /// The result of a step.
    enum Step {
        /// The key is due, and has no place any more.
        case due(Key)
        /// A key was moved on.
        case moved
    }

    private struct Entry {
        var key: Key
        /// The number of the slot, counted from time 0, from which on it is due.
        var due: Int64
    }

    private struct Place {
        var slot: Int32
        var index: Int32
    }

    /// Without memory while there are no keys.
    private var slots: [[Entry]] = []
    private var places: [Key: Place] = [:]
    /// The number of the slot that is emptied next. Whatever lies in a slot is due there or later.
    private var position: Int64 = 0

    var count: Int { places.count }

    /// Puts the key where it is due, from wherever it was.
    mutating func set(_ key: Key, at due: Timestamp, now: Timestamp) {
        remove(key)
        if slots.isEmpty {
            slots = Array(repeating: [], count: Self.slotCount)
            position = Self.passed(at: now)
        }
        followClock(setBackTo: Self.passed(at: now))
        put(Entry(key: key, due: Self.slot(of: due)))
    }

    mutating func remove(_ key: Key) {
        guard let place = places.removeValue(forKey: key) else { return }
        let (slot, index) = (Int(place.slot), Int(place.index))
        let last = slots[slot].removeLast()
        if index < slots[slot].count {
            slots[slot][index] = last
            places[last.key] = place
        }
        if places.isEmpty { slots = [] }
    }

    mutating func removeAll() { self = TimerWheel() }

    /// Takes one step towards `now`; nil when nothing is left that is due.
    mutating func next(at now: Timestamp) -> Step? {
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
    private mutating func followClock(setBackTo end: Int64) {
        if end < position - 1 { position = end + 1 }
    }

    private mutating func put(_ entry: Entry) {
        let number = min(max(entry.due, position), position + Int64(Self.slotCount) - 1)
        let slot = Self.index(of: number)
        places[entry.key] = Place(slot: Int32(slot), index: Int32(slots[slot].count))
        slots[slot].append(entry)
    }

    private static func index(of number: Int64) -> Int {
        let rest = Int(number % Int64(slotCount))
        return rest < 0 ? rest + slotCount : rest
    }

    /// The slot behind that time, so that nothing is taken out early.
    private static func slot(of due: Timestamp) -> Int64 {
        let passed = passed(at: due)
        return passed * slotMilliseconds == due.milliseconds ? passed : passed + 1
    }

    /// The newest slot of which all is due.
    private static func passed(at now: Timestamp) -> Int64 {
        let (quotient, rest) = now.milliseconds.quotientAndRemainder(dividingBy: slotMilliseconds)
        return rest < 0 ? quotient - 1 : quotient
    }
}
