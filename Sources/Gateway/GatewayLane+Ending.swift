import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement

/// A room that a session was in when it ended without a wish of its client: put offline, revoked, banned, or away for too long.
///
/// One reference: each of the shards that get another leader at once looks at all that ended lately.
final class EndedStay: Sendable {
    let session: SessionID
    let caller: Caller
    let room: RoomID
    let shard: ShardID
    /// That it was there.
    let announcement: RoomRequest
    /// When it ended, in loop time; later ones are behind it.
    let endedAt: UInt64

    init(_ session: SessionID, _ caller: Caller, _ announcement: RoomRequest, of shard: ShardID, endedAt: UInt64) {
        (self.session, self.caller, self.announcement) = (session, caller, announcement)
        (room, self.shard, self.endedAt) = (announcement.room, shard, endedAt)
    }
}

/// The end of sessions. A room hears of it once, and its leader may be dead, or this node not heard. The next leader hears that the
/// session was there, as of those that still are, and then that it has left: others see it, and its seat goes at once.
extension GatewayLane {
    /// The session is over: its rooms see an exit.
    func end(_ session: LaneSession) {
        let now = loop.nowMilliseconds
        for room in session.state.rooms {
            ended.append(
                EndedStay(
                    session.id, session.state.caller, announcement(of: session, in: room),
                    of: shared.shardMap.shard(of: room), endedAt: now))
        }
        while let first = ended.first, ended.count > Self.endedMax || first.endedAt + Self.endedMilliseconds <= now {
            ended.removeFirst()
        }
        sessions[session.id] = nil
        agenda.forget(session.id)
        shared.directory.remove(session.id)
        shared.devices.remove(session.id, of: session.state.caller.user)
        perform(session.state.end(), of: session)
    }

    /// The oldest are told once only when more end at a time.
    private static var endedMax: Int { 4_096 }
    /// Another leader is known that long after the former one has died or stood still. The former one has told others what it was
    /// told before.
    private static var endedMilliseconds: UInt64 { 5_000 }
    /// A leader that was heard so long after an end has told others of it.
    private static var answerMilliseconds: UInt64 { 200 }
    /// By then other lanes follow a leader that is new: nobody is told again what a room shows before.
    private static var followMilliseconds: UInt64 { 1_000 }

    /// The stays in rooms of a shard of which a leader may not know that they have ended, by their rooms. It hears of the ends a
    /// moment later.
    func endedStays(in shard: ShardID) -> [RoomID: [EndedStay]] {
        guard !ended.isEmpty else { return [:] }
        let (now, heard) = (loop.nowMilliseconds, pulsedAt[shard] ?? 0)
        var stays: [RoomID: [EndedStay]] = [:]
        for place in (0..<ended.count).reversed() {
            let stay = ended[place]
            // All that are in front of it are older.
            guard stay.endedAt + Self.endedMilliseconds > now, stay.endedAt + Self.answerMilliseconds > heard else {
                break
            }
            if stay.shard == shard, isGone(stay) { stays[stay.room, default: []].append(stay) }
        }
        guard !stays.isEmpty else { return [:] }
        loop.schedule(afterMilliseconds: Self.followMilliseconds) { [weak self, stays] in
            guard let self else { return }
            for stay in stays.values.joined() where isGone(stay) { leave(stay.room, stay.session, stay.caller) }
        }
        return stays
    }

    /// It may have been taken up at this node meanwhile, under the same ID.
    private func isGone(_ stay: EndedStay) -> Bool { shared.directory.lane(of: stay.session) == nil }
}
