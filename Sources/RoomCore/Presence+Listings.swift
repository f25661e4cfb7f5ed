import ChatModel

/// The listings of who is here. Each page costs O(log n + page); a cursor stays good when others come and go, and when another
/// node leads the room.
extension Presence {
    /// One page of TEMPORARY (latest entered first), TEMPORARY_REVERSED or FIXED_ONLINE (by entering). Throws 414 for
    /// a cursor that is none, and for the durable listings, which are the room's.
    /// - Parameters:
    ///   - limit: at least 1.
    ///   - all: who is RESTRICTED is fixed, as managers and the server API see it; to others such a user is a guest.
    public func users(_ kind: MemberKind, after cursor: String?, limit: Int, all: Bool = true) throws(ChatError)
        -> Page<UserID, String>
    {
        let after = try cursor.map(Self.position)
        return switch kind {
        case .temporary: page(all ? [guests] : [guests, restricted], after, limit, latestFirst: true)
        case .temporaryReversed: page(all ? [guests] : [guests, restricted], after, limit, latestFirst: false)
        case .fixedOnline: page(all ? [fixed, restricted] : [fixed], after, limit, latestFirst: false)
        case .fixed, .managers, .muted, .blacklisted, .banned:
            throw ChatError(.badParameter, "this listing is not of who is here", field: "kind")
        }
    }

    /// The lists together, in their order. No more of each is looked at than fits into the page.
    private func page(_ lists: [SortedList<Place>], _ after: Position?, _ asked: Int, latestFirst: Bool)
        -> Page<UserID, String>
    {
        let limit = max(1, asked)
        var places: [Place] = []
        for list in lists {
            let end = places.count + limit
            // One more tells that there is a next page.
            let take: (Place) -> Bool = { place in
                places.append(place)
                return places.count <= end
            }
            if latestFirst {
                list.descend(from: { place in after.map { Self.position(of: place) < $0 } ?? true }, take)
            } else {
                list.ascend(skipping: { place in after.map { Self.position(of: place) <= $0 } ?? false }, take)
            }
        }
        if lists.count > 1 { places.sort { latestFirst ? $1 < $0 : $0 < $1 } }
        let next = places.count > limit ? places[limit - 1] : nil
        return Page(
            items: places.prefix(limit).map(\.user),
            next: next.map { String($0.enteredAt.milliseconds, radix: 36) + "." + String($0.hash, radix: 36) })
    }

    private typealias Position = (time: Int64, hash: UInt64)

    private static func position(of place: Place) -> Position { (place.enteredAt.milliseconds, place.hash) }

    private static func position(_ cursor: String) throws(ChatError) -> Position {
        let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 2, let time = Int64(parts[0], radix: 36), let hash = UInt64(parts[1], radix: 36) else {
            throw RoomState.badCursor
        }
        return (time, hash)
    }
}
