import ChatModel
import Consensus
import EventLoop
import GroupDriver
import History
import Replication

/// Gets the history that a shard lacks after a snapshot, and gives history to replicas that lack some. On the shard's
/// loop.
final class Backfiller {
    private let log: GroupLog
    private let own: NodeID
    private let storage: ShardStorage
    private let loop: EventLoop
    private let configuration: TransferConfiguration
    private let slots: TransferSlots
    private let send: (ReplicationMessage, NodeID) -> Void
    private let nextNumber: () -> UInt64
    /// With one of the slots.
    private var current: (sink: BackfillSink, node: NodeID, snapshotIndex: UInt64)?
    private var attempts = 0
    private var ticksUntilAttempt = 0
    /// Answers that are being read for others.
    private var reads = 0

    /// Between two attempts.
    private static let ticksBetween = 10
    /// More questions at the same time are not answered; who asked repeats them.
    private static let readsMax = 16

    init(
        log: GroupLog, own: NodeID, storage: ShardStorage, loop: EventLoop, configuration: TransferConfiguration,
        slots: TransferSlots, nextNumber: @escaping () -> UInt64, send: @escaping (ReplicationMessage, NodeID) -> Void
    ) {
        self.log = log
        self.own = own
        self.storage = storage
        self.loop = loop
        self.configuration = configuration
        self.slots = slots
        self.nextNumber = nextNumber
        self.send = send
    }

    var isComplete: Bool { storage.isHistoryComplete }

    // MARK: - Getting

    /// Every 100 ms.
    func tick() {
        if let effects = current?.sink.tick() { perform(effects) }
        ticksUntilAttempt = max(0, ticksUntilAttempt - 1)
        guard current == nil, ticksUntilAttempt == 0, let missing = storage.missingHistory, !missing.isComplete,
            let node = nextNode(), slots.take()
        else { return }
        attempts += 1
        var sink = BackfillSink(
            group: log.group, transfer: nextNumber(), snapshotIndex: missing.snapshotIndex,
            knownIndex: missing.knownIndex, days: Self.places(missing), configuration: configuration)
        let effects = sink.start()
        current = (sink, node, missing.snapshotIndex)
        perform(effects)
    }

    /// The catalogue has been replaced: what was asked for before is not what is missing now.
    func beginAnew() {
        end()
        attempts = 0
        ticksUntilAttempt = 0
    }

    /// The node is away: the next voter is asked.
    func onNodeLost(_ node: NodeID) {
        guard current?.node == node else { return }
        end()
        ticksUntilAttempt = Self.ticksBetween
    }

    private func end() {
        if current != nil { slots.give() }
        current = nil
    }

    /// The leader first, then the other voters.
    private func nextNode() -> NodeID? {
        let voters = ([log.leader].compactMap { $0 } + log.membership.voters.filter { $0 != log.leader })
            .filter { $0.node != own.text }
        return voters.isEmpty ? nil : NodeID(voters[attempts % voters.count].node)
    }

    private static func places(_ missing: MissingHistory?) -> [(day: Int64, cursor: [UInt8])]? {
        missing?.days.map { days in days.map { ($0.day, $0.cursor?.encoded ?? []) } }
    }

    private func perform(_ effects: [BackfillSink.Effect]) {
        guard let (sink, node, snapshotIndex) = current else { return }
        let number = sink.transfer
        for effect in effects {
            switch effect {
            case .send(let message): send(message, node)
            case .plan(let days):
                let manifest = HistoryManifest(days: days.map { .init(day: $0.day, lastIndex: $0.lastIndex) })
                storage.planBackfill(
                    manifest, snapshotIndex: snapshotIndex,
                    completion: onLoop { [weak self] result in self?.planned(number, result) })
            case .store(let day, let cursor, let bytes, let next):
                do throws(StorageError) {
                    let chunk = HistoryChunk(
                        day: day, after: try place(cursor), bytes: bytes, next: try place(next ?? []))
                    store(chunk, before: next, of: number, snapshotIndex: snapshotIndex)
                } catch {
                    stored(.failure(error), day: day, next: next, of: number)
                }
            case .complete:
                end()
                // The end is told when it is durable; what is missing again then is asked for anew.
                ticksUntilAttempt = Self.ticksBetween
            case .fail:
                end()
                ticksUntilAttempt = Self.ticksBetween
            }
        }
    }

