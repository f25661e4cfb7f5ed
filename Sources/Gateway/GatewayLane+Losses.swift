import RoomProtocol
import SessionCore
import Telemetry
import Wire

/// Frames that were not sent, and what is told of them.
extension GatewayLane {
    func noteDropped(_ frame: LaneFrame) {
        if let room = frame.room { hubs[room]?.noteDropped(frame) }
        shared.figures.dropped(
            frame.traffic, count: max(1, frame.messageCount + frame.shownBarrageCount))
    }

    /// Those that lack some of a room's compressed stream read it no further. Before anything more of it is shown: until
    /// then they are given nothing of rooms, because a loss that is not told comes first.
    func regroup() {
        guard !behind.isEmpty else { return }
        for connection in exchange(&behind, with: []) {
            connection.followed?.isBehind = false
            if let room = connection.followed?.room { hubs[room]?.fallBehind(connection) }
        }
    }

    func noteShed(_ session: LaneSession) { shared.figures.shedSessions.add() }

    /// Tells a session that keeps up again what it was not given, and present totals in place of those.
    func sendLosses(of session: LaneSession) {
        guard let connection = session.connection else { return }
        if !session.state.losses.isEmpty {
            for push in session.state.takeLosses() { connection.push(push) }
        }
        guard !session.state.losses.withoutTotals.isEmpty else { return }
        for room in session.state.losses.takeTotals() where connection.views[room] != nil {
            if let push = hubs[room]?.totals.push { connection.push(.tallies(push)) }
        }
    }
}
