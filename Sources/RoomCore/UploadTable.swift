import ChatModel

/// The content of a room (PROTOCOL.md, "Media"): who may send it, what is stored, which messages name it. At most
/// `Limits.uploadsPerRoom`, each with at most `Limits.referencesPerUpload` messages.
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
    /// How much of each user's content no message names; and the avatars of each that are stored and not replaced.
    private var unnamedCounts: [UserID: Int] = [:]
    private var avatarsInUse: [UserID: Set<String>] = [:]

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

    /// Both are asked for with each command of that user: a walk over all records would cost more than it brings.
    private mutating func count(_ record: UploadRecord, of id: String, isThere: Bool) {
        guard let user = record.user else { return }
        if record.draft.kind == .avatar {
            guard record.digest != nil, record.replacedAt == nil else { return }
            if isThere { avatarsInUse[user, default: []].insert(id) } else { avatarsInUse[user]?.remove(id) }
            if avatarsInUse[user]?.isEmpty == true { avatarsInUse[user] = nil }
        } else if record.references.isEmpty, record.shownUntil == nil {
            let count = unnamedCounts[user, default: 0] + (isThere ? 1 : -1)
            unnamedCounts[user] = count > 0 ? count : nil
        }
    }

    private mutating func forget(_ id: String, namedBy seq: UInt64) {
        named[seq]?.removeAll { $0 == id }
        if named[seq]?.isEmpty == true { named[seq] = nil }
    }

    /// The content that a message names.
    func named(by seq: UInt64) -> [String] { named[seq] ?? [] }

    /// How much of a user's content, sent or still to be sent, no message names.
    func unnamed(of user: UserID) -> Int { unnamedCounts[user] ?? 0 }

    /// Avatars of a user that are stored and have not been replaced, in the order of their IDs.
    func avatars(of user: UserID) -> [String] {
        (avatarsInUse[user] ?? []).sorted()
    }
}
