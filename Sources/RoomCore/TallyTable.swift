import ChatModel

/// A room's tallies (PROTOCOL.md, "Tallies").
struct TallyTable: Sendable {
    private var tallies: [String: Tally] = [:]

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

    /// Those that somebody has set or tapped, be it to 0.
    var written: [Tally] { all.filter { tallies[$0.key] != nil } }

    mutating func set(_ tally: Tally) { tallies[tally.key] = tally }

    /// Returns false when there is no row of it.
    mutating func remove(_ key: String) -> Bool { tallies.removeValue(forKey: key) != nil }
}
