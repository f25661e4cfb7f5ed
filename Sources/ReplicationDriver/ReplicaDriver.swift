import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import Replication
import Synchronization

/// Keeps one replica of a group complete, and helps others to be: snapshots for those whose log no longer reaches back,
/// and the history that a snapshot leaves behind. On the group's loop.
package final class ReplicaDriver {
    private let log: GroupLog
    private let server: ServerID
    private let loop: EventLoop
    private let outbox: Outgoing
    private let sender: SnapshotSender
    private let receiver: SnapshotReceiver
    /// nil for a group whose state is all there is.
    private let backfiller: Backfiller?
    private var ticks = 0
    /// For how many ticks nodes have not been reached that were before.
    private var away: [NodeID: Int] = [:]
    /// Beyond it a node's transfers end. A connection that is back sooner costs a repetition, not the whole transfer.
    private static let awayMax = 30

    /// Reports for this group's leader.
    package struct Reports {
        /// A replica says that it has all history, up to an entry.
        package var isComplete: (ServerID, UInt64) -> Void
        /// A node is given a snapshot: until it is heard again, it is not complete.
        package var isGiven: (NodeID) -> Void

        package init(
            isComplete: @escaping (ServerID, UInt64) -> Void, isGiven: @escaping (NodeID) -> Void
        ) {
            self.isComplete = isComplete
            self.isGiven = isGiven
        }
    }

    private let reports: Reports

    /// Shared by what sends.
    private final class Outgoing {
        var messages: ReplicationOutbox
        private let loop: EventLoop
        private var isScheduled = false
        /// The lane may take more.
        var whenTaken: () -> Void = {}

        init(_ transport: any ReplicationTransport, _ loop: EventLoop) {
            messages = ReplicationOutbox(transport: transport)
            self.loop = loop
        }

        func send(_ message: ReplicationMessage, _ node: NodeID) {
            messages.send(message, to: node)
            tryAgainSoon()
        }

        private func tryAgainSoon() {
            guard !messages.isEmpty, !isScheduled else { return }
            isScheduled = true
            loop.schedule(afterMilliseconds: 10) { [weak self] in
                guard let self else { return }
                isScheduled = false
                messages.flush()
                whenTaken()
                tryAgainSoon()
            }
        }
    }

    /// Random at the start, so that the numbers of two lives of a node don't meet.
    private static let numbers = Atomic<UInt64>(.random(in: 1...(1 << 62)))

    /// - Parameter history: a shard's storage; nil for a group without history.
    package init(
        log: GroupLog, server: ServerID, state: any ReplicatedState, history: ShardStorage?, loop: EventLoop,
        transport: any ReplicationTransport, configuration: TransferConfiguration, slots: TransferSlots,
        reports: Reports
    ) {
        self.log = log
        self.server = server
        self.loop = loop
        self.reports = reports
        let outbox = Outgoing(transport, loop)
        self.outbox = outbox
        let nextNumber = { Self.numbers.add(1, ordering: .relaxed).newValue }
        let send: (ReplicationMessage, NodeID) -> Void = { outbox.send($0, $1) }
        let backfiller: Backfiller? =
            if let history, let own = NodeID(server.node) {
                Backfiller(
                    log: log, own: own, storage: history, loop: loop, configuration: configuration,
                    slots: slots, nextNumber: nextNumber, send: send)
            } else { nil }
        self.backfiller = backfiller
        let sender = SnapshotSender(
            log: log, state: state, configuration: configuration,
            isHeldUp: { outbox.messages.isWaiting(for: $0) }, send: send)
        self.sender = sender
        receiver = SnapshotReceiver(
            log: log, state: state, configuration: configuration, slots: slots, nextNumber: nextNumber,
            whenReplaced: { [log] in
                backfiller?.beginAnew()
                log.setIsComplete(backfiller?.isComplete ?? true)
            }, send: send)
        log.isInstalling = { [weak self] in self?.receiver.isBusy ?? false }
        outbox.whenTaken = { [weak sender] in sender?.resume() }
        log.setIsComplete(backfiller?.isComplete ?? true)
    }

    /// The leader's log no longer reaches back to this replica's.
    package func take(_ offer: RaftOutput.SnapshotOffer) { receiver.take(offer) }

    /// Takes a message of another node's replica of the group.
    package func receive(_ message: ReplicationMessage, from node: NodeID) {
        switch message.body {
        case .askSnapshot:
            if sender.receive(message, from: node) { reports.isGiven(node) }
        case .beginSnapshot, .snapshotChunk, .endSnapshot: receiver.receive(message, from: node)
        case .askDays(let index): backfiller?.giveDays(message, atLeast: index, to: node)
        case .askHistory(let question): backfiller?.give(question, message, to: node)
        case .days, .history: backfiller?.receive(message, from: node)
        case .complete(let store, let index): reports.isComplete(ServerID(node: node.text, store: store), index)
        case .abort:
            sender.receive(message, from: node)
            receiver.receive(message, from: node)
            backfiller?.receive(message, from: node)
        }
    }

    /// The connection to a node has ended.
    package func onNodeLost(_ node: NodeID) { away[node] = 0 }

    /// A node is connected that was not before.
    package func reached(_ node: NodeID) { away[node] = nil }

    private func endTransfers() {
        for (node, ticks) in away {
            guard ticks >= Self.awayMax else {
                away[node] = ticks + 1
                continue
            }
            sender.onNodeLost(node)
            receiver.onNodeLost(node)
            backfiller?.onNodeLost(node)
        }
    }

    /// Every 100 ms.
    package func tick() {
        endTransfers()
        outbox.messages.tick()
        sender.tick()
        receiver.tick()
        backfiller?.tick()
        // Also after the core was made anew.
        log.setIsComplete(backfiller?.isComplete ?? true)
        ticks += 1
        if ticks % 10 == 0 { reportComplete() }
    }

    /// Once a second, because any of it may be lost.
    private func reportComplete() {
        guard let backfiller, backfiller.isComplete, !receiver.isBusy, !log.isLeader, let leader = log.leader,
            let node = NodeID(leader.node), leader != server
        else { return }
        let body = ReplicationMessage.Body.complete(store: server.store, index: log.appliedIndex)
        outbox.send(ReplicationMessage(group: log.group, transfer: 0, body), node)
    }
}
