import Consensus

/// Getting the history that a replica lacks, as a value: a few days at the same time, of each one chunk after the
/// other. Stored records stay; after a restart another sink goes on from the cursors that storage has kept.
public struct BackfillSink: Sendable {
    /// An action for the host, in order.
    public enum Effect: Sendable, Hashable {
        /// To the source.
        case send(ReplicationMessage)
        /// Note which days there are to get, then call `planned` once.
        case plan([HistoryDay])
        /// Store rows of a day, then call `stored` once.
        case store(day: Int64, cursor: [UInt8], bytes: [UInt8], next: [UInt8]?)
        /// Everything is stored. This sink is over.
        case complete
        /// It can't go on with this source. This sink is over; another may go on, with this source or another.
        case fail(ReplicationError)
    }

    private struct Day: Sendable {
        var day: Int64
        /// Behind which place; empty: from the beginning.
        var cursor: [UInt8]
        /// Parts of the next chunk.
        var bytes: [UInt8] = []
        var checksum: UInt64 = 0
        var isAsked = false
        var isStoring = false
        var silentTicks = 0
        var repetitions = 0
    }

    public let group: GroupID
    public let transfer: UInt64
    private let snapshotIndex: UInt64
    private let knownIndex: UInt64
    private let configuration: TransferConfiguration
    /// nil until it is known which.
    private var days: [Day]?
    private var isPlanning = false
    private var silentTicks = 0
    private var repetitions = 0
    public private(set) var isOver = false

    /// - Parameters:
    ///   - transfer: a number that no other transfer of this process has.
    ///   - snapshotIndex: as of which entry the catalogue was installed: the source must have applied it.
    ///   - knownIndex: rows that no later entry has changed are here.
    ///   - days: the days that lack something, and behind which place; nil: not known.
    public init(
        group: GroupID, transfer: UInt64, snapshotIndex: UInt64, knownIndex: UInt64,
        days: [(day: Int64, cursor: [UInt8])]?, configuration: TransferConfiguration
    ) {
        self.group = group
        self.transfer = transfer
        self.snapshotIndex = snapshotIndex
        self.knownIndex = knownIndex
        self.configuration = configuration
        self.days = days.map { $0.map { Day(day: $0.day, cursor: $0.cursor) } }
    }

    /// The first questions. To be called once.
    public mutating func start() -> [Effect] { days == nil ? [askDays()] : askMore() }

    /// A message from the source; those of other transfers do nothing.
    public mutating func receive(_ message: ReplicationMessage) -> [Effect] {
        guard message.group == group, message.transfer == transfer, !isOver else { return [] }
        switch message.body {
        case .days(let list):
            guard days == nil, !isPlanning else { return [] }
            isPlanning = true
            return [.plan(list)]
        case .history(let part): return take(part)
        case .abort(let error): return fail(error)
        case .askSnapshot, .beginSnapshot, .snapshotChunk, .endSnapshot, .askDays, .askHistory, .complete: return []
        }
    }

    /// The host has noted the days; these lack something.
    public mutating func planned(_ days: [(day: Int64, cursor: [UInt8])]) -> [Effect] {
        guard isPlanning, !isOver else { return [] }
        isPlanning = false
        self.days = days.map { Day(day: $0.day, cursor: $0.cursor) }
        return askMore()
    }

