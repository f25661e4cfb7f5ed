import ChatModel
import Consensus
import GroupDriver
import History
import Replication
import ReplicationDriver
import RoomCore

/// Another replica's state: given to those that are behind, and put in the place of this one's when it is behind
/// itself.
extension ShardHost: ShardApplier {
    func makeReplica() -> ReplicaDriver {
        ReplicaDriver(
            log: log, server: context.server,
            state: ShardReplica(storage: storage, loop: context.loop, applier: self), history: storage,
            loop: context.loop, transport: context.replication, configuration: context.transfers,
            slots: context.transferSlots,
            reports: ReplicaDriver.Reports(
                isComplete: { [unowned self] server, index in
                    keeper.replicas.note(complete: server, upTo: index, in: log.term)
                },
                isGiven: { [unowned self] node in
                    keeper.replicas.note(given: node, committed: log.commitIndex, in: log.term)
                }))
    }

    /// Takes a message of another node's replica.
    func receive(_ message: ReplicationMessage, from node: NodeID) { replica?.receive(message, from: node) }

    /// A node is connected that was not before.
    func reached(_ node: NodeID) {
        replica?.reached(node)
        presenceSender.forget(node)
    }

    /// Every 100 ms.
    func tickReplica() {
        log.setKnowsSettings(context.cluster.current.knowsSettings)
        replica?.tick()
    }

    func log(_ log: GroupLog, needsSnapshot offer: RaftOutput.SnapshotOffer) {
        guard let replica else { return log.snapshotInstallFailed(offer.mark) }
        replica.take(offer)
    }

    // MARK: - The catalogue is replaced

    func pauseApply() {
        isHeld = true
        publishAll()
        forgetRooms()
    }

    func resumeApply(from mark: SnapshotMark?) {
        // Rooms that began to load meanwhile may be of either state.
        forgetRooms()
        isHeld = false
        if let mark {
            // The files are others, so nothing is known to be damaged.
            unreadable = UnreadableRooms()
            appliedIndex = mark.index
            checkpointedIndex = mark.index
            // All of them are in the snapshot.
            queue.removeAll()
            publisher.forgetRows()
        }
        queue.forgetFetched()
        applyCommitted()
        fetchRooms()
    }

    /// All rooms leave memory; whoever waits for one is to ask elsewhere.
    private func forgetRooms() {
        let waiting = rooms.removeAll()
        publisher.forgetRooms()
        agenda.removeAll()
        roomsToRecover = []
        (inherited, inheriting) = ([:], [])
        refusals.refuse(waiting)
        refusals.refuse(takeEarly())
    }
}
