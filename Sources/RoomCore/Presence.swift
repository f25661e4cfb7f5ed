import ChatModel

/// The sessions in one room, with gateway and profile: soft state of the leader, rebuilt from the gateways'
/// announcements after a failover.
///
/// A member is a user seen from the room. With several sessions (policy `allow` or `perDevice`) a user is one member,
/// counts once in `online`, is told to enter with the first session and to exit with the last one, and shows the
/// profile of the newest. A session that replaces the user's older one (reason 3) is neither an exit nor an enter.
/// Anonymous members and robots count like others.
///
/// Entering, leaving and counting cost O(log n); nothing here is O(members) but `kickAll`. A question about a lane or a
/// node costs as much as that has sessions here.
public struct Presence: Sendable {
    /// A user's stay.
    struct Stay: Sendable {
        var place: Place
        var profile: Profile
        var anonymous: Bool
        var standing: Standing
        /// The session that entered last; its profile is shown.
        var newest: PresenceKey
        /// Older ones, oldest first.
        var others: [PresenceKey] = []
    }

    /// The listing that a user belongs to.
    enum Standing: Sendable {
        case guest
        /// Fixed only by being muted or blacklisted: a guest to all but managers.
        case restricted
        case fixed

        init(_ role: Role) {
            self = role == .restricted ? .restricted : role.isFixed ? .fixed : .guest
        }
    }

    /// A place in the listings: by entering. It is the same at every leader, and for a room that has been out of memory, because
    /// a listing goes on behind the place that it has come to.
    struct Place: Sendable, Hashable, Comparable {
        let enteredAt: Timestamp
        /// The hash of the user: the order of those who entered in the same millisecond.
        let hash: UInt64
        let user: UserID

        init(enteredAt: Timestamp, user: UserID) {
            (self.enteredAt, hash, self.user) = (enteredAt, SampleHash.mix(SampleHash.text(user.text)), user)
        }

        static func < (a: Place, b: Place) -> Bool { (a.enteredAt, a.hash, a.user) < (b.enteredAt, b.hash, b.user) }
    }

    public var policy: RoomPolicy
    var visitors = PartitionedDictionary<PresenceKey, Visitor>()
    private var stays = PartitionedDictionary<UserID, Stay>()
    private(set) var guests = SortedList<Place>()
    private(set) var fixed = SortedList<Place>()
    private(set) var restricted = SortedList<Place>()
    private var keysByLane: [Lane: PartitionedDictionary<PresenceKey, Bool>] = [:]
    /// The sum of the numbers of each lane's sessions (`SampleHash.sender`).
    private var sumsByLane: [Lane: UInt64] = [:]
    /// Lanes with at least one viewer, sorted.
    public private(set) var lanes: [Lane] = []
    private var viewersByEncoding: [ClientEncoding: Int] = [:]
    var nextMessage: UInt64 = 0
    /// Another one whenever a lane's sessions are others.
    public private(set) var laneVersion: UInt64 = 0
    var digest = EnterExitDigest()
    var pushedOnline: Int64 = 0
    var onlinePushedAt: Timestamp?
    var changes = PresenceChanges()

    public init(policy: RoomPolicy) { self.policy = policy }

    // MARK: - Reading

    /// How many members are here: anonymous ones and robots too.
    public var online: Int { stays.count }
    /// Whether nobody is here, or robots only.
    public var isWithoutPeople: Bool { lanes.isEmpty }
    /// How many sessions of the lane are here, and the sum of their numbers (`SampleHash.sender`).
    public func tally(of lane: Lane) -> (sessions: UInt64, sum: UInt64) {
        (UInt64(clamping: keysByLane[lane]?.count ?? 0), sumsByLane[lane] ?? 0)
    }
    /// How many sessions are here, robots included.
    public var sessionCount: Int { visitors.count }

    /// The encodings that the sessions here understand; robots need none.
    public var encodings: ClientEncodings {
        ClientEncodings(viewersByEncoding.keys.map { ClientEncodings($0) })
    }

    public func visitor(_ key: PresenceKey) -> Visitor? { visitors[key] }
    public func has(_ key: PresenceKey) -> Bool { visitors.has(key) }
    public func isHere(_ user: UserID) -> Bool { stays[user] != nil }
    /// Whether one of the user's sessions here has a connection: seats of somebody else are only held.
    public func isAttended(_ user: UserID) -> Bool { visitors(of: user).contains { !$0.isAway } }
    /// Whether what is directed to the user reaches a session here: it is kept for nobody who has no connection.
    public func isAddressable(_ user: UserID) -> Bool { visitors(of: user).contains { !$0.isRobot && !$0.isAway } }
    /// Whether the user is here as an anonymous member, who cannot hold a role.
    public func isAnonymous(_ user: UserID) -> Bool { stays[user]?.anonymous ?? false }
    /// The profile that a user shows in this room; nil when not here.
    public func profile(of user: UserID) -> Profile? { stays[user]?.profile }
    public func enteredAt(of user: UserID) -> Timestamp? { stays[user]?.place.enteredAt }

