import Consensus

/// The receiving side of a snapshot, as a value. It asks for a few chunks at a time, and for more as they are stored.
///
/// Can transition: asking to receiving to installing to over; from each to over by a failure.
public struct SnapshotSink: Sendable {
    /// An action for the host, in order.
    public enum Effect: Sendable, Hashable {
        /// To the source.
        case send(ReplicationMessage)
        /// Begin to receive the state that the mark names, then call `stored` once.
        case begin(SnapshotMark)
        /// Store the next bytes of the state, then call `stored` once.
        case store([UInt8])
        /// All has been stored: put it in place, durably. This sink is over.
        case install(SnapshotMark)
        /// Give up what was stored. This sink is over; another may be begun, of this source or another.
        case fail(ReplicationError)
    }

    private enum Phase: Sendable, Hashable {
        case asking
        case receiving(SnapshotMark)
        case over
    }

    public let group: GroupID
    public let transfer: UInt64
    private let index: UInt64
    private let configuration: TransferConfiguration
    private var phase = Phase.asking
    /// The chunk that must come next.
    private var next: UInt32 = 0
    /// Given to the host and not stored yet, the beginning included.
    private var storing: UInt32 = 0
    private var checksum = TransferChecksum()
    /// The end is known: so many chunks.
    private var chunks: UInt32?
    /// Since the source was heard or the host has stored something.
    private var silentTicks = 0
    private var repetitions = 0

    /// - Parameters:
    ///   - transfer: a number that no other transfer of this process has.
    ///   - index: of the snapshot that the leader offered: what comes may be newer, never older.
    public init(group: GroupID, transfer: UInt64, index: UInt64, configuration: TransferConfiguration) {
        self.group = group
        self.transfer = transfer
        self.index = index
        self.configuration = configuration
    }

    /// The first question. To be called once.
    public func start() -> [Effect] { [ask(isRepeat: false)] }

    public var isOver: Bool { phase == .over }

    /// A message from the source; those of other transfers do nothing.
    public mutating func receive(_ message: ReplicationMessage) -> [Effect] {
        guard message.group == group, message.transfer == transfer, phase != .over else { return [] }
        silentTicks = 0
        switch message.body {
        case .beginSnapshot(let mark): return begin(mark)
        case .snapshotChunk(let number, let bytes): return take(number, bytes)
        case .endSnapshot(let chunks, let sum): return end(chunks, sum)
        case .abort(let error): return fail(error, tellsSource: false)
        case .askSnapshot, .askDays, .days, .askHistory, .history, .complete: return []
        }
    }

    private mutating func begin(_ mark: SnapshotMark) -> [Effect] {
        guard phase == .asking else { return [] }
        guard mark.index >= index else {
            return fail(ReplicationError(.behind, "a snapshot as of \(mark.index) came for \(index)"))
        }
        // Before anything is replaced: the log would not go on from there.
        guard mark.term <= RaftGroup.termMax else {
            return fail(ReplicationError(.malformed, "a snapshot of term \(mark.term), which no election leads to"))
        }
        phase = .receiving(mark)
        repetitions = 0
        storing += 1
        return [.begin(mark)]
    }

    private mutating func take(_ number: UInt32, _ bytes: [UInt8]) -> [Effect] {
        // A chunk that comes twice, or behind a gap: a repetition brings the one that is missing.
        guard case .receiving = phase, number == next, chunks == nil else { return [] }
        guard !bytes.isEmpty, bytes.count <= TransferConfiguration.chunkBytesMax, number < .max,
            storing <= configuration.chunksUnderWayMax
        else { return fail(ReplicationError(.malformed, "chunk \(number) has \(bytes.count) bytes")) }
        next += 1
        repetitions = 0
        storing += 1
        checksum.add(bytes)
        return [.store(bytes)]
    }

    private mutating func end(_ chunks: UInt32, _ sum: UInt64) -> [Effect] {
        guard case .receiving = phase, self.chunks == nil, chunks == next else { return [] }
        guard sum == checksum.value else {
            return fail(ReplicationError(.malformed, "a snapshot's bytes are not what the source has sent"))
        }
        self.chunks = chunks
        return installIfStored()
    }

    private mutating func installIfStored() -> [Effect] {
        guard case .receiving(let mark) = phase, chunks != nil, storing == 0 else { return [] }
        phase = .over
        return [.install(mark)]
    }

    /// The host has stored what the oldest effect said.
    public mutating func stored() -> [Effect] {
        guard phase != .over, storing > 0 else { return [] }
        storing -= 1
        silentTicks = 0
        return chunks == nil ? [ask(isRepeat: false)] : installIfStored()
    }

    /// The host could not store it.
    public mutating func storingFailed(_ reason: String) -> [Effect] {
        guard phase != .over else { return [] }
        return fail(ReplicationError(.receiver, reason))
    }

    /// To be called every 100 ms.
    public mutating func tick() -> [Effect] {
        // While the host stores, the source is not asked; storing ends by itself.
        guard phase != .over, storing == 0 else { return [] }
        silentTicks += 1
        guard silentTicks >= configuration.ticksUntilRepeat else { return [] }
        silentTicks = 0
        repetitions += 1
        guard repetitions <= configuration.repetitionsMax else {
            return fail(ReplicationError(.timedOut, "the source of a snapshot has been silent for too long"))
        }
        return [ask(isRepeat: true)]
    }

    private func ask(isRepeat: Bool) -> Effect {
        let stored = next - min(next, storing)
        let (end, overflow) = stored.addingReportingOverflow(configuration.chunksUnderWayMax)
        return .send(
            ReplicationMessage(
                group: group, transfer: transfer,
                .askSnapshot(index: index, next: next, end: overflow ? .max : end, isRepeat: isRepeat)))
    }

    private mutating func fail(_ error: ReplicationError, tellsSource: Bool = true) -> [Effect] {
        phase = .over
        let abort = Effect.send(ReplicationMessage(group: group, transfer: transfer, .abort(error)))
        return (tellsSource ? [abort] : []) + [.fail(error)]
    }
}
