import ChatModel

/// Access: the right of an actor to do something. The public functions are what a leader asks before it proposes, or
/// for things that never go through the log; `apply` asks the same again.
extension RoomState {
    // MARK: - Standing

    /// The role of a user who is not anonymous; guest when nothing is known.
    public func role(of user: UserID) -> Role { members[user]?.effectiveRole ?? .guest }

    /// An operator whom the server API names has his own rank, no higher one: NIM refuses an `operator` who is no
    /// manager, and the protocol has no exception from "nobody acts on an equal or higher rank".
    func rank(of actor: Actor) -> Int {
        switch actor {
        case .system, .moderator: Self.serverRank
        case .server(let name): role(of: name.user).rank
        case .member(let user, _, let anonymous): anonymous ? 0 : role(of: user).rank
        }
    }

    /// The room itself or the server API, in whose name ever: what is not a matter of rank is open to it.
    private func isServer(_ actor: Actor) -> Bool {
        if case .member = actor { false } else { true }
    }

    /// Above the creator's.
    private static var serverRank: Int { 3 }
    static var creatorRank: Int { Role.creator.rank }

    /// Whether an actor may do what managers may and what is nobody's rank: messages, the queue, the room's info.
    func isManager(_ actor: Actor) -> Bool { isServer(actor) || rank(of: actor) >= Role.manager.rank }

    // MARK: - For the leader

    /// Whether a user may enter now. Throws 404, 403, 13002, and 13003 with `retryAfterMs` when a ban has an end.
    /// - Parameters:
    ///   - isHere: the session is here, or in its grace, and enters again: `entry` says who may come, and puts nobody out.
    ///   - invitedByToken: the token's `rooms` names this room.
    ///   - addressHash: what the address of an anonymous member is known by.
    public func mayEnter(
        _ user: UserID, anonymous: Bool, isHere: Bool, invitedByToken: Bool, addressHash: UInt64? = nil,
        at now: Timestamp
    ) throws(ChatError) {
        try requireOpen()
        try requireNotBarred(user, at: now)
        if anonymous, let addressHash { try requireNotBarred(address: addressHash, at: now) }
        guard !isHere else { return }
        switch record?.info.entry {
        case .users where anonymous:
            throw ChatError(.forbidden, "\(room) is not open to anonymous members")
        case .invited where !invitedByToken && (anonymous || !role(of: user).isFixed):
            throw ChatError(.forbidden, "\(room) is open to fixed members and invited users only")
        default:
            return
        }
    }

    /// Whether somebody who is here may send or barrage now, slow mode and rates aside. Throws 404, 403, 13002,
    /// 13003, 13004 with `retryAfterMs` when the mute has an end, and 13006.
    public func maySpeak(_ user: UserID, anonymous: Bool, at now: Timestamp) throws(ChatError) {
        _ = try role(ofSpeaker: user, anonymous: anonymous, at: now)
    }

    /// The role of somebody who may speak: each post asks for both, and looks once. Throws what ``maySpeak`` throws.
    func role(ofSpeaker user: UserID, anonymous: Bool, at now: Timestamp) throws(ChatError) -> Role {
        try requireOpen()
        guard !anonymous else { throw ChatError(.forbidden, "anonymous members only listen") }
        let member = members[user]
        if let member {
            try requireNotBarred(user, member, at: now)
            try requireNotMuted(user, member, at: now)
        }
        let role = member?.effectiveRole ?? .guest
        if record?.info.muted == true, role.rank < Role.manager.rank {
            throw ChatError(.roomMuted, "only creator and managers may send in \(room)")
        }
        return role
    }

    // MARK: - Checks

    func requireOpen() throws(ChatError) {
        guard let closed = record?.info.closed else { throw ChatError(.notFound, "there is no room \(room)") }
        if closed { throw ChatError(.roomClosed, "\(room) is closed") }
    }

    /// Changes by somebody who only listens, or who has been thrown out while the command was on its way.
    func requireMayTakePart(_ actor: Actor, at now: Timestamp) throws(ChatError) {
        guard case .member(let user, _, let anonymous) = actor else { return }
        guard !anonymous else { throw ChatError(.forbidden, "anonymous members only listen") }
        try requireNotBarred(user, at: now)
    }

    /// Whether the user may not be here at all: blacklisted, or thrown out for a time that has not passed.
    public func isBarred(_ user: UserID, at now: Timestamp) -> Bool {
        guard let member = members[user] else { return false }
        return member.blacklisted || member.banLeft(at: now) != nil
    }

    /// Whether the user was kicked for a time that has not passed.
    public func isBanned(_ user: UserID, at now: Timestamp) -> Bool { members[user]?.banLeft(at: now) != nil }

    func requireNotBarred(_ user: UserID, at now: Timestamp) throws(ChatError) {
        if let member = members[user] { try requireNotBarred(user, member, at: now) }
    }

    private func requireNotBarred(_ user: UserID, _ member: MemberRecord, at now: Timestamp) throws(ChatError) {
        if member.blacklisted { throw ChatError(.blacklisted, "\(user) is blacklisted in \(room)") }
        if let left = member.banLeft(at: now) {
            throw ChatError(
                .blacklisted, "\(user) may enter \(room) again in \(Self.seconds(left)) s", retryAfterMs: left)
        }
    }

    private func requireNotBarred(address hash: UInt64, at now: Timestamp) throws(ChatError) {
        guard let until = members.barredUntil(address: hash), until > now else { return }
        throw ChatError(
            .blacklisted, "nobody may enter \(room) anonymously from this address now",
            retryAfterMs: until.milliseconds(since: now))
    }

    func requireNotMuted(_ user: UserID, at now: Timestamp) throws(ChatError) {
        if let member = members[user] { try requireNotMuted(user, member, at: now) }
    }

    private func requireNotMuted(_ user: UserID, _ member: MemberRecord, at now: Timestamp) throws(ChatError) {
        if member.muted { throw ChatError(.muted, "\(user) is muted in \(room)") }
        if let left = member.tempMuteLeft(at: now) {
            throw ChatError(
                .muted, "\(user) is muted in \(room) for \(Self.seconds(left)) s more", retryAfterMs: left)
        }
    }

    /// Nobody acts on an equal or higher rank, nor on oneself.
    func requireOutranks(_ actor: Actor, _ target: UserID) throws(ChatError) {
        guard actor.user != target else { throw ChatError(.forbidden, "nobody acts on oneself") }
        guard rank(of: actor) > role(of: target).rank else {
            throw ChatError(.forbidden, "nobody acts on an equal or higher rank")
        }
    }

    /// Managers and up put those out who are below them.
    public func requireMayKick(_ user: UserID, by actor: Actor) throws(ChatError) {
        try requireManager(actor)
        try requireOutranks(actor, user)
    }

    func requireManager(_ actor: Actor) throws(ChatError) {
        guard rank(of: actor) >= Role.manager.rank else {
            throw ChatError(.forbidden, "this is for managers of \(room)")
        }
    }

    /// Only the server API, in whose name ever, or the room itself.
    func requireServer(_ actor: Actor) throws(ChatError) {
        guard isServer(actor) else { throw ChatError(.forbidden, "this is for the server API") }
    }

    /// Rounded up.
    static func seconds(_ milliseconds: Int64) -> Int64 {
        milliseconds / 1000 + (milliseconds % 1000 > 0 ? 1 : 0)
    }
}
