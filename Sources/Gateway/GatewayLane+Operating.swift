import ChatModel
import RoomProtocol
import SessionCore
import Transport
import Wire

/// Requests about sessions from outside: by their ID, on the lane that holds them.
extension GatewayLane {
    /// Ends those of the sessions whose tokens have been revoked: out of their rooms with reason 6, closed with 4401
    /// (PROTOCOL.md, "Tokens"). An anonymous session has no token, and ends too.
    func revoke(_ ids: [SessionID]) {
        for session in ids.compactMap({ sessions[$0] }) {
            guard session.state.caller.anonymous || isRevoked(session.state) else { continue }
            perform(session.state.onRevoke(), of: session)
            end(session)
        }
    }

    /// A user is banned or muted in all rooms, or no more.
    func sanction(_ ids: [SessionID], _ kind: SanctionKind) {
        for session in ids.compactMap({ sessions[$0] }) where !session.state.caller.anonymous {
            switch kind {
            case .muted: session.mute = shared.verifier.sanction(.muted, of: session.state.caller.user)
            case .banned:
                guard shared.verifier.sanction(.banned, of: session.state.caller.user) != nil else { continue }
                perform(session.state.onBan(), of: session)
                end(session)
            }
        }
    }

    /// Ends sessions at once, without a grace: whoever was put offline has left. Returns how many there were.
    func forceOffline(_ ids: [SessionID]) -> Int {
        let found = ids.compactMap { sessions[$0] }
        for session in found {
            perform(session.state.onForcedOffline(), of: session)
            end(session)
        }
        return found.count
    }

    /// Shows a frame of no room to sessions that are connected; nil: to all of them. Returns how many took it.
    ///
    /// - Parameters:
    ///   - isDroppable: whether it may be dropped again under pressure. If not, a connection whose queue is full does not
    ///     take it.
    ///   - isUrgent: whether a connection takes it all the same.
    func show(_ shared: SharedFrame, to ids: [SessionID]?, isDroppable: Bool, isUrgent: Bool = false) -> Int {
        var made: [ClientEncoding: LaneFrame] = [:]
        var count = 0
        func give(_ session: LaneSession) {
            guard let connection = session.connection, case .open = connection.phase,
                isDroppable || isUrgent || connection.waitingBytes < configuration.sendQueueBytesMax
            else { return }
            guard
                let frame = made[connection.encoding]
                    ?? LaneFrame(
                        shared, in: connection.encoding, of: nil, countedIn: buffers, isDroppable: isDroppable)
            else { return }
            made[connection.encoding] = frame
            connection.enqueue(frame)
            count += 1
        }
        if let ids {
            for id in ids { if let session = sessions[id] { give(session) } }
        } else {
            for session in sessions.values { give(session) }
        }
        return count
    }

    func views(of ids: [SessionID]) -> [SessionView] { ids.compactMap { sessions[$0] }.map(view) }

    /// Sessions that don't take what they are sent.
    func slowSessions() -> [SessionView] { sessions.values.filter(isSlow).map(view) }

    private func isSlow(_ session: LaneSession) -> Bool {
        guard let connection = session.connection else { return false }
        return connection.waitingBytes > 0 || !session.state.losses.isEmpty
    }

    private func view(_ session: LaneSession) -> SessionView {
        let caller = session.state.caller
        var view = SessionView(session: session.id, user: caller.user, node: configuration.node)
        view.anonymous = caller.anonymous
        view.device = caller.device
        view.rooms = session.state.rooms
        view.startedAt = session.state.startedAt
        view.expiresAt = session.state.expiresAt
        view.slow = isSlow(session)
        if let connection = session.connection {
            view.connected = true
            view.address = connection.address.description
            view.waitingBytes = Int64(connection.waitingBytes)
            view.lost = Int64(session.state.losses.count)
        }
        return view
    }

    var slowCount: Int { sessions.values.count(where: isSlow) }
}