    /// A user's sessions, oldest first.
    public func visitors(of user: UserID) -> [Visitor] {
        guard let stay = stays[user] else { return [] }
        return (stay.others + [stay.newest]).compactMap { visitors[$0] }
    }

    /// The sessions of these users, by lane, both in a stable order; robots have none.
    public func sessions(of users: some Sequence<UserID>) -> [(lane: Lane, sessions: [SessionID])] {
        var byLane: [Lane: [SessionID]] = [:]
        for user in Set(users).sorted() {
            for visitor in visitors(of: user) where !visitor.isRobot {
                byLane[visitor.lane, default: []].append(visitor.key.session)
            }
        }
        return byLane.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
    }

    /// The sessions of a lane, in no order.
    public func keys(on lane: Lane) -> [PresenceKey] { keysByLane[lane]?.entries.map(\.key) ?? [] }

    /// All sessions of a node: for one that has gone.
    public func keys(on node: NodeID) -> [PresenceKey] {
        lanes.filter { $0.node == node }.flatMap { keys(on: $0) }.compactMap { visitors[$0] }
            .sorted { ($0.enteredAt, $0.user, $0.key.session.text) < ($1.enteredAt, $1.user, $1.key.session.text) }
            .map(\.key)
    }

    /// The durable part of a member with the present stay laid over it.
    public func overlay(_ member: Member) -> Member {
        guard let stay = stays[member.user] else { return member }
        var member = member
        member.profile = stay.profile
        member.online = true
        member.enteredAt = stay.place.enteredAt
        if stay.anonymous { member.role = .anonymous }
        return member
    }

    // MARK: - Coming

    /// Lets a session in, after `RoomState.mayEnter`. The same session entering again updates its own info and is
    /// told to nobody. Throws 409 where the policy is `rejectNewer` and the user is here with another session that has
    /// a connection: one in its grace is replaced, since its client may be the one that comes.
    ///
    /// - Parameter notify: nil: the session may have been here before this leader was, and nobody is told.
    public mutating func enter(_ visitor: Visitor, role: Role, notify: EnterExitNotify?, at now: Timestamp)
        throws(ChatError) -> [PresenceEffect]
    {
        if var same = visitors[visitor.key], same.user == visitor.user {
            same.profile = visitor.profile
            same.notifyExt = visitor.notifyExt
            same.awaySince = nil
            same.enteredBy = visitor.enteredBy
            same.revivedAt = visitor.revivedAt
            move(visitor.key, lane: visitor.laneNumber, encoding: visitor.encoding)
            same.laneNumber = visitor.laneNumber
            same.encoding = visitor.encoding
            visitors[visitor.key] = same
            changes.note(visitor.key)
            stays.update(visitor.user) { if $0.newest == visitor.key { $0.profile = visitor.profile } }
            return []
        }
        let older = visitors(of: visitor.user).filter { conflicts($0, visitor) }
        guard policy.conflictPolicy != .rejectNewer || older.allSatisfy(\.isAway) else {
            throw ChatError(.conflict, "\(visitor.user) is in this room with another session")
        }
        let isNew = add(visitor, Standing(role))
        // The user stays while the older sessions go.
        for session in older { remove(session.key) }
        var effects = older.map { PresenceEffect.kick($0, reason: .conflictingLogin) }
        if isNew, let notify {
            effects.append(.arrived(visitor.user))
            if let enter = publishEnter(visitor, role: role, notify: notify, at: now) { effects.append(.show(enter)) }
        }
        return effects
    }

    /// The place of a session at another node, which may be a copy of it or be gone.
    public func otherCopy(of key: PresenceKey, _ user: UserID) -> Visitor? {
        visitors(of: user).first { $0.key.session == key.session && $0.key.node != key.node && !$0.isRobot }
    }

