import ChatModel

/// Notes that the replay of a room's stream needs beside the messages, and is compared with.
///
/// Each list is bounded by `itemsMax`; what comes beyond is not compared, and counted.
package struct ReplayNotes: Sendable {
    /// A change of the queue that a bot has asked for; its value is found in the notification.
    package enum SeatState: Hashable, Sendable {
        /// It may appear, once. Can transition to: `acked`, `refused`.
        case unanswered
        /// Answered with the element as it was made. Final. `setMany` answers no versions.
        case acked(QueueElement?)
        /// It must not appear. Final.
        case refused
    }

    struct SeatWrite: Sendable {
        let key: String
        let owner: UserID
        var state = SeatState.unanswered
        /// How often the stream has it.
        var appearances = 0
    }

    /// An answer with an error.
    struct Refusal: Sendable {
        let user: UserID
        let code: ErrorCode
        let what: String
        /// The bot's place in the stream when it asked.
        let from: UInt64
        /// A message of the bot that was refused, by its n; what it sent later and was acked bounds the time.
        let n: Int?
        /// With 409: the key and the version that it was not.
        let version: QueueVersion?
    }

    package struct QueueVersion: Sendable, Hashable {
        package let key: String
        package let version: Int64

        package init(key: String, version: Int64) {
            self.key = key
            self.version = version
        }
    }

    /// How a bot was away before an entry.
    package enum Absence: Hashable, Sendable {
        /// It had left with `exit`, or had been put out: its transient elements went at once.
        case left
        /// The connection was lost; milliseconds until it was back, and its place in the stream before.
        case dropped(milliseconds: UInt64, from: UInt64)
    }

    struct Entry: Sendable {
        let viewer: RoomLedger.Viewer
        let user: UserID
        let seq: UInt64
        let absence: Absence?
    }

    struct Place: Sendable {
        let claim: Claim
        let after: UInt64
        let time: Timestamp
    }

    package static let itemsMax = 200_000

    private(set) var events: [UInt64: (event: RoomEvent, time: Timestamp)] = [:]
    private(set) var queueAnswers: [(viewer: RoomLedger.Viewer, answer: QueueAnswer)] = []
    private(set) var refusals: [Refusal] = []
    private(set) var entries: [Entry] = []
    private(set) var unkept: [Claim: Place] = [:]
    private(set) var unnoted: UInt64 = 0
    var writes: [String: SeatWrite] = [:]
    /// Values that `queueTake` gave to somebody.
    var taken: [String: Int] = [:]
    /// How often each viewer was told `kicked`.
    var kicksTold: [UserID: Int] = [:]
    /// The newest version of each key that anybody was told, for bots that ask with `ifVersion`.
    private(set) var versions: [String: Int64] = [:]
    private(set) var queueEventCount: UInt64 = 0
    private(set) var sanctionCount: UInt64 = 0
    var writeCount: UInt64 { UInt64(writes.count) }

    mutating func note(_ event: RoomEvent, _ sighting: KeptSighting) {
        guard event.isReplayed else { return }
        switch event {
        case .queueChanged(let change, let element):
            queueEventCount += 1
            if let element { versions[element.key] = change == .poll ? 0 : element.version }
        case .queueBatchChanged(let change, let elements):
            queueEventCount += 1
            for element in elements { versions[element.key] = change == .partClear ? 0 : element.version }
        default: sanctionCount += 1
        }
        guard events.count < Self.itemsMax else { return unnoted += 1 }
        events[sighting.seq] = (event, sighting.time)
    }

    mutating func note(unkept claim: Claim, _ sighting: UnkeptSighting) {
        guard unkept[claim] == nil else { return }
        guard unkept.count < Self.itemsMax else { return unnoted += 1 }
        unkept[claim] = Place(claim: claim, after: sighting.after, time: sighting.time)
    }

    mutating func note(_ answer: QueueAnswer, _ viewer: RoomLedger.Viewer) {
        guard queueAnswers.count < Self.itemsMax else { return unnoted += 1 }
        queueAnswers.append((viewer, answer))
    }

    mutating func note(_ refusal: Refusal) {
        guard refusals.count < Self.itemsMax else { return unnoted += 1 }
        refusals.append(refusal)
    }

    mutating func note(_ entry: Entry) {
        guard entries.count < Self.itemsMax else { return unnoted += 1 }
        entries.append(entry)
    }
}
