import ChatModel
import Consensus
import GroupDriver
import Replication

/// A log that waits for a state to be put in place, and is told of it: `GroupLog`.
protocol InstallingLog: AnyObject {
    var group: GroupID { get }
    /// To be called when something was told to the log.
    var onInput: () -> Void { get }
    /// Whether it would go on from there.
    func believes(_ mark: SnapshotMark) -> Bool
    func snapshotInstalled(_ mark: SnapshotMark)
    func snapshotInstallFailed(_ mark: SnapshotMark)
}

extension GroupLog: InstallingLog {}

/// Gets the state that a leader has offered, and puts it in place: performs what `SnapshotSink` says. On the group's
/// loop.
final class SnapshotReceiver {
    private struct Transfer {
        var sink: SnapshotSink
        var node: NodeID
        var offer: SnapshotMark
    }

    private let log: any InstallingLog
    private let state: any ReplicatedState
    private let configuration: TransferConfiguration
    private let slots: TransferSlots
    private let send: (ReplicationMessage, NodeID) -> Void
    private let nextNumber: () -> UInt64
    /// Called before the log is told that the state has been replaced.
    private let whenReplaced: () -> Void
    private var current: Transfer?
    /// The received state is being put in place, which can't be given up any more.
    private var isFinishing = false
    /// Whether `current` has one of the slots.
    private var hasSlot = false
    /// An offer that came meanwhile, or that waits for a slot.
    private var waiting: RaftOutput.SnapshotOffer?

    init(
        log: any InstallingLog, state: any ReplicatedState, configuration: TransferConfiguration, slots: TransferSlots,
        nextNumber: @escaping () -> UInt64, whenReplaced: @escaping () -> Void,
        send: @escaping (ReplicationMessage, NodeID) -> Void
    ) {
        self.log = log
        self.state = state
        self.configuration = configuration
        self.slots = slots
        self.nextNumber = nextNumber
        self.whenReplaced = whenReplaced
        self.send = send
    }

    /// Whether a state is being received, or to be.
    var isBusy: Bool { current != nil || waiting != nil }

    /// The leader's log does not reach back to this one. A newer offer replaces the one under way.
    func take(_ offer: RaftOutput.SnapshotOffer) {
        waiting = offer
        guard !isFinishing else { return }
        if var former = current {
            perform(former.sink.storingFailed("a newer snapshot is offered"), isReplaced: true)
        }
        takeWaiting()
    }

    private func takeWaiting() {
        guard let offer = waiting, current == nil, !isFinishing else { return }
        guard let node = NodeID(offer.from.node) else {
            waiting = nil
            return log.snapshotInstallFailed(offer.mark)
        }
        guard slots.take() else { return }
        hasSlot = true
        waiting = nil
        let sink = SnapshotSink(
            group: log.group, transfer: nextNumber(), index: offer.mark.index, configuration: configuration)
        current = Transfer(sink: sink, node: node, offer: offer.mark)
        perform(sink.start())
    }

    private func giveSlot() {
        if hasSlot { slots.give() }
        hasSlot = false
    }

    func receive(_ message: ReplicationMessage, from node: NodeID) {
        guard current?.node == node else { return }
        // Looked at before the state is replaced, which can't be taken back.
        if case .beginSnapshot(let mark) = message.body, message.transfer == current?.sink.transfer, !log.believes(mark)
        {
            let reason = "a snapshot of term \(mark.term), which no election leads to"
            if let effects = current?.sink.storingFailed(reason) { perform(effects) }
            return
        }
        if let effects = current?.sink.receive(message) { perform(effects) }
    }

    /// The node is away: the leader of now is to offer what it has.
    func onNodeLost(_ node: NodeID) {
        guard current?.node == node, let effects = current?.sink.storingFailed("\(node) is not reached") else { return }
        perform(effects)
    }

    /// Every 100 ms.
    func tick() {
        if let effects = current?.sink.tick() { perform(effects) }
        takeWaiting()
    }

    private func perform(_ effects: [SnapshotSink.Effect], isReplaced: Bool = false) {
        guard let transfer = current else { return }
        for effect in effects {
            switch effect {
            case .send(let message): send(message, transfer.node)
            case .begin(let mark): state.beginInstall(mark, stored(transfer.sink.transfer))
            case .store(let bytes): state.install(bytes, stored(transfer.sink.transfer))
            case .install(let mark): finish(mark, transfer.offer)
            case .fail:
                current = nil
                giveSlot()
                state.abandonInstall()
                guard !isReplaced else { continue }
                log.snapshotInstallFailed(transfer.offer)
                log.onInput()
            }
        }
    }

    private func stored(_ number: UInt64) -> ReplicatedState.Done {
        { [weak self] result in
            guard let self, current?.sink.transfer == number else { return }
            let effects: [SnapshotSink.Effect]? =
                switch result {
                case .success: current?.sink.stored()
                case .failure(let error): current?.sink.storingFailed(error.message)
                }
            if let effects { perform(effects) }
        }
    }

    private func finish(_ mark: SnapshotMark, _ offer: SnapshotMark) {
        isFinishing = true
        state.finishInstall(mark) { [weak self] result in
            guard let self else { return }
            isFinishing = false
            current = nil
            giveSlot()
            switch result {
            case .success:
                // The log does not wait any more for an offer that came meanwhile and is no newer: in place of a state
                // to which entries are applied again, it would take some of them back.
                if let offer = waiting, offer.mark.index <= mark.index { waiting = nil }
                whenReplaced()
                log.snapshotInstalled(mark)
            case .failure:
                // An offer of another node under the same mark is what the log waits for now.
                if waiting?.mark != offer { log.snapshotInstallFailed(offer) }
            }
            takeWaiting()
            log.onInput()
        }
    }
}
