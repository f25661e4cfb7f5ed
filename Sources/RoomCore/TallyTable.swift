import ChatModel

/// A room's tallies (PROTOCOL.md, "Tallies"), and which windows of taps they include.
struct TallyTable: Sendable {
    /// When a lane's life was heard of last.
    private struct Place: Sendable, Comparable {
        var time: Timestamp
        var life: UInt64

        static func < (a: Place, b: Place) -> Bool { (a.time, a.life) < (b.time, b.life) }
    }

    private var tallies: [String: Tally] = [:]
    private(set) var lives: [UInt64: TapMemory] = [:]
    private var order = SortedList<Place>()

    // MARK: - Tallies

    /// The tally of that key: every room has `like`, also one that nobody has set or tapped.
    subscript(key: String) -> Tally? {
        tallies[key] ?? (key == Tally.like ? Tally(key: key) : nil)
    }

    /// In the order of their keys.
    var all: [Tally] {
        let others = tallies.values.filter { $0.key != Tally.like }.sorted { $0.key < $1.key }
        return [self[Tally.like] ?? Tally(key: Tally.like)] + others
    }

    /// Those that the server API has made.
    var madeCount: Int { tallies.count - (tallies[Tally.like] == nil ? 0 : 1) }

    mutating func set(_ tally: Tally) { tallies[tally.key] = tally }

    /// Returns false when there is no row of it.
    mutating func remove(_ key: String) -> Bool { tallies.removeValue(forKey: key) != nil }

    // MARK: - Windows

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

    /// All lives are over.
    /// - Returns: whose rows must go.
    mutating func forgetLives() -> [UInt64] {
        defer { (lives, order) = ([:], SortedList()) }
        return lives.keys.sorted()
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
