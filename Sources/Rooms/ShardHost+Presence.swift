import ChatModel
import Consensus
import EventLoop
import GroupDriver
import RoomCore
import RoomProtocol

/// Sessions on the leader's own node are known to the other replicas, too: a next leader goes on with them. It costs
/// nothing where nobody comes or goes, and a few microseconds for who does.
extension ShardHost {
    // MARK: - The leader

    /// Once a second: who else holds the shard and is reached.
    func choosePresenceReplicas() {
        let voters = log.membership.voters
        guard voters.count > 1, context.cluster.level.brings(.presence) else { return setPresenceReplicas([]) }
        let lost = context.lostNodes.value
        setPresenceReplicas(
            voters.compactMap { NodeID($0.node) }.filter { $0 != context.node && !lost.contains($0) })
    }

    private func setPresenceReplicas(_ nodes: [NodeID]) {
        guard nodes != presenceSender.replicas || nodes.isEmpty == presenceSender.isOn, let ledTerm else { return }
        let new = presenceSender.choose(nodes)
        let (node, isNew) = (presenceSender.isOn ? context.node : nil, !new.isEmpty)
        for room in rooms.active {
            room.assumeIsolated { room in
                room.presence.replicate(node)
                // Those who know them are told once more.
                if isNew { room.presence.noteAll() }
            }
            notePresence(of: room)
        }
        guard !new.isEmpty else { return }
        context.sink.replicate(
            PresenceUpdate(shard: shard, term: ledTerm, node: context.node, isFirst: true), to: new)
    }

    /// The room's turn is over: what has changed in it is told soon.
    func notePresence(of room: RoomActor) {
        guard presenceSender.isOn else { return }
        if room.assumeIsolated({ $0.presence.hasChanges }) { presenceSender.note(room.id) }
    }

    /// Every 100 ms: tells the other replicas what has changed, for as long as the share of a turn.
    func replicatePresence() {
        guard let ledTerm, presenceSender.first != nil else { return }
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        repeat {
            var changes: [PresenceUpdate.Change] = []
            while changes.count < PresenceUpdate.changesMax, let id = presenceSender.first {
                changes += takePresenceChanges(of: id, max: PresenceUpdate.changesMax - changes.count)
            }
            context.sink.replicate(
                PresenceUpdate(shard: shard, term: ledTerm, node: context.node, changes: changes),
                to: presenceSender.replicas)
        } while presenceSender.first != nil && EventLoop.nowNanoseconds < end
        if presenceSender.first != nil { context.loop.executeLater { [unowned self] in replicatePresence() } }
    }

    private func takePresenceChanges(of id: RoomID, max: Int) -> [PresenceUpdate.Change] {
        guard let room = rooms[id] else {
            // It has left memory, and nobody was in it.
            presenceSender.finishFirst()
            return [PresenceUpdate.Change(room: id, .emptied)]
        }
        let (changes, isDone) = room.assumeIsolated { room in
            (room.presence.takeChanges(max: max), !room.presence.hasChanges)
        }
        if isDone { presenceSender.finishFirst() }
        return changes.map { PresenceUpdate.Change(room: id, $0) }
    }

    // MARK: - The other replicas

    func receive(_ update: PresenceUpdate) {
        guard !log.isLeader else { return }
        presenceReplica.take(update)
    }

    // MARK: - The next leader

    /// The sessions of the former leader's node come into their rooms, in their grace: into rooms in memory now, as far as
    /// the share of a turn goes, and into others when they are loaded.
    func beginInheriting(at now: Timestamp) {
        inherited = presenceReplica.takeAll(at: now)
        guard !inherited.isEmpty else { return }
        for id in inherited.keys {
            if rooms[id] != nil {
                inheriting.append(id)
            } else if roomsToRecover.count < Self.roomsToRecoverMax {
                roomsToRecover.append(id)
            }
        }
        inherit()
        loadRoomsToRecover()
    }

    /// The room is in memory.
    func inherit(into id: RoomID) {
        guard inherited[id] != nil else { return }
        inheriting.append(id)
        inherit()
    }

    private func inherit() {
        guard let ledSince else { return }
        let grace = ledSince.adding(seconds: context.policy.graceSeconds)
        let end = EventLoop.nowNanoseconds + EventLoop.shareNanoseconds
        while let id = inheriting.last {
            guard let room = rooms[id], var visitors = inherited.removeValue(forKey: id) else {
                inheriting.removeLast()
                continue
            }
            let some = visitors.suffix(Self.inheritedAtATime)
            visitors.removeLast(some.count)
            if !visitors.isEmpty { inherited[id] = visitors }
            room.assumeIsolated { $0.inherit(some, until: grace) }
            collect(room)
            guard EventLoop.nowNanoseconds < end else {
                return context.loop.executeLater { [unowned self] in inherit() }
            }
        }
    }

    private static let inheritedAtATime = 64

    /// Once a second: rooms that could not be loaded for long are left to whoever comes.
    func endInheriting(at now: Timestamp) {
        guard !inherited.isEmpty, let ledSince, now >= ledSince.adding(seconds: 60 + context.policy.graceSeconds) else {
            return
        }
        (inherited, inheriting) = ([:], [])
    }
}
