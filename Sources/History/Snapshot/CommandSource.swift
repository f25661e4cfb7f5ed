import ChatModel
import SQLite

/// Where a snapshot finds the commands that made its rooms' newest messages: the end of the shard's history, and what
/// stands in for it where the source lacks some itself.
struct CommandSource {
    let open: DayOpener
    private let days: [Int64]
    private let earliest: Timestamp
    private let memorySeconds: Int64

    /// To be made while nothing is written.
    ///
    /// - Parameter days: the days that have files.
    init(days: [Int64], memorySeconds: Int64, open: @escaping DayOpener) throws(SQLiteError) {
        self.open = open
        self.memorySeconds = memorySeconds
        var last: Timestamp?
        for day in days.sorted(by: >) where last == nil { last = try open(day)?.lastTime() }
        guard let newest = last else {
            self.days = []
            earliest = Timestamp(.min)
            return
        }
        // Later entries are stamped later than the shard's newest message, so every replica has forgotten what is older
        // by once the memory; twice, since a leader that restarts may have a clock that is behind the former one's.
        let first = newest.adding(seconds: -memorySeconds).adding(seconds: -memorySeconds)
        earliest = first
        self.days = days.filter { $0 >= first.day }
    }

    /// The commands that a loaded room would remember.
    ///
    /// - Parameters:
    ///   - room: its own row. Messages of later entries may be here already: they do not set the bound.
    ///   - kept: what `CommandRows` say of it.
    func task(of room: CatalogueRow, kept: [RememberedCommand]) -> TailTask {
        TailTask(
            room.incarnation, days: days, cutoff: earliest, rowsMax: 0, roomIndex: room.index,
            memorySeconds: memorySeconds, kept: kept)
    }
}
