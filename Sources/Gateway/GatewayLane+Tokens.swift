import ChatModel
import EventLoop
import RoomLink
import Wire

/// The end of tokens: told before, and enforced (contract, section 3).
extension GatewayLane {
    /// How long before the end a session is told.
    static let warningMilliseconds: Int64 = 60_000

    /// Once a second for each connection, and once more at the very end.
    func checkExpiry(_ session: Session, _ connection: ClientConnection, _ time: Timestamp) {
        guard let expiresAt = session.state.expiresAt else { return }
        guard time < expiresAt else { return connection.close(.authentication, "the token has expired") }
        warnOfExpiry(session, at: time)
        let left = expiresAt.milliseconds - time.milliseconds
        // The next tick may come late: the last moment has a timer of its own.
        guard left <= Self.lastMomentMilliseconds, let delay = UInt64(exactly: left) else { return }
        let number = connection.number
        loop.schedule(afterMilliseconds: delay + 1) { [weak self] in
            guard let self, let connection = connections[number], case .open = connection.phase,
                let session = connection.session, let expiresAt = session.state.expiresAt, shared.now() >= expiresAt
            else { return }
            connection.close(.authentication, "the token has expired")
        }
    }

    /// Tells a session whose token ends soon: once for each token, also when less than the whole time is left.
    func warnOfExpiry(_ session: Session, at time: Timestamp) {
        guard let expiresAt = session.state.expiresAt, !session.state.warnedOfExpiry else { return }
        let (left, overflow) = expiresAt.milliseconds.subtractingReportingOverflow(time.milliseconds)
        guard !overflow, left <= Self.warningMilliseconds else { return }
        session.state.warnedOfExpiry = true
        // Rounded up, so that 0 says that it has ended: one that was accepted thanks to the skew.
        session.connection?.push(.token(TokenPush(expiresInSeconds: max(0, (left + 999) / 1000))))
    }

    /// A token whose `rooms` is narrower ends the stay in the other rooms, with reason 6.
    func endForbiddenStays(of session: Session) {
        guard let allowed = session.state.caller.rooms else { return }
        for room in session.state.rooms where !allowed.contains(room) {
            forget(room, session)
            leave(room, session)
            session.connection?.push(.kicked(KickedPush(room: room, reason: .tokenRevoked)))
        }
    }

    private static let lastMomentMilliseconds: Int64 = 1_000

    func isRevoked(_ state: SessionState) -> Bool {
        !state.caller.anonymous && shared.verifier.isRevoked(state.caller.user, issuedAt: state.issuedAt)
    }
}
