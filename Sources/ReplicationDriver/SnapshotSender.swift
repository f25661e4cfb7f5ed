import ChatModel
import Consensus
import GroupDriver
import Replication

/// Gives a group's state to replicas that are too far behind: performs what `SnapshotSource` says. On the group's loop.
final class SnapshotSender {
    private let log: GroupLog
    private let state: any ReplicatedState
    private let send: (ReplicationMessage, NodeID) -> Void
    /// Whether something waits for the lane to a node; then nothing more is read for it.
    private let isHeldUp: (NodeID) -> Bool
    private var source: SnapshotSource
    private var opening: Set<UInt64> = []
    private var open: [UInt64: any OpenState] = [:]
    /// A read that waits for the lane.
    private var waitingRead: (number: UInt64, bytesMax: Int)?

    init(
        log: GroupLog, state: any ReplicatedState, configuration: TransferConfiguration,
        isHeldUp: @escaping (NodeID) -> Bool, send: @escaping (ReplicationMessage, NodeID) -> Void
    ) {
        self.log = log
        self.state = state
        self.send = send
        self.isHeldUp = isHeldUp
        source = SnapshotSource(group: log.group, configuration: configuration)
    }

    /// Returns whether a snapshot is being given to the node from here on.
    @discardableResult
    func receive(_ message: ReplicationMessage, from node: NodeID) -> Bool {
        // The chunks that it reports as lost are on their way.
        if case .askSnapshot(_, _, _, isRepeat: true) = message.body, isHeldUp(node) { return false }
        let effects = source.receive(message, from: node)
        perform(effects)
        return effects.contains { if case .open = $0 { true } else { false } }
    }

    /// The node is away: it begins anew if it still needs a snapshot.
    func onNodeLost(_ node: NodeID) {
        if source.receiver == node { perform(source.close()) }
    }

    /// Every 100 ms.
    func tick() {
        perform(source.tick())
        resume()
        // Until its log goes on from there, the open state keeps this one's log from being trimmed.
        guard let (node, mark) = source.given else { return }
        let peers = log.peerStatuses.filter { $0.id.node == node.text }
        let goesOn = peers.allSatisfy { !$0.isInstallingSnapshot && $0.matchIndex >= mark.index }
        if !peers.isEmpty, goesOn { perform(source.close()) }
    }

    /// The lane may take more.
    func resume() {
        guard let read = waitingRead, let node = source.receiver, !isHeldUp(node) else { return }
        waitingRead = nil
        self.read(read.number, read.bytesMax)
    }

    private func perform(_ effects: [SnapshotSource.Effect]) {
        for effect in effects {
            switch effect {
            case .send(let message, let node): send(message, node)
            case .open(let number, let index): open(number, atLeast: index)
            case .read(let number, let bytesMax):
                if let node = source.receiver, isHeldUp(node) {
                    waitingRead = (number, bytesMax)
                } else {
                    read(number, bytesMax)
                }
            case .close(let number):
                opening.remove(number)
                open.removeValue(forKey: number)?.close()
                if waitingRead?.number == number { waitingRead = nil }
            }
        }
    }

    private func open(_ number: UInt64, atLeast index: UInt64) {
        opening.insert(number)
        state.open { [weak self] result in
            guard let self, opening.remove(number) != nil else {
                if case .success(let state) = result { state.close() }
                return
            }
            switch result {
            case .success(let state):
                guard state.index >= index, let mark = log.snapshotMark(at: state.index) else {
                    state.close()
                    let error = ReplicationError(.behind, "the state after \(index) can't be had here")
                    return perform(source.failed(number: number, error))
                }
                open[number] = state
                perform(source.opened(number: number, mark: mark))
            case .failure(let error): perform(source.failed(number: number, error))
            }
        }
    }

    private func read(_ number: UInt64, _ bytesMax: Int) {
        open[number]?.read(bytesMax: bytesMax) { [weak self] result in
            guard let self else { return }
            switch result {
            case .success(let bytes): perform(source.read(number: number, bytes))
            case .failure(let error): perform(source.failed(number: number, error))
            }
        }
    }
}
