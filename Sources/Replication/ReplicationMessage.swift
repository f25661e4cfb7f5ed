import ChatModel
import Consensus
import Wire

/// A message between two replicas of a group that brings one of them up to date; on the bulk lane of the link. Any
/// message may be lost with the connection; receivers ask again.
public struct ReplicationMessage: Sendable, Hashable {
    public enum Body: Sendable, Hashable {
        // The state machine's state as one stream of bytes: a shard's catalogue, or the system group's state.

        /// Receiver: give me a snapshot of the state after `index` or later, chunks from `next` up to and without
        /// `end`; those before `next` have come. `isRepeat`: those that were sent already may be lost.
        case askSnapshot(index: UInt64, next: UInt32, end: UInt32, isRepeat: Bool)
        /// Source, before chunk 0: what the snapshot is called.
        case beginSnapshot(SnapshotMark)
        /// Source: chunks in order; all of them but the last have `TransferConfiguration.chunkBytesMax` bytes.
        case snapshotChunk(number: UInt32, [UInt8])
        /// Source, behind the last chunk: how many there were, and the checksum over all bytes.
        case endSnapshot(chunks: UInt32, checksum: UInt64)

        // A shard's history, day by day. Every question stands alone, so any source can answer any of them.

        /// Receiver: which days are there? The source must have applied `index`.
        case askDays(index: UInt64)
        /// Source: the days.
        case days([HistoryDay])
        /// Receiver: a part of what follows a place in a day.
        case askHistory(HistoryQuestion)
        /// Source: the answer to that.
        case history(HistoryPart)

        /// To the group's leader, once a second and of no transfer: the replica with this store has all history up to
        /// this entry.
        case complete(store: UInt64, index: UInt64)

        /// Either side: the transfer is over.
        case abort(ReplicationError)
    }

    /// The group that it is about.
    public var group: GroupID
    /// The receiver's number of the transfer, unique in its process; answers repeat it.
    public var transfer: UInt64
    public var body: Body

    public init(group: GroupID, transfer: UInt64, _ body: Body) {
        self.group = group
        self.transfer = transfer
        self.body = body
    }
}

/// A day of history at a source.
public struct HistoryDay: Sendable, Hashable {
    /// Counted from 1970-01-01, UTC.
    public var day: Int64
    /// No log entry after this one has changed anything in it.
    public var lastIndex: UInt64

    public init(day: Int64, lastIndex: UInt64) {
        self.day = day
        self.lastIndex = lastIndex
    }
}

/// A question for rows of a day.
public struct HistoryQuestion: Sendable, Hashable {
    public var day: Int64
    /// Behind which place; opaque here, empty: from the day's beginning.
    public var cursor: [UInt8]
    /// Rows that no later entry has changed are not wanted.
    public var changedAfter: UInt64
    /// The source must have applied this.
    public var index: UInt64
    /// From which byte of the answer on: a chunk that is over the bound of a message comes in parts.
    public var offset: UInt64

    public init(day: Int64, cursor: [UInt8], changedAfter: UInt64, index: UInt64, offset: UInt64 = 0) {
        self.day = day
        self.cursor = cursor
        self.changedAfter = changedAfter
        self.index = index
        self.offset = offset
    }
}

/// A part of a chunk of a day's rows.
public struct HistoryPart: Sendable, Hashable {
    public var day: Int64
    /// As in the question.
    public var cursor: [UInt8]
    public var offset: UInt64
    /// The size of the whole chunk.
    public var total: UInt64
    /// The checksum of the whole chunk: parts with different ones are of different states.
    public var checksum: UInt64
    public var bytes: [UInt8]
    /// Where the next chunk begins; nil: this was the day's last.
    public var next: [UInt8]?

    public init(
        day: Int64, cursor: [UInt8], offset: UInt64, total: UInt64, checksum: UInt64, bytes: [UInt8], next: [UInt8]?
    ) {
        self.day = day
        self.cursor = cursor
        self.offset = offset
        self.total = total
        self.checksum = checksum
        self.bytes = bytes
        self.next = next
    }

    /// The answer of a source: the part of `chunk` that was asked for.
    ///
    /// - Parameters:
    ///   - chunk: all rows' bytes that storage gave for the question.
    ///   - next: where storage says that the next chunk begins.
    public init(answering question: HistoryQuestion, chunk: [UInt8], next: [UInt8]?) {
        let offset = min(Int(clamping: question.offset), chunk.count)
        let end = min(chunk.count, offset + TransferConfiguration.chunkBytesMax)
        self.init(
            day: question.day, cursor: question.cursor, offset: UInt64(offset), total: UInt64(chunk.count),
            checksum: TransferChecksum(of: chunk).value, bytes: Array(chunk[offset..<end]), next: next)
    }
}
