import ChatModel
import ClusterRouting
import History
import RoomProtocol
import Synchronization
import SystemGroupHost
import Wire

/// Copies this node's record to another one, so that the cluster still tells it when this node is gone.
final class AuditCopier: Sendable {
    /// A call is copied within so much and a round trip.
    private static let interval = Duration.seconds(1)
    /// How often everything is looked at although nothing was recorded: nodes come and go.
    private static let intervalsBetweenLooks = 30
    /// After a failure: the other node may be of an earlier version, or its disk full.
    private static let intervalsAfterFailure = 5
    /// Rows of a question: some 100 KB at most.
    private static let rowsAtOnce = 100
    /// Questions in a row for one duty; what is left waits for the next interval.
    private static let questionsAtOnce = 50

    private let own: NodeID
    private let file: AuditFile
    private let nodes: ClusterNodes
    private let system: SystemGroup
    private let task = Mutex<Task<Void, Never>?>(nil)

    init(own: NodeID, file: AuditFile, nodes: ClusterNodes, system: SystemGroup) {
        self.own = own
        self.file = file
        self.nodes = nodes
        self.system = system
    }

    /// Begins to copy, until `stop`.
    func start() {
        let task = Task { [self] in
            var places: [AuditRing.Duty: Int64] = [:]
            while !Task.isCancelled {
                let version = file.version
                let outcome = await copy(&places)
                let pause = outcome == .failed ? Self.intervalsAfterFailure : Self.intervalsBetweenLooks
                for _ in 0..<pause {
                    try? await Task.sleep(for: Self.interval)
                    if Task.isCancelled || outcome == .unfinished { break }
                    if outcome == .finished, file.version != version { break }
                }
            }
            // The last calls, for as long as this node is away.
            _ = await copy(&places)
        }
        self.task.withLock { $0 = task }
    }

    func stop() async {
        let task = task.withLock { $0 }
        task?.cancel()
        await task?.value
    }

    private enum Outcome: Int, Comparable {
        case finished, unfinished, failed

        static func < (a: Outcome, b: Outcome) -> Bool { a.rawValue < b.rawValue }
    }

    /// Copies the rows that others have not got.
    /// - Parameter places: how far the nodes are that stand in for others.
    private func copy(_ places: inout [AuditRing.Duty: Int64]) async -> Outcome {
        guard case .success(let recorded) = await file.nodes() else { return .failed }
        let duties = AuditRing(system.nodes).duties(of: own, recorded: recorded, reached: nodes.reached)
        places = places.filter { duties.contains($0.key) }
        var outcome = Outcome.finished
        // Each holder that does not answer is waited for once.
        var silent: Set<NodeID> = []
        for duty in duties where !silent.contains(duty.holder.node) {
            let result = await copy(duty, &places)
            if result == .failed { silent.insert(duty.holder.node) }
            outcome = max(outcome, result)
        }
        return outcome
    }

    private func copy(_ duty: AuditRing.Duty, _ places: inout [AuditRing.Duty: Int64]) async -> Outcome {
        for _ in 0..<Self.questionsAtOnce {
            guard
                case .success(let rows) = await file.uncopied(
                    of: duty.record, to: duty.standsInFor ?? duty.holder.store, after: places[duty] ?? 0,
                    limit: Self.rowsAtOnce)
            else { return .failed }
            guard let last = rows.last else { return .finished }
            // A row that nobody can read is nobody's: the others go on.
            let items = rows.compactMap { try? AuditItem($0) }
            guard (try? await nodes.ask(duty.holder.node, .keepAudit(items))) != nil else { return .failed }
            if duty.standsInFor != nil {
                places[duty] = last.place.id
            } else {
                guard case .success = await file.note(copied: last.place.id, of: duty.record, to: duty.holder.store)
                else { return .failed }
            }
        }
        return .unfinished
    }
}
