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
        }
        records[id] = record
        guard let record else { return }
        if let time = record.deadline { deadlines.insert(Deadline(time: time, id: id)) }
        for reference in record.references { named[reference.seq, default: []].append(id) }
    }

    private mutating func forget(_ id: String, namedBy seq: UInt64) {
        named[seq]?.removeAll { $0 == id }
        if named[seq]?.isEmpty == true { named[seq] = nil }
    }

    /// The content that a message names.
    func named(by seq: UInt64) -> [String] { named[seq] ?? [] }

    /// How much of a user's content, sent or still to be sent, no message names.
    func unnamed(of user: UserID) -> Int {
        records.values.count { $0.user == user && $0.references.isEmpty && $0.draft.kind != .avatar }
    }

    /// Avatars of a user that are stored and have not been replaced, in the order of their IDs.
    func avatars(of user: UserID) -> [String] {
        records.filter { _, record in
            record.draft.kind == .avatar && record.user == user && record.digest != nil && record.replacedAt == nil
        }.map(\.key).sorted()
    }
}
