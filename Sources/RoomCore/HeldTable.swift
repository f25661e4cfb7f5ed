import ChatModel

/// Messages that wait for a manager (PROTOCOL.md, "Held messages"): at most `Limits.heldMessages`.
struct HeldTable: Sendable {
    /// The order of holding.
    struct Place: Sendable, Hashable, Comparable {
        var index: UInt64
        var id: String

        static func < (a: Place, b: Place) -> Bool { (a.index, a.id) < (b.index, b.id) }
    }

    /// When somebody else than a manager decides.
    struct Deadline: Sendable, Hashable, Comparable {
        var time: Timestamp
        var place: Place

        static func < (a: Deadline, b: Deadline) -> Bool { (a.time, a.place) < (b.time, b.place) }
    }

    private(set) var records: [String: HeldRecord] = [:]
    private(set) var order = SortedList<Place>()
    private(set) var deadlines = SortedList<Deadline>()
    private(set) var bytes = 0
    private var byKey: [CommandKey: String] = [:]
    private var byUser: [UserID: Set<Place>] = [:]

    init() {}

    init(records: [HeldRecord]) {
        for record in records { put(record) }
    }

    var count: Int { records.count }

    subscript(id: String) -> HeldRecord? { records[id] }

    /// The message that the send of this key has become.
    func id(of key: CommandKey) -> String? { byKey[key] }

    /// Those of a user, the oldest first.
    func ids(of user: UserID) -> [String] { (byUser[user] ?? []).sorted().map(\.id) }

    func count(of user: UserID) -> Int { byUser[user]?.count ?? 0 }

    /// The users who have sent them, in order.
    var users: [UserID] { byUser.keys.sorted() }

    /// All of them, the oldest first.
    var ids: [String] { order.elements.map(\.id) }

    mutating func put(_ record: HeldRecord) {
        remove(record.id)
        records[record.id] = record
        bytes += record.bytes
        order.insert(record.place)
        deadlines.insert(Deadline(time: record.expiresAt, place: record.place))
        if let key = record.key { byKey[key] = record.id }
        if let user = record.sender { byUser[user, default: []].insert(record.place) }
    }

    mutating func remove(_ id: String) {
        guard let record = records.removeValue(forKey: id) else { return }
        bytes -= record.bytes
        order.remove(record.place)
        deadlines.remove(Deadline(time: record.expiresAt, place: record.place))
        if let key = record.key { byKey[key] = nil }
        guard let user = record.sender else { return }
        byUser[user]?.remove(record.place)
        if byUser[user]?.isEmpty == true { byUser[user] = nil }
    }
}

extension HeldRecord {
    var id: String { message.messageID }
    var place: HeldTable.Place { HeldTable.Place(index: index, id: id) }
    /// About what it occupies in memory.
    var bytes: Int { copies.reduce(Self.bytes(message)) { $0 + Self.bytes($1) } }

    /// Never less than its texts.
    static func bytes(_ message: Message) -> Int {
        var bytes = 400 + (message.ext?.utf8.count ?? 0) + 64 * (message.mentions.count + message.to.count)
        if let profile = message.from?.profile {
            bytes += profile.nick.utf8.count + profile.avatar.utf8.count + profile.ext.utf8.count
        }
        return bytes + message.body.textBytes
    }
}

/// Held messages that did not become messages, remembered for as long as the results of commands are remembered, and at
/// most `Limits.heldMessages`.
struct DeniedTable: Sendable {
    private(set) var records: [String: DeniedRecord] = [:]
    /// The order of denying.
    private(set) var order = SortedList<HeldTable.Place>()
    private var byKey: [CommandKey: String] = [:]
    private var byUser: [UserID: Set<HeldTable.Place>] = [:]

    init() {}

    init(records: [DeniedRecord]) {
        for record in records.sorted(by: { $0.place < $1.place }) { _ = put(record) }
    }

    var ids: [String] { order.elements.map(\.id) }

    /// The end of the message that was sent under this key.
    func record(of key: CommandKey) -> DeniedRecord? { byKey[key].flatMap { records[$0] } }

    /// Those of a user, the oldest first.
    func records(of user: UserID) -> [DeniedRecord] { (byUser[user] ?? []).sorted().compactMap { records[$0.id] } }

    func count(of user: UserID) -> Int { byUser[user]?.count ?? 0 }

    /// - Returns: the one that had to go for it.
    mutating func put(_ record: DeniedRecord) -> String? {
        remove(record.heldID)
        records[record.heldID] = record
        order.insert(record.place)
        if let key = record.key { byKey[key] = record.heldID }
        if let user = record.user { byUser[user, default: []].insert(record.place) }
        guard records.count > Limits.heldMessages, let oldest = order.first else { return nil }
        remove(oldest.id)
        return oldest.id
    }

    private mutating func remove(_ id: String) {
        guard let record = records.removeValue(forKey: id) else { return }
        order.remove(record.place)
        if let key = record.key, byKey[key] == id { byKey[key] = nil }
        guard let user = record.user else { return }
        byUser[user]?.remove(record.place)
        if byUser[user]?.isEmpty == true { byUser[user] = nil }
    }

    /// Forgets what is too old, a bounded amount at a time, and returns whose rows must go.
    mutating func prune(at now: Timestamp) -> [String] {
        var forgotten: [String] = []
        while forgotten.count < Self.prunedAtOnceMax, let oldest = oldest,
            CommandLedger.isForgotten(oldest.time, at: now)
        {
            remove(oldest.heldID)
            forgotten.append(oldest.heldID)
        }
        return forgotten
    }

    private var oldest: DeniedRecord? { order.first.flatMap { records[$0.id] } }

    /// When the first row is to be swept, if nothing else happens in the room.
    var nextSweep: Timestamp? { oldest.map { CommandLedger.sweepTime($0.time) } }

    private static let prunedAtOnceMax = 8
}

extension DeniedRecord {
    var place: HeldTable.Place { HeldTable.Place(index: index, id: heldID) }

    /// The answer to a repeat of the send.
    var refusal: ChatError { ChatError(.rejected, "the message was held, and not let through") }
}
