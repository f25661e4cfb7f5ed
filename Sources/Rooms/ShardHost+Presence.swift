import ChatModel
import Consensus
import EventLoop
import GroupDriver
import RoomCore
import RoomProtocol

/// Sessions on the leader's own node, and on nodes that can't be reached, are known to the other replicas, too: a next
/// leader goes on with them. It costs nothing where nobody comes or goes, and a few microseconds for who does.
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
        let (new, old) = presenceSender.choose(
            nodes, rooms.active.filter { $0.onLoop { !$0.presence.isWithoutPeople } }.map(\.id))
        let node = presenceSender.isOn ? context.node : nil
        for room in rooms.active { room.onLoop { $0.replicatePresence(of: node) } }
        let lost = context.lostNodes.value
        let told = new + old.filter { !lost.contains($0) }
        guard !told.isEmpty else { return }
        // Those that are no replicas any more forget what they know by the same.
        context.sink.replicate(
            PresenceUpdate(shard: shard, term: ledTerm, node: context.node, isFirst: true), to: told)
    }

    /// The room's turn is over: what has changed in it is told soon.
    func notePresence(of room: RoomActor) {
        guard presenceSender.isOn else { return }
        if room.onLoop({ $0.presence.hasChanges }) { presenceSender.note(room.id) }
    }

    /// Every 100 ms: tells the other replicas what has changed, and new ones what there is.
    /// - Parameter bytes: that may be sent; it may become less than 0.
    func replicatePresence(bytes: inout Int) {
        guard let ledTerm else { return }
        while bytes > 0, presenceSender.isBehind {
            var changes: [PresenceUpdate.Change] = []
            var nodes = presenceSender.replicas
            while changes.count < PresenceUpdate.changesMax, let id = presenceSender.first {
                changes += takePresenceChanges(of: id, max: PresenceUpdate.changesMax - changes.count)
            }
            if changes.isEmpty, let (begun, sessions) = takeBeginning() { (nodes, changes) = (begun, sessions) }
            bytes -= changes.reduce(4_096) { $0 + $1.byteCount }
            guard !changes.isEmpty else { continue }
            context.sink.replicate(
                PresenceUpdate(shard: shard, term: ledTerm, node: context.node, changes: changes), to: nodes)
        }
    }

    private func takeBeginning() -> (nodes: [NodeID], changes: [PresenceUpdate.Change])? {
        let part = presenceSender.takeBeginning(max: PresenceUpdate.changesMax) { id in
            rooms[id]?.onLoop { $0.presence.replicatedSessions() } ?? []
        }
        guard let part, let room = rooms[part.room] else { return nil }
        let (id, keys) = (part.room, part.keys)
        let changes = room.onLoop { room in
            keys.compactMap { key in
                room.presence.replicated(key).map { PresenceUpdate.Change(room: id, .here($0)) }
            }
        }
        return (part.nodes, changes)
    }

    private func takePresenceChanges(of id: RoomID, max: Int) -> [PresenceUpdate.Change] {
        guard let room = rooms[id] else {
            // It has left memory, and nobody was in it.
            presenceSender.finishFirst()
            return [PresenceUpdate.Change(room: id, .emptied)]
        }
        let (changes, isDone) = room.onLoop { room in
            (room.presence.takeChanges(max: max), !room.presence.hasChanges)
        }
        if isDone { presenceSender.finishFirst() }
        return changes.map { PresenceUpdate.Change(room: id, $0) }
    }

    // MARK: - The other replicas

    func receive(_ update: PresenceUpdate) {
        if update.asksToBegin {
            // It is told from the beginning when the replicas are chosen next, within a second.
            if update.term == ledTerm { presenceSender.forget(update.node) }
            return
        }
        guard ledTerm == nil else { return }
        presenceReplica.take(update, at: context.now(), seconds: context.policy.graceSeconds)
    }

    /// Once a second.
    func askForPresence() {
        guard ledTerm == nil, let leader = log.leader.flatMap({ NodeID($0.node) }), leader != context.node,
            log.membership.voters.contains(context.server), context.cluster.level.brings(.presence),
            presenceReplica.mustAsk(leader, term: log.term)
        else { return }
        context.sink.replicate(.question(of: context.node, shard: shard, term: log.term), to: [leader])
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
            guard let room = rooms[id], var sessions = inherited.removeValue(forKey: id) else {
                inheriting.removeLast()
                continue
            }
            let some = Array(sessions.suffix(Self.inheritedAtATime))
            sessions.removeLast(some.count)
            if !sessions.isEmpty { inherited[id] = sessions }
            room.onLoop { $0.inherit(some, until: grace) }
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

extension PresenceUpdate.Change {
    /// About as many as it takes on the link.
    fileprivate var byteCount: Int {
        guard case .here(let visitor) = change else { return 64 }
        let profile = visitor.profile
        let texts = [profile.nick, profile.avatar, profile.ext, visitor.notifyExt]
        return texts.reduce(128) { $0 + ($1?.utf8.count ?? 0) }
    }
}