    private mutating func take(_ part: HistoryPart) -> [Effect] {
        guard let position = days?.firstIndex(where: { $0.day == part.day }), var day = days?[position],
            // An answer that comes twice is of an older place or offset.
            day.isAsked, day.cursor == part.cursor
        else { return [] }
        guard part.total <= UInt64(TransferConfiguration.historyChunkBytesMax),
            part.bytes.count <= TransferConfiguration.chunkBytesMax
        else {
            return fail(ReplicationError(.malformed, "a chunk of history has \(part.total) bytes"))
        }
        if part.offset > 0, part.checksum != day.checksum {
            // A row has changed between two parts: the chunk begins anew.
            guard part.offset == UInt64(day.bytes.count) else { return [] }
            day.bytes = []
            days?[position] = day
            return [ask(day)]
        }
        guard part.offset == UInt64(day.bytes.count) else { return [] }
        (day.silentTicks, day.repetitions) = (0, 0)
        day.checksum = part.checksum
        day.bytes += part.bytes
        if UInt64(day.bytes.count) < part.total {
            guard !part.bytes.isEmpty else {
                return fail(ReplicationError(.malformed, "a part of a chunk of history is empty"))
            }
            days?[position] = day
            return [ask(day)]
        }
        guard UInt64(day.bytes.count) == part.total, TransferChecksum(of: day.bytes).value == part.checksum else {
            return fail(ReplicationError(.malformed, "a chunk of history is not what the source has sent"))
        }
        guard part.next != part.cursor, part.next?.isEmpty != true else {
            return fail(ReplicationError(.malformed, "a chunk of history ends where it begins"))
        }
        let bytes = day.bytes
        (day.bytes, day.isAsked, day.isStoring) = ([], false, true)
        days?[position] = day
        return [.store(day: day.day, cursor: day.cursor, bytes: bytes, next: part.next)]
    }

    /// The host has stored a day's rows up to `next`, nil: to the day's end.
    public mutating func stored(day: Int64, next: [UInt8]?) -> [Effect] {
        guard !isOver, let position = days?.firstIndex(where: { $0.day == day && $0.isStoring }) else { return [] }
        guard let next else {
            days?.remove(at: position)
            return askMore()
        }
        days?[position] = Day(day: day, cursor: next)
        return askMore()
    }

    /// The host could not store it.
    public mutating func storingFailed(_ reason: String) -> [Effect] {
        isOver ? [] : fail(ReplicationError(.receiver, reason))
    }

    /// To be called every 100 ms.
    public mutating func tick() -> [Effect] {
        guard !isOver, !isPlanning else { return [] }
        guard var list = days else {
            silentTicks += 1
            guard silentTicks >= configuration.ticksUntilRepeat else { return [] }
            silentTicks = 0
            repetitions += 1
            return repetitions > configuration.repetitionsMax ? timeOut() : [askDays()]
        }
        var effects: [Effect] = []
        for position in list.indices where list[position].isAsked {
            list[position].silentTicks += 1
            guard list[position].silentTicks >= configuration.ticksUntilRepeat else { continue }
            list[position].silentTicks = 0
            list[position].repetitions += 1
            if list[position].repetitions > configuration.repetitionsMax { return timeOut() }
            effects.append(ask(list[position]))
        }
        days = list
        return effects
    }

    private mutating func timeOut() -> [Effect] {
        fail(ReplicationError(.timedOut, "the source of history has been silent for too long"))
    }

    private mutating func fail(_ error: ReplicationError) -> [Effect] {
        isOver = true
        return [.fail(error)]
    }

    /// Asks for days until enough are under way, the newest first: they are read most.
    private mutating func askMore() -> [Effect] {
        guard var list = days else { return [] }
        guard !list.isEmpty else {
            isOver = true
            return [.complete]
        }
        var underWay = list.count { $0.isAsked || $0.isStoring }
        var effects: [Effect] = []
        let newestFirst = list.indices.sorted { list[$0].day > list[$1].day }
        for position in newestFirst where !list[position].isAsked && !list[position].isStoring {
            guard underWay < configuration.daysUnderWayMax else { break }
            underWay += 1
            list[position].isAsked = true
            effects.append(ask(list[position]))
        }
        days = list
        return effects
    }

    private func askDays() -> Effect {
        .send(ReplicationMessage(group: group, transfer: transfer, .askDays(index: snapshotIndex)))
    }

    private func ask(_ day: Day) -> Effect {
        .send(
            ReplicationMessage(
                group: group, transfer: transfer,
                .askHistory(
                    HistoryQuestion(
                        day: day.day, cursor: day.cursor, changedAfter: knownIndex, index: snapshotIndex,
                        offset: UInt64(day.bytes.count)))))
    }
}
