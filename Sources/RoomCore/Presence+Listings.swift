import ChatModel

/// The listings of who is here. Each page costs O(log n + page); a cursor stays good when others come and go.
extension Presence {
    /// One page of TEMPORARY (latest entered first), TEMPORARY_REVERSED or FIXED_ONLINE (by entering). Throws 414 for
    /// a cursor that is none, and for the durable listings, which are the room's.
    /// - Parameter limit: at least 1.
    public func users(_ kind: MemberKind, after cursor: String?, limit: Int) throws(ChatError) -> Page<UserID, String> {
        let after = try cursor.map(Self.position)
        var collector = Collector(limit: max(1, limit))
        switch kind {
        case .temporary:
            guests.descend(from: { place in after.map { Self.position(of: place) < $0 } ?? true }) {
                collector.add($0)
            }
        case .temporaryReversed:
            guests.ascend(skipping: { place in after.map { Self.position(of: place) <= $0 } ?? false }) {
                collector.add($0)
            }
        case .fixedOnline:
            fixed.ascend(skipping: { place in after.map { Self.position(of: place) <= $0 } ?? false }) {
                collector.add($0)
            }
        case .fixed, .managers, .muted, .blacklisted:
            throw ChatError(.badParameter, "this listing is not of who is here", field: "kind")
        }
        return Page(items: collector.users, next: collector.next)
    }

    private struct Collector {
        var limit: Int
        var users: [UserID] = []
        var last: Place?
        var next: String?

        mutating func add(_ place: Place) -> Bool {
            guard users.count < limit else {
                next = last.map { String($0.enteredAt.milliseconds, radix: 36) + "." + String($0.ordinal, radix: 36) }
                return false
            }
            users.append(place.user)
            last = place
            return true
        }
    }

    private typealias Position = (time: Int64, ordinal: UInt64)

    private static func position(of place: Place) -> Position { (place.enteredAt.milliseconds, place.ordinal) }

    private static func position(_ cursor: String) throws(ChatError) -> Position {
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = Int64(parts[0], radix: 36), let ordinal = UInt64(parts[1], radix: 36) else {
            throw RoomState.badCursor
        }
        return (time, ordinal)
    }
}
