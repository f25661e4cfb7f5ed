import ChatModel

/// Members and queue as they are read.
extension RoomState {
    /// The record of a user; nil for a guest without any temporary mute or ban.
    public func memberRecord(of user: UserID) -> MemberRecord? { members[user] }

    /// The durable part of a member: profile as saved, `online` false, `enteredAt` unknown. The leader lays the
    /// present stay over it.
    public func member(_ user: UserID, at now: Timestamp) -> Member {
        var member = Member(user: user, profile: members[user]?.savedProfile ?? Profile(), role: role(of: user))
        guard let record = members[user] else { return member }
        member.muted = record.muted
        member.blacklisted = record.blacklisted
        if let left = record.tempMuteLeft(at: now) {
            member.tempMuted = true
            member.tempMuteSeconds = Self.seconds(left)
        }
        return member
    }

    /// The member as a command answers it: with the profile of the stay, if the leader has stated it.
    func member(_ user: UserID, _ facts: CommandFacts, at now: Timestamp) -> Member {
        var member = member(user, at: now)
        if let profile = facts.names[user] {
            member.profile = profile
            member.online = true
        }
        return member
    }

    // MARK: - Listings

    /// One page of a durable listing: FIXED by time of becoming one, MANAGERS (the creator first, though nobody
    /// manages it) likewise, MUTED (temporary too), BLACKLISTED and BANNED by user. Costs O(log n + page).
    ///
    /// Throws 414 for a cursor that is none, and for the listings of who is here, which are presence's.
    /// - Parameters:
    ///   - limit: at least 1.
    ///   - all: FIXED with those who are RESTRICTED, whom managers and the server API see.
    public func members(
        _ kind: MemberKind, after cursor: String?, limit: Int, at now: Timestamp, all: Bool = true
    ) throws(ChatError) -> Page<Member, String> {
        switch kind {
        case .fixed:
            return try page(all ? members.fixed : members.named, after: cursor, limit, at: now)
        case .managers:
            return try page(members.managers, after: cursor, limit, at: now)
        case .muted:
            // One whose time is up stays in the list until the room's `expire`.
            return try page(members.muted, after: cursor, limit, at: now) { $0.muted || $0.tempMuted }
        case .blacklisted:
            return try page(members.blacklisted, after: cursor, limit, at: now) { _ in true }
        case .banned:
            // One whose time is up stays in the list until the room's `expire`.
            var banned = try page(members.banned, after: cursor, limit, at: now) {
                members[$0.user]?.banLeft(at: now) != nil
            }
            for index in banned.items.indices {
                banned.items[index].banEndsAt = members[banned.items[index].user]?.bannedUntil
            }
            return banned
        case .fixedOnline, .temporary, .temporaryReversed:
            throw ChatError(.badParameter, "this listing is of who is here", field: "kind")
        }
    }

    private func page(
        _ list: SortedList<MemberTable.Place>, after cursor: String?, _ limit: Int, at now: Timestamp
    ) throws(ChatError) -> Page<Member, String> {
        var after: (since: Int64, hash: UInt64)?
        if let cursor {
            let parts = cursor.split(separator: ".", omittingEmptySubsequences: false)
            guard parts.count == 2, let since = Int64(parts[0], radix: 36), let hash = UInt64(parts[1], radix: 36)
            else { throw Self.badCursor }
            after = (since, hash)
        }
        var items: [Member] = []
        var last: MemberTable.Place?
        var next: String?
        list.ascend(skipping: { place in
            after.map { (place.since.milliseconds, place.hash) <= ($0.since, $0.hash) } ?? false
        }) { place in
            if items.count >= max(1, limit) {
                next = last.map {
                    String($0.since.milliseconds, radix: 36) + "." + String($0.hash, radix: 36)
                }
                return false
            }
            items.append(member(place.user, at: now))
            last = place
            return true
        }
        return Page(items: items, next: next)
    }

    private func page(
        _ list: SortedList<UserID>, after cursor: String?, _ limit: Int, at now: Timestamp,
        where isShown: (Member) -> Bool
    ) throws(ChatError) -> Page<Member, String> {
        var after: UserID?
        if let cursor {
            guard let user = UserID(cursor) else { throw Self.badCursor }
            after = user
        }
        var items: [Member] = []
        var next: String?
        list.ascend(skipping: { user in after.map { user <= $0 } ?? false }) { user in
            let shown = member(user, at: now)
            guard isShown(shown) else { return true }
            if items.count >= max(1, limit) {
                next = items.last?.user.text
                return false
            }
            items.append(shown)
            return true
        }
        return Page(items: items, next: next)
    }

    static var badCursor: ChatError { ChatError(.badParameter, "this is not a cursor", field: "after") }

    // MARK: - Queue

    /// How many elements the queue has.
    public var queueCount: Int { queue.count }

    /// One page of the queue, in order. Throws 414 for a cursor that is none.
    /// - Parameter limit: at least 1.
    public func queuePage(after cursor: String?, limit: Int) throws(ChatError) -> Page<QueueElement, String> {
        var after: Int64?
        if let cursor {
            guard let position = Int64(cursor, radix: 36) else { throw Self.badCursor }
            after = position
        }
        var items: [QueueElement] = []
        var last: RoomQueue.Place?
        var next: String?
        queue.order.ascend(skipping: { place in after.map { place.position <= $0 } ?? false }) { place in
            if items.count >= max(1, limit) {
                next = last.map { String($0.position, radix: 36) }
                return false
            }
            if let element = queue[place.key] { items.append(element) }
            last = place
            return true
        }
        return Page(items: items, next: next)
    }

    /// The user's transient elements, in the queue's order: what has to go when the user's grace is over.
    public func transientElements(of owner: UserID) -> [QueueElement] { queue.transientElements(of: owner) }

    /// Everybody with transient elements, sorted: whom a new leader must find here, or wait for.
    public var transientOwners: [UserID] { queue.transientOwners.sorted() }
}
