import ChatModel

/// The windows of taps that rooms of an ID have counted. They outlive a room that is deleted, as results of commands do: a
/// window that comes again, because its answer was lost, is known in whatever room there is then.
struct TapLives: Sendable {
    /// When a lane's life was heard of last.
    private struct Place: Sendable, Comparable {
        var time: Timestamp
        var life: UInt64

        static func < (a: Place, b: Place) -> Bool { (a.time, a.life) < (b.time, b.life) }
    }

    private(set) var lives: [UInt64: TapMemory] = [:]
    private var order = SortedList<Place>()

    init() {}

    /// - Parameter rows: as they are stored.
    init(_ rows: [CatalogueChange]) {
        for row in rows {
            guard case .taps(let memory)? = row.value, let life = UInt64(row.key, radix: 16) else { continue }
            _ = remember(memory, of: life)
        }
    }

    func memory(of life: UInt64) -> TapMemory? { lives[life] }

    /// Remembers the window of a life, and forgets the life that was silent for longest where there are too many.
    /// - Returns: whose row must go.
    mutating func remember(_ memory: TapMemory, of life: UInt64) -> UInt64? {
        if let former = lives[life] { order.remove(Place(time: former.time, life: life)) }
        lives[life] = memory
        order.insert(Place(time: memory.time, life: life))
        guard lives.count > Limits.tapLives, let oldest = order.first, oldest.life != life else { return nil }
        forget(oldest)
        return oldest.life
    }

    /// Forgets lives that have been silent for long, a bounded number at a time.
    /// - Returns: whose rows must go.
    mutating func prune(at now: Timestamp) -> [UInt64] {
        var forgotten: [UInt64] = []
        while forgotten.count < Self.prunedAtOnceMax, let oldest = order.first,
            oldest.time.adding(seconds: Limits.tapLifeSeconds) <= now
        {
            forget(oldest)
            forgotten.append(oldest.life)
        }
        return forgotten
    }

    private mutating func forget(_ place: Place) {
        order.remove(place)
        lives[place.life] = nil
    }

    /// When the first row is to be swept, if nothing else happens in the room: a minute late, as for results.
    var nextSweep: Timestamp? { order.first.map { Self.sweepTime($0.time) } }

    static func sweepTime(_ time: Timestamp) -> Timestamp { time.adding(seconds: Limits.tapLifeSeconds + 60) }

    private static let prunedAtOnceMax = 8
}