    /// Takes note of a session that was here before this leader was: nobody is told, but older sessions of its user
    /// that do not go with it, because their node had not heard that they are out.
    ///
    /// - Parameter notify: of one whose exit this leader has told: it is back, and everybody is told so.
    public mutating func announce(
        _ visitor: Visitor, role: Role, telling notify: EnterExitNotify? = nil, at now: Timestamp = Timestamp(0)
    ) -> [PresenceEffect] {
        guard visitors[visitor.key] == nil else { return [] }
        let older = conflicting(with: visitor).filter { $0.enteredAt < visitor.enteredAt }
        let isNew = add(visitor, Standing(role))
        for session in older { remove(session.key) }
        var effects = older.map { PresenceEffect.kick($0, reason: .conflictingLogin) }
        if isNew, let notify {
            effects.append(.arrived(visitor.user))
            if let enter = publishEnter(visitor, role: role, notify: notify, at: now) { effects.append(.show(enter)) }
        }
        return effects
    }

    /// Whether a session that is announced was put out by another one of its user, which is here.
    /// - Parameter ledSince: who has entered since then did so at this leader, whatever other leaders' clocks have
    ///   said.
    public func isSuperseded(_ visitor: Visitor, ledSince: Timestamp) -> Bool {
        conflicting(with: visitor).contains { $0.enteredAt > visitor.enteredAt || $0.enteredAt >= ledSince }
    }

    /// The same session may still be known at the node where it was.
    private func conflicting(with visitor: Visitor) -> [Visitor] {
        visitors(of: visitor.user).filter { $0.key.session != visitor.key.session && conflicts($0, visitor) }
    }

    private func conflicts(_ older: Visitor, _ newer: Visitor) -> Bool {
        if older.isRobot || newer.isRobot { return false }
        return switch policy.conflictPolicy {
        case .kickOlder, .rejectNewer: true
        // Programs of one user may be several.
        case .perDevice:
            newer.device != .server && Self.deviceClass(older.device) == Self.deviceClass(newer.device)
        case .allow: false
        }
    }

    /// Desktop and web stand against each other (PROTOCOL.md, "Same user twice in a room").
    private static func deviceClass(_ device: Device) -> Device { device == .desktop ? .web : device }

    /// Returns whether the user was not here before.
    @discardableResult
    private mutating func add(_ visitor: Visitor, _ standing: Standing) -> Bool {
        // A key that changed hands would leave the former user behind.
        remove(visitor.key)
        visitors[visitor.key] = visitor
        count(visitor, by: 1)
        var former: Stay?
        stays.update(visitor.user) { stay in
            former = stay
            stay.others.append(stay.newest)
            stay.newest = visitor.key
            stay.profile = visitor.profile
        }
        if let former {
            if visitor.enteredAt < former.place.enteredAt { move(former, to: visitor.enteredAt) }
            return false
        }
        let stay = Stay(
            place: Place(enteredAt: visitor.enteredAt, user: visitor.user),
            profile: visitor.profile, anonymous: visitor.anonymous, standing: standing, newest: visitor.key)
        stays[visitor.user] = stay
        list(stay)
        return true
    }

    /// The first of a user's sessions counts, in whichever order a new leader hears of them.
    private mutating func move(_ stay: Stay, to enteredAt: Timestamp) {
        unlist(stay)
        var moved: Stay?
        stays.update(stay.place.user) { known in
            known.place = Place(enteredAt: enteredAt, user: stay.place.user)
            moved = known
        }
        if let moved { list(moved) }
    }

    // MARK: - Going

    /// A session has left by itself, or its grace has passed.
    public mutating func exit(_ key: PresenceKey, notify: EnterExitNotify, at now: Timestamp) -> [PresenceEffect] {
        guard let visitor = visitors[key], let stay = stays[visitor.user] else { return [] }
        let onlineBefore = online
        guard remove(key) else { return [] }
        var effects: [PresenceEffect] = [.departed(UserName(user: visitor.user, nick: stay.profile.nick))]
        if let exit = publishExit(stay, visitor.user, onlineBefore: onlineBefore, notify: notify, at: now) {
            effects.append(.show(exit))
        }
        return effects
    }

    /// All of a user's sessions leave at once, without a 302; returns them, to be told.
    public mutating func kick(user: UserID) -> [Visitor] {
        let gone = visitors(of: user)
        for visitor in gone { remove(visitor.key) }
        return gone
    }

    /// Everybody leaves, without a 302; returns them in the order of entering. O(members).
    public mutating func kickAll() -> [Visitor] {
        let gone = visitors.entries.map(\.value).sorted {
            ($0.enteredAt, $0.user, $0.key.session.text) < ($1.enteredAt, $1.user, $1.key.session.text)
        }
        let former = self
        self = Presence(policy: former.policy)
        (nextMessage, changes) = (former.nextMessage, former.changes)
        changes.noteEmptied()
        return gone
    }

