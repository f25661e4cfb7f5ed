import ChatModel
import SQLite

/// Where a snapshot finds the commands that made its rooms' newest messages: the end of the shard's history, and what
/// stands in for it where the source lacks some itself.
struct CommandSource {
    let open: FileOpener
    private let files: [HistoryFile]
    private let earliest: Timestamp
    private let memorySeconds: Int64

    /// To be made while nothing is written.
    ///
    /// - Parameter files: those that there are.
    init(files: [HistoryFile], memorySeconds: Int64, open: @escaping FileOpener) throws(SQLiteError) {
        self.open = open
        self.memorySeconds = memorySeconds
        var last: Timestamp?
        for file in files.sorted(by: >) {
            // Files of one day are not in the order of their times.
            if let last, file.day < last.day { break }
            if let time = try open(file)?.lastTime() { last = max(last ?? time, time) }
        }
        guard let newest = last else {
            self.files = []
            earliest = Timestamp(.min)
            return
        }
        // Later entries are stamped later than the shard's newest message, so every replica has forgotten what is older
        // by once the memory; twice, since a leader that restarts may have a clock that is behind the former one's.
        let first = newest.adding(seconds: -memorySeconds).adding(seconds: -memorySeconds)
        earliest = first
        self.files = files.filter { $0.day >= first.day }
    }

    /// The commands that a loaded room would remember.
    ///
    /// - Parameters:
    ///   - room: its own row. Messages of later entries may be here already: they do not set the bound.
    ///   - kept: what `CommandRows` say of it.
    func task(of room: CatalogueRow, kept: [RememberedCommand]) -> TailTask {
        TailTask(
            room.incarnation, files: files, cutoffs: HistoryCutoffs(earliest, standardDays: 0, room: earliest),
            earliest: earliest, rowsMax: 0, roomIndex: room.index,
            memorySeconds: memorySeconds, kept: kept)
    }
}
