import ChatModel

/// Catalogue rows that have changed since the last checkpoint, the newest of each. They stay in memory until the
/// history that belongs to them is synced (see `ShardWriter.checkpoint`).
struct CatalogueChanges: Sendable {
    struct Key: Hashable, Sendable {
        var kind: UInt8
        /// By its bytes, as the file has it.
        var key: ExactText

        init(kind: UInt8, key: String) { (self.kind, self.key) = (kind, ExactText(key)) }
    }

    struct Room: Sendable {
        var rows: [Key: CatalogueRow] = [:]
        /// Lives of the room that are over: their rows in the file do not count any more.
        var retired: Set<Incarnation> = []
    }

    private(set) var rooms: [RoomID: Room] = [:]
    /// Roughly what this occupies.
    private(set) var bytes = 0

    var isEmpty: Bool { rooms.isEmpty }

    mutating func put(_ row: CatalogueRow) {
        let key = Key(kind: row.kind, key: row.key)
        let old = rooms[row.room]?.rows[key]
        if let old, old.index > row.index { return }
        rooms[row.room, default: Room()].rows[key] = row
        bytes += Self.bytes(row) - (old.map(Self.bytes) ?? 0)
    }

    mutating func retire(_ retired: RetiredRoom) {
        var room = rooms[retired.room] ?? Room()
        for (key, row) in room.rows where row.incarnation == retired.incarnation {
            room.rows[key] = nil
            bytes -= Self.bytes(row)
        }
        if room.retired.insert(retired.incarnation).inserted { bytes += 160 }
        rooms[retired.room] = room
    }

    private static func bytes(_ row: CatalogueRow) -> Int {
        256 + row.key.utf8.count + (row.value?.count ?? 0)
    }

    /// Whether a row that is in the file counts no more, because of what is here.
    func hides(_ room: RoomID, _ incarnation: Incarnation, kind: UInt8, key: @autoclosure () -> String) -> Bool {
        guard let change = rooms[room] else { return false }
        return change.retired.contains(incarnation) || change.rows[Key(kind: kind, key: key())] != nil
    }

    /// All rows here that exist, of all rooms.
    var existing: some Sequence<CatalogueRow> {
        rooms.values.lazy.flatMap { $0.rows.values.lazy.filter { $0.value != nil } }
    }
}