    /// Returns whether the user's last session has gone with it.
    @discardableResult
    private mutating func remove(_ key: PresenceKey) -> Bool {
        guard let visitor = visitors.removeValue(forKey: key) else { return false }
        count(visitor, by: -1)
        guard var stay = stays[visitor.user] else { return false }
        if stay.newest != key {
            stay.others.removeAll { $0 == key }
        } else if let newest = stay.others.popLast() {
            stay.newest = newest
            stay.profile = visitors[newest]?.profile ?? stay.profile
        } else {
            stays[visitor.user] = nil
            unlist(stay)
            return true
        }
        stays[visitor.user] = stay
        return false
    }

    // MARK: - Changing

    /// A session's connection is gone: since `now`, unless it was gone before.
    public mutating func setAway(_ key: PresenceKey, at now: Timestamp) {
        visitors.update(key) { $0.awaySince = $0.awaySince ?? now }
    }

    /// A session's connection is back.
    public mutating func setBack(_ key: PresenceKey) { visitors.update(key) { $0.awaySince = nil } }

    /// The user's standing has changed: fixed members and guests are listed and told apart.
    public mutating func setRole(_ user: UserID, _ role: Role) {
        let standing = Standing(role)
        guard var stay = stays[user], stay.standing != standing else { return }
        unlist(stay)
        stay.standing = standing
        stays[user] = stay
        list(stay)
    }

    /// The user has changed what is shown (`updateMe`), for all of its sessions.
    public mutating func setProfile(_ user: UserID, _ profile: Profile) {
        guard let stay = stays[user] else { return }
        stays.update(user) { $0.profile = profile }
        for key in stay.others + [stay.newest] {
            visitors.update(key) { $0.profile = profile }
            changes.note(key)
        }
    }

    /// The session's node says what it shows: another replica had not heard of its last change.
    public mutating func setProfile(of key: PresenceKey, _ profile: Profile, notifyExt: String?) {
        guard let visitor = visitors[key] else { return }
        visitors.update(key) { ($0.profile, $0.notifyExt) = (profile, notifyExt) }
        changes.note(key)
        stays.update(visitor.user) { if $0.newest == key { $0.profile = profile } }
    }

    /// A session now receives on another connection, maybe on another loop of its node.
    public mutating func move(_ key: PresenceKey, lane number: Int, encoding: ClientEncoding) {
        guard let old = visitors[key], old.laneNumber != number || old.encoding != encoding else { return }
        var new = old
        new.laneNumber = number
        new.encoding = encoding
        visitors[key] = new
        count(old, by: -1)
        count(new, by: 1)
    }

    /// A session now receives at another node. Nobody is told: it is the same stay.
    public mutating func move(_ old: PresenceKey, to new: PresenceKey, lane number: Int, encoding: ClientEncoding) {
        guard old != new, var visitor = visitors[old], visitors[new] == nil else { return }
        visitors.removeValue(forKey: old)
        count(visitor, by: -1)
        visitor.key = new
        visitor.laneNumber = number
        visitor.encoding = encoding
        visitors[new] = visitor
        count(visitor, by: 1)
        stays.update(visitor.user) { stay in
            if stay.newest == old { stay.newest = new }
            if let place = stay.others.firstIndex(of: old) { stay.others[place] = new }
        }
    }

    private mutating func count(_ visitor: Visitor, by change: Int) {
        guard !visitor.isRobot else { return }
        changes.note(visitor.key)
        let sharing = (viewersByEncoding[visitor.encoding] ?? 0) + change
        viewersByEncoding[visitor.encoding] = sharing == 0 ? nil : sharing
        let number = SampleHash.sender(visitor.key.session)
        let lane = visitor.lane
        laneVersion &+= 1
        sumsByLane[lane, default: 0] &+= change > 0 ? number : 0 &- number
        if change > 0 {
            if keysByLane[lane] == nil {
                lanes.insert(lane, at: lanes.firstIndex { lane < $0 } ?? lanes.count)
            }
            keysByLane[lane, default: PartitionedDictionary()][visitor.key] = true
        } else {
            keysByLane[lane]?.removeValue(forKey: visitor.key)
            guard keysByLane[lane]?.count == 0 else { return }
            lanes.removeAll { $0 == lane }
            (keysByLane[lane], sumsByLane[lane]) = (nil, nil)
        }
    }

    private mutating func list(_ stay: Stay) {
        switch stay.standing {
        case .guest: guests.insert(stay.place)
        case .restricted: restricted.insert(stay.place)
        case .fixed: fixed.insert(stay.place)
        }
    }

    private mutating func unlist(_ stay: Stay) {
        switch stay.standing {
        case .guest: guests.remove(stay.place)
        case .restricted: restricted.remove(stay.place)
        case .fixed: fixed.remove(stay.place)
        }
    }
}
