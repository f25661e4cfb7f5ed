/// A room's debt to the app's webhook: durable, so that nothing is forgotten over restart and failover.
///
/// There is a row of it only while something is missing, so the rooms that owe something are found without looking at
/// all rooms. It outlives the room's deletion.
public struct WebhookRecord: Sendable, Hashable {
    /// The first kept message that has not been delivered; 0: all are.
    public var firstSeq: UInt64 = 0
    /// When that was accepted, or the message delivered before it.
    public var since = Timestamp(0)
    /// Openings and closings that have not been delivered, oldest first, at most `eventsMax`; and messages that were held
    /// before the cluster's level brought them rows of their own, at most `heldMax`.
    public var events: [RoomLifeEvent] = []
    /// How many older ones, and reports, were forgotten at their bounds, or with their room.
    public var forgotten: Int64 = 0
    /// How many of these the webhook has been told of. Both only grow while anything is owed, so that a delivery that is written
    /// down twice counts once.
    public var toldForgotten: Int64 = 0
    /// The log entry with which both began to be counted; 0: nothing is counted.
    public var forgottenFrom: UInt64 = 0
    /// The log entry of the first report that has not been delivered; 0: all are.
    public var firstReport: UInt64 = 0
    /// The log entry of the first `.owedHeld` row; 0: there is none.
    public var firstHeld: UInt64 = 0

    /// At the bound the oldest is forgotten and counted: the newest tell how the room stands.
    public static let eventsMax = 64
    /// As many as may wait at a time.
    public static let heldMax = Limits.heldMessages

    public init() {}

    public var isEmpty: Bool {
        firstSeq == 0 && events.isEmpty && forgotten <= toldForgotten && firstReport == 0 && firstHeld == 0
    }
}

/// That a room was opened or closed, or a message held, which has no seq of its own.
public struct RoomLifeEvent: Sendable, Hashable {
    public enum Kind: String, Sendable, Hashable, CaseIterable {
        case created = "CREATED"
        case reopened = "REOPENED"
        case closed = "CLOSED"
        case deleted = "DELETED"
        case undeleted = "UNDELETED"
        /// A message waits for managers.
        case held = "HELD"
    }

    public var kind: Kind
    /// The log entry that did it: its name within the shard.
    public var index: UInt64
    /// The last seq before it in its life of the room; 0 where that has ended and `life` does not tell which it was.
    public var after: UInt64
    public var time: Timestamp
    /// For a deletion: messages that had not been delivered when the room went; 0 and 0: none. They are delivered while
    /// history has them, if `life` tells which ones they are; else they are lost.
    public var lostFrom: UInt64 = 0
    public var lostTo: UInt64 = 0
    /// The life of the room that it belongs to, once that has ended.
    public var life: Incarnation?

    /// The life of events whose life has ended and is not known. No life has this number.
    public static let unknownLife = Incarnation(0)
    /// Whether `lostFrom` and `lostTo` can't be delivered any more.
    public var isLoss: Bool { lostFrom > 0 && (life ?? Self.unknownLife) == Self.unknownLife }
    /// The messages between `lostFrom` and `lostTo` that can; nil: none.
    public var owedMessages: ClosedRange<UInt64>? {
        lostFrom > 0 && lostFrom <= lostTo && !isLoss ? lostFrom...lostTo : nil
    }

    public init(kind: Kind, index: UInt64, after: UInt64, time: Timestamp) {
        self.kind = kind
        self.index = index
        self.after = after
        self.time = time
    }
}

/// How far the webhook has got in one room.
public struct WebhookProgress: Sendable, Hashable {
    /// Which life of the room `seq` belongs to.
    public var incarnation: Incarnation
    /// Messages up to here are delivered; 0: none were.
    public var seq: UInt64
    /// When the last of them was accepted.
    public var time: Timestamp
    /// Openings, closings and reports up to this log entry are delivered; 0: none were.
    public var eventIndex: UInt64
    /// ``WebhookRecord/forgotten`` as it was told; nil: a leader of before has told all with the first event.
    public var forgotten: Int64?
    /// ``WebhookRecord/forgottenFrom`` then: of another count it says nothing.
    public var forgottenFrom: UInt64 = 0

    public init(
        incarnation: Incarnation, seq: UInt64 = 0, time: Timestamp = Timestamp(0), eventIndex: UInt64 = 0,
        forgotten: Int64? = nil, forgottenFrom: UInt64 = 0
    ) {
        self.incarnation = incarnation
        self.seq = seq
        self.time = time
        self.eventIndex = eventIndex
        self.forgotten = forgotten
        self.forgottenFrom = forgottenFrom
    }

    /// All that was forgotten by now is told with it.
    public mutating func noteForgotten(of record: WebhookRecord?) {
        (forgotten, forgottenFrom) = (record?.forgotten ?? 0, record?.forgottenFrom ?? 0)
    }

    /// It tells no more of what was forgotten than the one before it.
    public mutating func noteForgotten(as other: WebhookProgress) {
        (forgotten, forgottenFrom) = (other.forgotten, other.forgottenFrom)
    }
}
