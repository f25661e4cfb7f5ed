import ChatModel

/// Everybody of whom a room remembers something, and the orders in which they are listed.
///
/// Bounded by the limits on fixed members and blacklisted users, and by who is temporarily muted or banned.
struct MemberTable: Sendable {
    /// A fixed member's place in the listing: by time, then by a hash of the user, so that a cursor of
    /// (time, hash) fits into the 64 bytes that the protocol allows, then by user.
    struct Place: Sendable, Hashable, Comparable {
        var since: Timestamp
        var hash: UInt64
        var user: UserID

        init(since: Timestamp, user: UserID) {
            self.since = since
            self.user = user
            hash = Self.hash(of: user)
        }

        static func < (a: Place, b: Place) -> Bool { (a.since, a.hash, a.user) < (b.since, b.hash, b.user) }

        /// FNV-1a, 64 bits: the same on every node, unlike `Hasher`.
        private static func hash(of user: UserID) -> UInt64 {
            user.text.utf8.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x0000_0100_0000_01b3 }
        }
    }

    /// When something of a user's record ends.
    struct Deadline: Sendable, Hashable, Comparable {
        var time: Timestamp
        var user: UserID

        static func < (a: Deadline, b: Deadline) -> Bool { (a.time, a.user) < (b.time, b.user) }
    }

    private(set) var records = PartitionedDictionary<UserID, MemberRecord>()
    private(set) var fixed = SortedList<Place>()
    /// Creator and managers.
    private(set) var managers = SortedList<Place>()
    /// Muted, temporarily or not.
    private(set) var muted = SortedList<UserID>()
    private(set) var blacklisted = SortedList<UserID>()
    /// Kicked, and kept out for a time.
    private(set) var banned = SortedList<UserID>()
    /// The fixed members but those who are so by being muted or blacklisted only: what others than managers may know.
    private(set) var named = SortedList<Place>()
    private(set) var deadlines = SortedList<Deadline>()
    /// Addresses from which nobody enters anonymously: by their hash, everybody who was blacklisted there, who ends
    /// last standing last. At most as many as are blacklisted.
    private var barredAddresses = PartitionedDictionary<UInt64, SortedList<Deadline>>()

    init() {}

    subscript(user: UserID) -> MemberRecord? { records[user] }

    /// Fixed members other than blacklisted ones: those have a limit of their own.
    var fixedCount: Int { fixed.count - blacklisted.count }

    /// Without the creator.
    private(set) var managerCount = 0

    /// Puts or removes what is remembered of a user.
    mutating func set(_ record: MemberRecord?, of user: UserID) {
        let old = records[user]
        records[user] = record
        moveBarred(from: old?.barredAddress, to: record?.barredAddress, of: user)
        managerCount += (record?.role == .manager ? 1 : 0) - (old?.role == .manager ? 1 : 0)
        Self.move(
            in: &fixed, from: Self.place(old, user) { $0.effectiveRole.isFixed },
            to: Self.place(record, user) { $0.effectiveRole.isFixed })
        Self.move(
            in: &managers, from: Self.place(old, user) { $0.effectiveRole.rank > 0 },
            to: Self.place(record, user) { $0.effectiveRole.rank > 0 })
        Self.move(
            in: &muted, from: old.flatMap { Self.isInMuted($0) ? user : nil },
            to: record.flatMap { Self.isInMuted($0) ? user : nil })
        Self.move(
            in: &blacklisted, from: old.flatMap { $0.blacklisted ? user : nil },
            to: record.flatMap { $0.blacklisted ? user : nil })
        Self.move(
            in: &banned, from: old.flatMap { $0.bannedUntil == nil ? nil : user },
            to: record.flatMap { $0.bannedUntil == nil ? nil : user })
        Self.move(
            in: &named, from: Self.place(old, user) { $0.effectiveRole.shownToOthers.isFixed },
            to: Self.place(record, user) { $0.effectiveRole.shownToOthers.isFixed })
        Self.move(
            in: &deadlines, from: old?.deadline.map { Deadline(time: $0, user: user) },
            to: record?.deadline.map { Deadline(time: $0, user: user) })
    }

    /// Until when nobody enters anonymously from an address; nil: it is open, as far as is remembered.
    func barredUntil(address hash: UInt64) -> Timestamp? { barredAddresses[hash]?.last?.time }

    private mutating func moveBarred(from old: BarredAddress?, to new: BarredAddress?, of user: UserID) {
        guard old != new else { return }
        if let old {
            barredAddresses.update(old.hash) { $0.remove(Deadline(time: old.until, user: user)) }
            if barredAddresses[old.hash]?.isEmpty == true { barredAddresses[old.hash] = nil }
        }
        if let new {
            if barredAddresses[new.hash] == nil { barredAddresses[new.hash] = SortedList() }
            barredAddresses.update(new.hash) { $0.insert(Deadline(time: new.until, user: user)) }
        }
    }

    private static func place(_ record: MemberRecord?, _ user: UserID, _ isListed: (MemberRecord) -> Bool) -> Place? {
        guard let record, isListed(record) else { return nil }
        return Place(since: record.since, user: user)
    }

    private static func isInMuted(_ record: MemberRecord) -> Bool { record.muted || record.tempMutedUntil != nil }

    private static func move<Key: Comparable>(in list: inout SortedList<Key>, from old: Key?, to new: Key?) {
        guard old != new else { return }
        if let old { list.remove(old) }
        if let new { list.insert(new) }
    }
}
