import ChatModel
import RoomProtocol
import Wire

/// The session's token: its end is told before and enforced, and a narrower one ends stays (PROTOCOL.md, "Tokens").
extension Session {
    /// How long before the end a session is told.
    public static let warningMilliseconds: Int64 = 60_000
    /// So long before the end the tick does not suffice.
    private static let lastMomentMilliseconds: Int64 = 1_000

    /// The client has shown a newer token of the user, which is valid.
    public mutating func onRefresh(_ claims: TokenClaims, request: UInt32?, at now: Timestamp) -> [Effect] {
        rely(on: claims, at: now)
        caller.rooms = claims.rooms
        var effects: [Effect] = []
        if let request {
            effects.append(.reply(request, .success(.refresh(RefreshResult(expiresAt: claims.expiresAt)))))
        }
        effects += endForbiddenStays()
        return effects + warnOfExpiry(at: now)
    }

    /// When ``onTick(at:)`` has something to do next, if the token stays; nil: never. It may be past.
    public func nextTick(after now: Timestamp) -> Timestamp? {
        guard let expiresAt else { return nil }
        guard isWarnedOfExpiry else { return expiresAt.adding(milliseconds: -Self.warningMilliseconds) }
        let lastMoment = expiresAt.adding(milliseconds: -Self.lastMomentMilliseconds)
        // In it the holder has a timer already.
        return now < lastMoment ? lastMoment : expiresAt
    }

    /// For a session that is connected, when ``nextTick(after:)`` says, or oftener.
    public mutating func onTick(at now: Timestamp) -> [Effect] {
        guard let expiresAt else { return [] }
        guard now < expiresAt else { return [Self.expired] }
        var effects = warnOfExpiry(at: now)
        let left = expiresAt.milliseconds - now.milliseconds
        if left <= Self.lastMomentMilliseconds, let delay = UInt64(exactly: left) {
            effects.append(.wake(afterMilliseconds: delay + 1))
        }
        return effects
    }

    /// The token that was there when ``Effect/wake(afterMilliseconds:)`` was returned has ended.
    public func onLastMoment(at now: Timestamp) -> [Effect] {
        guard let expiresAt, now >= expiresAt else { return [] }
        return [Self.expired]
    }

    /// The session's token, or the user's anonymous session, is revoked: out of its rooms with reason 6, closed with 4401.
    /// The holder ends the session behind the effects.
    public func onRevoke() -> [Effect] {
        guard isConnected else { return [] }
        return rooms.map { .push(.kicked(KickedPush(room: $0, reason: .tokenRevoked))) }
            + [.close(.authentication, "the token has been revoked")]
    }

    /// The user is banned in all rooms: out of them with reason 7, closed with 4403. The holder ends the session behind the
    /// effects.
    public func onBan() -> [Effect] {
        guard isConnected else { return [] }
        return rooms.map { .push(.kicked(KickedPush(room: $0, reason: .banned))) }
            + [.close(.forcedOffline, "banned")]
    }

    private static let expired = Effect.close(.authentication, "the token has expired")

    /// A clock that is ahead of ours must not let a token outlive a revocation.
    /// - Parameter claims: nil for an anonymous session.
    mutating func rely(on claims: TokenClaims?, at now: Timestamp) {
        expiresAt = claims?.expiresAt
        issuedAt = claims?.issuedAt.map { min($0, now) }
        isWarnedOfExpiry = false
    }

    /// Tells a session whose token ends soon: once for each token, also when less than the whole time is left.
    mutating func warnOfExpiry(at now: Timestamp) -> [Effect] {
        guard let expiresAt, !isWarnedOfExpiry else { return [] }
        let (left, overflow) = expiresAt.milliseconds.subtractingReportingOverflow(now.milliseconds)
        guard !overflow, left <= Self.warningMilliseconds else { return [] }
        isWarnedOfExpiry = true
        // Rounded up, so that 0 says that it has ended: one that was accepted thanks to the skew.
        return isConnected ? [.push(.token(TokenPush(expiresInSeconds: max(0, (left + 999) / 1000))))] : []
    }

    /// A token whose `rooms` is narrower ends the stay in the other rooms, with reason 6.
    mutating func endForbiddenStays() -> [Effect] {
        guard caller.rooms != nil else { return [] }
        var effects: [Effect] = []
        for room in rooms where !mayEnter(room) {
            effects += part(room)
            effects.append(.notify(room, .left))
            if isConnected { effects.append(.push(.kicked(KickedPush(room: room, reason: .tokenRevoked)))) }
        }
        return effects
    }
}
