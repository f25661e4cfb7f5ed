import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import ShardPlacement
import Telemetry
import Wire

/// The leaders of the rooms that this lane's sessions are in, and the announcements when they change.
extension GatewayLane {
    /// Asks each call where its room is led; those whose leader nobody knows wait.
    func ask(_ calls: [RoomRequest]) {
        var byNode: [(node: NodeID, calls: [RoomRequest])] = []
        for call in calls {
            switch open.add(call, of: shared.shardMap.shard(of: call.room), at: loop.nowMilliseconds) {
            case .ask(let node):
                if let index = byNode.firstIndex(where: { $0.node == node }) {
                    byNode[index].calls.append(call)
                } else {
                    byNode.append((node, [call]))
                }
            case .held: break
            case .refused: giveUp(call, "too many requests are waiting", copied: 0)
            }
        }
        for (node, calls) in byNode { shared.router.route(calls, to: node, from: number) }
    }

    /// A node leads a shard from now on: it is told who of this lane is in its rooms and what they have been shown, and
    /// asked again what nobody has answered.
    func onLeaderKnown(_ notice: ShardNotice, by node: NodeID) {
        guard let asked = open.onLeader(node, notice.shard, term: notice.term) else { return }
        watch.forget(notice.shard)
        missed.forget { room, _ in shared.shardMap.shard(of: room) == notice.shard }
        loseBarrage(of: notice.shard)
        var byRoom: [RoomID: [LaneSession]] = [:]
        for session in sessions.values {
            for room in session.state.rooms where shared.shardMap.shard(of: room) == notice.shard {
                byRoom[room, default: []].append(session)
            }
        }
        var calls: [RoomRequest] = []
        let untaken = awaited.untaken(of: notice.shard)
        awaited.forget { shared.shardMap.shard(of: $0) == notice.shard }
        var ended = endedStays(in: notice.shard)
        for (room, sessions) in byRoom {
            let stays = ended.removeValue(forKey: room) ?? []
            calls += announcements(of: sessions, stays, in: room, untaken: untaken[room])
        }
        for (room, stays) in ended { calls += announcements(of: [], stays, in: room) }
        calls += ownAsked(asked) + tapsAgain(of: notice.shard)
        if !calls.isEmpty { shared.router.route(calls, to: node, from: number) }
    }

    /// Calls of sessions that have gone to another lane are not asked again: an enter would bring them back, an exit
    /// end what they have entered since. Nobody here waits for the answer.
    func ownAsked(_ calls: [RoomRequest]) -> [RoomRequest] {
        calls.filter { call in
            guard case .session(let id) = call.asker, sessions[id] == nil else { return true }
            if let request = call.number { _ = open.answered(call.asker, request) }
            return false
        }
    }

    /// That these sessions are in the room, and what this lane's viewers have been shown of it.
    /// - Parameters:
    ///   - ended: stays of others that have ended.
    ///   - untaken: `AwaitedStreams.untaken(of:)` before the room's stream was not awaited any more.
    func announcements(
        of sessions: [LaneSession], _ ended: [EndedStay] = [], in room: RoomID, untaken: UInt64? = nil
    ) -> [RoomRequest] {
        var calls = ended.map(\.announcement) + sessions.map { announcement(of: $0, in: room) }
        guard var last = calls.last?.session else { return [] }
        // Without viewers there is nothing to catch up with.
        var place = hubs[room]?.shown.place ?? StreamPlace(epoch: "", seq: .max)
        let untaken = untaken ?? awaited.untaken(of: room)
        place.untaken = untaken ?? 0
        last.number = awaited.begin(
            room, of: shared.shardMap.shard(of: room), sessions: calls.count, untaken: untaken,
            at: loop.nowMilliseconds)
        calls.append(RoomRequest(room: room, from: last, .follow(place)))
        return calls
    }

    func announcement(of session: LaneSession, in room: RoomID) -> RoomRequest {
        RoomRequest(
            room: room, from: SessionOrigin(address(of: session), session.state.caller),
            .announce(session.state.announcement(in: room)))
    }

    /// The node's own replica of the shard does not hear its leader: what that is asked waits.
    func onLeaderSuspected(_ notice: ShardNotice, of node: NodeID) {
        open.onLeaderSuspected(node, notice.shard, term: notice.term, at: loop.nowMilliseconds)
    }

    /// The replica hears it again. Nothing that was said to it or by it is lost, so nothing is said anew: a room that was
    /// told again what this lane has been shown would show what is on its way once more.
    func onLeaderConfirmed(_ notice: ShardNotice, of node: NodeID) {
        let asked = ownAsked(open.onLeaderConfirmed(node, notice.shard, term: notice.term))
        if !asked.isEmpty { shared.router.route(asked, to: node, from: number) }
    }

    /// A node can't be reached, or leads one shard no more: what it was asked waits for the next leader.
    func onLeaderLost(_ node: NodeID, _ shard: ShardID?) {
        open.onNodeLost(node, shard, at: loop.nowMilliseconds)
        missed.forget { room, leader in leader == node && (shard.map { $0 == shared.shardMap.shard(of: room) } ?? true)
        }
    }

    /// Calls for which no leader was found in time are answered.
    func giveUpHeldCalls() {
        for call in open.expire(at: loop.nowMilliseconds) {
            giveUp(call, "the room has no leader at the moment", copied: .max)
        }
    }

    /// - Parameter copied: bytes that it may have made a room read.
    func giveUp(_ call: RoomRequest, _ reason: String, copied: Int) {
        guard case .session(let id) = call.asker, let request = call.number else { return }
        settleCost(of: request, id, isRepeat: false, charged: copied)
        guard let session = sessions[id], case .operation(let operation) = call.body,
            let id = session.state.onGiveUp(request, operation, in: call.room)
        else { return }
        if case .send = operation { shared.figures.unavailableSends.add() }
        var waitMs: Int64 = 500
        if case .enter = operation {
            // Everybody who waited for the leader is told so at once, and shall not come back at once.
            waitMs += shared.admission.wait(.enter, nowMilliseconds: loop.nowMilliseconds)
        }
        session.connection?.reply(id, error: ChatError(.unavailable, reason, retryAfterMs: waitMs))
    }
}
