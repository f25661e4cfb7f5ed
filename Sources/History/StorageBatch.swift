import ChatModel

/// One row of a shard's catalogue, or its removal.
public struct CatalogueRow: Sendable, Hashable {
    public var room: RoomID
    /// Which life of the room the row belongs to.
    public var incarnation: Incarnation
    /// `CatalogueKind.rawValue`.
    public var kind: UInt8
    public var key: String
    /// Opaque here; nil removes the row.
    public var value: [UInt8]?
    /// When the room must be given an `expire` because of this row.
    public var deadline: Timestamp?
    /// The log entry that made this change.
    public var index: UInt64

    public init(
        room: RoomID, incarnation: Incarnation, kind: UInt8, key: String, value: [UInt8]?, deadline: Timestamp? = nil,
        index: UInt64
    ) {
        self.room = room
        self.incarnation = incarnation
        self.kind = kind
        self.key = key
        self.value = value
        self.deadline = deadline
        self.index = index
    }
}

extension CatalogueRow {
    /// Whether the row is that of a life of the room, which has history: of a room, or of one that was deleted and can
    /// be had back. There is one of these at most.
    var isOfLife: Bool { kind == CatalogueKind.room.rawValue || kind == CatalogueKind.deletedRoom.rawValue }
}

/// One kept message. Within an incarnation, `time` must not fall while `seq` grows.
public struct HistoryRow: Sendable, Hashable {
    public var incarnation: Incarnation
    public var seq: UInt64
    /// The log entry that changed the row last.
    public var index: UInt64
    public var time: Timestamp
    /// The type of the message, for filters.
    public var type: Int
    public var sender: String?
    /// The command that made it, for retries.
    public var command: CommandKey?
    /// The message, opaque here.
    public var payload: [UInt8]
    /// Further content, opaque here and kept apart: it goes with the recall. Only who asks for it is given it.
    public var copies: [UInt8]?
    public var recalled: Bool
    /// Takes the place of a row that is there, as its message was amended: the row's command and copies stay. Not kept.
    public var isAmendment = false
    /// Which file it is in: the same for all of a room's messages of one day. Not in the file itself.
    public var life = HistoryLife.standard
}

extension HistoryRow {
    /// In an extension, so that it may begin with all properties at once: a large value that is filled in one by one is copied
    /// when it is returned.
    public init(
        incarnation: Incarnation, seq: UInt64, index: UInt64, time: Timestamp, type: Int, sender: String?,
        command: CommandKey?, payload: [UInt8], copies: [UInt8]? = nil, recalled: Bool = false
    ) {
        self.init(
            incarnation: incarnation, seq: seq, index: index, time: time, type: type, sender: sender, command: command,
            payload: payload, copies: copies, recalled: recalled, isAmendment: false)
    }
}

/// The recall of a kept message: its row stays and loses its body.
public struct Erasure: Sendable, Hashable {
    public var incarnation: Incarnation
    public var seq: UInt64
    /// The UTC day of the message.
    public var day: Int64
    /// The log entry of the recall.
    public var index: UInt64
    /// The payload from here on; nil: `StorageConfiguration.erased` of what is there.
    public var replacement: [UInt8]?
    /// As in the message's row.
    public var life = HistoryLife.standard

    public init(
        incarnation: Incarnation, seq: UInt64, day: Int64, index: UInt64, replacement: [UInt8]? = nil,
        life: HistoryLife = .standard
    ) {
        self.life = life
        self.incarnation = incarnation
        self.seq = seq
        self.day = day
        self.index = index
        self.replacement = replacement
    }
}

extension HistoryRow {
    var file: HistoryFile { HistoryFile(day: time.day, life: life) }
}

extension Erasure {
    var file: HistoryFile { HistoryFile(day: day, life: life) }
}

/// The end of a room's life: its catalogue rows go.
public struct RetiredRoom: Sendable, Hashable {
    public var room: RoomID
    public var incarnation: Incarnation

    public init(room: RoomID, incarnation: Incarnation) {
        self.room = room
        self.incarnation = incarnation
    }
}

/// The changes of an applied run of log entries.
public struct StorageBatch: Sendable {
    /// The last of the entries. The catalogue is always on disk as of some batch's end.
    public var appliedIndex: UInt64
    public var catalogue: [CatalogueRow] = []
    public var history = HistoryRows()
    /// After `history`.
    public var erasures: [Erasure] = []
    /// After `catalogue`; only rows of that incarnation go.
    public var retired: [RetiredRoom] = []
    /// On a storage thread, when the history rows are in their files (not synced) and reads see the batch.
    public var onWritten: (@Sendable () -> Void)?

    public init(appliedIndex: UInt64) { self.appliedIndex = appliedIndex }

    /// An empty one, with memory for as much history as the one before had, up to `historyBytesKept`.
    public init(after batch: StorageBatch) {
        self.init(appliedIndex: 0)
        history = HistoryRows(bytes: min(batch.history.bytes.count, Self.historyBytesKept))
    }

    /// Each shard has such a batch, also one that rests after much came at once. Beyond, the memory grows as it is used.
    private static let historyBytesKept = 64 << 10

    /// Roughly what it occupies while it waits.
    var bytes: Int {
        let catalogueBytes = catalogue.reduce(0) { $0 + 160 + $1.key.utf8.count + ($1.value?.count ?? 0) }
        let erasureBytes = erasures.reduce(0) { $0 + 64 + ($1.replacement?.count ?? 0) }
        return 128 + catalogueBytes + history.bytes.count + erasureBytes + 96 * retired.count
    }
}
