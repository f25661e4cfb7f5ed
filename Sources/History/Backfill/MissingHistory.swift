import ChatModel
import Wire

/// The part of its shard's history that a replica lacks after it installed a snapshot. It stands in the catalogue, from
/// the step on that puts the snapshot there, until everything has come.
///
/// Entries after the snapshot bring their rows by themselves, whatever day they belong to; so what is missing are rows
/// that were last changed after `knownIndex` and not after `snapshotIndex`. A source that has applied the snapshot's
/// index has all of them, or newer states of them, which the log brings again later.
public struct MissingHistory: Sendable, Hashable {
    public struct Day: Sendable, Hashable {
        public var day: Int64
        /// Everything before this place is here; nil: nothing yet.
        public var cursor: HistoryCursor?

        public init(day: Int64, cursor: HistoryCursor? = nil) {
            self.day = day
            self.cursor = cursor
        }
    }

    /// As of which log entry the catalogue was installed: a source must have applied it.
    public var snapshotIndex: UInt64
    /// Rows that no later entry has changed are here.
    public var knownIndex: UInt64
    /// Oldest first; nil until a source's manifest was seen (`ShardStorage.planBackfill`).
    public var days: [Day]?

    public init(snapshotIndex: UInt64, knownIndex: UInt64, days: [Day]? = nil) {
        self.snapshotIndex = snapshotIndex
        self.knownIndex = knownIndex
        self.days = days
    }

    /// Nothing is missing any more.
    public var isComplete: Bool { days?.isEmpty == true }

    /// - Parameters:
    ///   - index: of the snapshot.
    ///   - known: what was applied here before; its history is here, except for what `before` says.
    static func after(install index: UInt64, over known: UInt64, before: MissingHistory?) -> MissingHistory? {
        let known = min(known, before?.knownIndex ?? known)
        // Places in days are void: what is before them may have been changed by entries that are skipped now.
        return known < index ? MissingHistory(snapshotIndex: index, knownIndex: known) : nil
    }

    /// Notes which days to get; nothing when that is known.
    mutating func plan(_ manifest: HistoryManifest) {
        guard days == nil else { return }
        days = manifest.days.filter { $0.lastIndex > knownIndex }.map { Day(day: $0.day) }.sorted { $0.day < $1.day }
    }

    /// Notes that a day is here from `cursor` up to `next`, or to its end. False when what is before `cursor` is not.
    mutating func advance(_ day: Int64, from cursor: HistoryCursor?, to next: HistoryCursor?) -> Bool {
        guard let position = days?.firstIndex(where: { $0.day == day }), days?[position].cursor == cursor else {
            return false
        }
        if let next { days?[position].cursor = next } else { days?.remove(at: position) }
        return true
    }
}

extension MissingHistory {
    var encoded: [UInt8] { WireProtobuf.encode(WiredMissing(missing: self)) }

    /// Throws `.corrupt`.
    init(decoding bytes: [UInt8]) throws(StorageError) {
        do throws(ChatError) {
            self = try WireProtobuf.decode(WiredMissing.self, from: bytes, limits: false).missing
        } catch {
            throw StorageError(.corrupt, "the note of missing history can't be read: \(error.message)")
        }
    }
}

private struct WiredMissing: WireMessage {
    var missing: MissingHistory

    static var blank: WiredMissing { WiredMissing(missing: MissingHistory(snapshotIndex: 0, knownIndex: 0)) }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var isPlanned = missing.days != nil
        var days = (missing.days ?? []).map(WiredDay.init)
        try walker.shown(1, "snapshotIndex", &missing.snapshotIndex)
        try walker.shown(2, "knownIndex", &missing.knownIndex)
        try walker.defaulted(3, "isPlanned", &isPlanned, default: false)
        try walker.repeated(4, "days", &days, itemsMax: Limits.historyFilesPerShard)
        if W.isDecoding { missing.days = isPlanned ? days.map(\.day) : nil }
    }
}

private struct WiredDay: WireMessage {
    var day: MissingHistory.Day

    static var blank: WiredDay { WiredDay(day: MissingHistory.Day(day: 0)) }

    init(day: MissingHistory.Day) { self.day = day }

    mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var cursor = day.cursor?.encoded
        try walker.shown(1, "day", &day.day)
        try walker.optional(2, "cursor", &cursor)
        guard W.isDecoding, let cursor else { return }
        do throws(StorageError) {
            day.cursor = try HistoryCursor(decoding: cursor)
        } catch {
            throw ChatError(.malformed, error.message)
        }
    }
}