    private func planned(_ number: UInt64, _ result: Result<MissingHistory?, StorageError>) {
        guard current?.sink.transfer == number else { return }
        let effects: [BackfillSink.Effect]? =
            switch result {
            case .success(let missing): current?.sink.planned(Self.places(missing) ?? [])
            case .failure(let error): current?.sink.storingFailed(error.message)
            }
        if let effects { perform(effects) }
    }

    private func store(_ chunk: HistoryChunk, before next: [UInt8]?, of number: UInt64, snapshotIndex: UInt64) {
        let day = chunk.day
        storage.backfill(
            chunk, snapshotIndex: snapshotIndex,
            completion: onLoop { [weak self] result in self?.stored(result, day: day, next: next, of: number) })
    }

    private func stored(
        _ result: Result<MissingHistory?, StorageError>, day: Int64, next: [UInt8]?, of number: UInt64
    ) {
        guard current?.sink.transfer == number else { return }
        let effects: [BackfillSink.Effect]? =
            switch result {
            case .success: current?.sink.stored(day: day, next: next)
            case .failure(let error): current?.sink.storingFailed(error.message)
            }
        if let effects { perform(effects) }
    }

    private func place(_ cursor: [UInt8]) throws(StorageError) -> HistoryCursor? {
        cursor.isEmpty ? nil : try HistoryCursor(decoding: cursor)
    }

    /// Answers of a source.
    func receive(_ message: ReplicationMessage, from node: NodeID) {
        guard current?.node == node, let effects = current?.sink.receive(message) else { return }
        perform(effects)
    }

    // MARK: - Giving

    func giveDays(_ message: ReplicationMessage, atLeast index: UInt64, to node: NodeID) {
        guard reads < Self.readsMax else { return }
        reads += 1
        storage.historyManifest(
            atLeast: index,
            completion: onLoop { [weak self] result in
                self?.answer(
                    message, node,
                    result.map { .days($0.days.map { HistoryDay(day: $0.day, lastIndex: $0.lastIndex) }) })
            })
    }

    func give(_ question: HistoryQuestion, _ message: ReplicationMessage, to node: NodeID) {
        guard reads < Self.readsMax else { return }
        reads += 1
        let cursor: HistoryCursor?
        do throws(StorageError) {
            cursor = try place(question.cursor)
        } catch {
            return answer(message, node, .failure(error))
        }
        storage.historyChunk(
            day: question.day, after: cursor, changedAfter: question.changedAfter, atLeast: question.index,
            bytesMax: TransferConfiguration.chunkBytesMax,
            completion: onLoop { [weak self] result in
                self?.answer(
                    message, node,
                    result.map {
                        .history(HistoryPart(answering: question, chunk: $0.bytes, next: $0.next?.encoded))
                    })
            })
    }

    private func answer(
        _ message: ReplicationMessage, _ node: NodeID, _ result: Result<ReplicationMessage.Body, StorageError>
    ) {
        reads -= 1
        let body: ReplicationMessage.Body =
            switch result {
            case .success(let body): body
            case .failure(let error): .abort(ReplicationError(source: error))
            }
        send(ReplicationMessage(group: log.group, transfer: message.transfer, body), node)
    }

    private func onLoop<Value: Sendable>(
        _ completion: @escaping (Result<Value, StorageError>) -> Void
    ) -> @Sendable (Result<Value, StorageError>) -> Void {
        let loop = loop
        let box = LoopBound(onLoop: completion, loop: loop)
        return { result in loop.execute { box.value(result) } }
    }
}
