import ChatModel
import RoomProtocol
import SessionCore
import ShardPlacement
import Wire

/// Viewers are told when the leader of their room is away, also those who say nothing (PROTOCOL.md, "The room's leader").
extension GatewayLane {
    /// Ten times a second.
    func publishAwayLeaders(at now: UInt64) {
        var failed: Set<RoomID> = []
        for news in away.look(at: now, roster, awaited: awaited, isLed: { open.leader(of: $0) != nil }) {
            notify(news.status, of: news.room)
            if news.status == .failed { failed.insert(news.room) }
        }
        if !failed.isEmpty { end(failed) }
    }

    private func notify(_ status: RoomStatus, of room: RoomID) {
        shared.figures.told(status)
        hubs[room]?.notify(StatePush(room: room, state: status, error: status == .failed ? Self.leaderless(room) : nil))
    }

    private static func leaderless(_ room: RoomID) -> ChatError {
        ChatError(
            .unavailable, "\(room) has been without a leader for \(AwayLeaders.failedMilliseconds / 1000) s",
            retryAfterMs: Int64(OpenRequests.heldMilliseconds))
    }

    /// Nobody is in these rooms any more.
    private func end(_ rooms: Set<RoomID>) {
        for session in Array(sessions.values) {
            for room in session.state.rooms where rooms.contains(room) {
                perform(session.state.onRoomFailed(room), of: session)
            }
        }
        awaited.forget { rooms.contains($0) }
    }

    /// Before a viewer is added to those of a room: it is not told ENTERED unless it was told LOST.
    /// - Returns: whether it is to be told LOST.
    func isAwayForNewcomer(_ room: RoomID) -> Bool {
        guard away.isLost(room) else { return false }
        guard open.leader(of: shared.shardMap.shard(of: room)) != nil, !awaited.awaits(room) else { return true }
        away.comeBack(room)
        notify(.entered, of: room)
        return false
    }
}
