import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import Wire

/// A session that is over, until its rooms have answered that it has left.
struct EndedSession {
    /// That it was in a room, by rooms that have not answered: a leader that was not there hears it before the exit, so that it
    /// tells others what the former one may have kept to itself.
    var announcements: [RoomID: RoomRequest]
    /// In loop time: so long its exits are asked again. Afterwards its rooms see that its grace is over.
    let until: UInt64
}

/// The exits of sessions that end without a wish of their clients: put offline, revoked, banned, or away for too long. They are
/// asked like a client's exit, so that neither a dead leader nor a broken link keeps a seat or a name in the room.
extension GatewayLane {
    /// The session is over: its rooms see an exit.
    func end(_ session: LaneSession) {
        let until = loop.nowMilliseconds + UInt64(configuration.graceSeconds) * 1000
        let announcements = session.state.rooms.map { ($0, announcement(of: session, in: $0)) }
        if !announcements.isEmpty {
            ended[session.id] = EndedSession(
                announcements: Dictionary(announcements) { first, _ in first }, until: until)
        }
        sessions[session.id] = nil
        agenda.forget(session.id)
        shared.directory.remove(session.id)
        shared.devices.remove(session.id, of: session.state.caller.user)
        for effect in session.state.end() {
            if case .notify(let room, .left) = effect {
                askToLeave(room, of: session)
            } else {
                perform([effect], of: session)
            }
        }
    }

    private func askToLeave(_ room: RoomID, of session: LaneSession) {
        // No number of a request of its client.
        lastExit = lastExit == .max ? Self.firstExit : max(lastExit, Self.firstExit) + 1
        let origin = SessionOrigin(address(of: session), session.state.caller, request: lastExit)
        call(RoomRequest(room: room, from: origin, .operation(.exit(RoomNameRequest(room: room)))))
    }

    private static var firstExit: UInt32 { 1 << 31 }

    /// That the sessions of these exits were in their rooms.
    func announcementsOfEnded(_ exits: [RoomRequest]) -> [RoomRequest] {
        exits.compactMap { exit in isEnded(exit).flatMap { ended[$0]?.announcements[exit.room] } }
    }

    /// A leader that is new hears an exit when the others' lanes follow it, too: nobody is told again what a room shows before.
    func postpone(_ exits: [RoomRequest]) {
        guard !exits.isEmpty else { return }
        for exit in exits { if let number = exit.number { _ = open.answered(exit.asker, number) } }
        loop.schedule(afterMilliseconds: Self.exitMilliseconds) { [weak self] in
            for exit in exits where self?.isEnded(exit) != nil { self?.call(exit) }
        }
    }

    private static var exitMilliseconds: UInt64 { 1_000 }

    /// The session of a call that is the exit of one that is over; nil for every other call.
    func isEnded(_ call: RoomRequest) -> SessionID? {
        guard case .session(let id) = call.asker, case .operation(.exit) = call.body, ended[id] != nil else {
            return nil
        }
        return id
    }

    /// No leader took the exit in time.
    /// - Returns: false for another call.
    func giveUpExit(_ call: RoomRequest, mayAskAgain: Bool) -> Bool {
        guard let id = isEnded(call), let until = ended[id]?.until else { return false }
        if mayAskAgain, loop.nowMilliseconds < until {
            self.call(call)
        } else {
            hasLeft(id, call.room)
        }
        return true
    }

    func hasLeft(_ id: SessionID, _ room: RoomID) {
        guard ended[id]?.announcements.removeValue(forKey: room) != nil else { return }
        if ended[id]?.announcements.isEmpty == true { ended[id] = nil }
    }
}
