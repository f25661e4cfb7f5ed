import ChatModel

/// The content of a room (PROTOCOL.md, "Media"): who may send it, what is stored, which messages name it. At most
/// `Limits.uploadsPerRoom`, each with at most `Limits.referencesPerUpload` messages; no user has more than there are places
/// left, so nobody takes them all from the others.
struct UploadTable: Sendable {
    /// When something of a record ends.
    struct Deadline: Sendable, Hashable, Comparable {
        var time: Timestamp
        var id: String

        static func < (a: Deadline, b: Deadline) -> Bool { (a.time, a.id) < (b.time, b.id) }
    }

    private(set) var records: [String: UploadRecord] = [:]
    private(set) var deadlines = SortedList<Deadline>()
    /// The content that each message names.
    private var named: [UInt64: [String]] = [:]
    /// How much content each user has, and how much of it no message names; and the avatars of each that are stored and not
    /// replaced.
    private var counts: [UserID: Int] = [:]
    private var unnamedCounts: [UserID: Int] = [:]
    private var avatarsInUse: [UserID: Set<String>] = [:]
    /// All such avatars, the app server's among them, by the time at which their places were made.
    private var avatarsByAge = SortedList<Deadline>()

    init() {}

    init(records: [(id: String, record: UploadRecord)]) {
        for (id, record) in records { set(record, of: id) }
    }

    subscript(id: String) -> UploadRecord? { records[id] }

    var count: Int { records.count }

    /// When the next record has to be looked at.
    var nextDeadline: Timestamp? { deadlines.first?.time }

    mutating func set(_ record: UploadRecord?, of id: String) {
        if let old = records[id] {
            if let time = old.deadline { deadlines.remove(Deadline(time: time, id: id)) }
            for reference in old.references { forget(id, namedBy: reference.seq) }
            count(old, of: id, isThere: false)
        }
        records[id] = record
        guard let record else { return }
        if let time = record.deadline { deadlines.insert(Deadline(time: time, id: id)) }
        for reference in record.references { named[reference.seq, default: []].append(id) }
        count(record, of: id, isThere: true)
    }

    /// These are asked for with each command of that user: a walk over all records would cost more than it brings.
    private mutating func count(_ record: UploadRecord, of id: String, isThere: Bool) {
        let isInUse = record.draft.kind == .avatar && record.digest != nil && record.replacedAt == nil
        if isInUse {
            let place = Deadline(time: record.createdAt, id: id)
            if isThere { avatarsByAge.insert(place) } else { avatarsByAge.remove(place) }
        }
        guard let user = record.user else { return }
        Self.add(isThere ? 1 : -1, to: user, in: &counts)
        if isInUse {
            if isThere { avatarsInUse[user, default: []].insert(id) } else { avatarsInUse[user]?.remove(id) }
            if avatarsInUse[user]?.isEmpty == true { avatarsInUse[user] = nil }
        } else if record.references.isEmpty, record.shownUntil == nil {
            Self.add(isThere ? 1 : -1, to: user, in: &unnamedCounts)
        }
    }

    private static func add(_ number: Int, to user: UserID, in counts: inout [UserID: Int]) {
        let count = counts[user, default: 0] + number
        counts[user] = count > 0 ? count : nil
    }

    private mutating func forget(_ id: String, namedBy seq: UInt64) {
        named[seq]?.removeAll { $0 == id }
        if named[seq]?.isEmpty == true { named[seq] = nil }
    }

    /// The content that a message names.
    func named(by seq: UInt64) -> [String] { named[seq] ?? [] }

    /// How much content a user has.
    func count(of user: UserID) -> Int { counts[user] ?? 0 }

    /// Whether that many further pieces have places, those of a user within the user's share: nobody has more than what the
    /// others still can have.
    func hasPlaces(for number: Int, of user: UserID?) -> Bool {
        guard count + number <= Limits.uploadsPerRoom else { return false }
        guard let user else { return true }
        return count(of: user) + number <= Limits.uploadsPerRoom - count
    }

    /// An avatar beyond those that a room has; never the newest one.
    func avatarTooMany(besides newest: String) -> String? {
        guard avatarsByAge.count > Limits.avatarsPerRoom else { return nil }
        var oldest: String?
        avatarsByAge.ascend(skipping: { _ in false }) { avatar in
            if avatar.id != newest { oldest = avatar.id }
            return oldest == nil
        }
        return oldest
    }

    /// How much of a user's content, sent or still to be sent, no message names. An avatar counts unless it is in use.
    func unnamed(of user: UserID) -> Int { unnamedCounts[user] ?? 0 }

    /// Avatars of a user that are stored and have not been replaced, in the order of their IDs.
    func avatars(of user: UserID) -> [String] {
        (avatarsInUse[user] ?? []).sorted()
    }
}
