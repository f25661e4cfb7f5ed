import ChatModel
import SQLite
import Wire

/// A reading connection to a shard's catalogue that stays at one state of it, and gives it as a stream of bytes. Used
/// by the shard's reader thread only.
///
/// While it is open the catalogue's write-ahead log can't be brought to the file (see `ShardWriter.checkpoint`).
final class CatalogueReader {
    /// `ShardStorage`'s own number.
    let storage: UInt64
    /// As of which log entry the rows are.
    let index: UInt64
    private let database: Database
    private let rows: Statement
    private let whenClosed: @Sendable () -> Void
    /// Of the stream, not given out yet: less than a row more than what is asked for.
    private var pending: [UInt8] = []
    private var rowCount: UInt64 = 0
    private var hasEnded = false

    /// - Parameter whenClosed: called once, when the connection is closed.
    init(storage: UInt64, path: String, vfs: String?, whenClosed: @escaping @Sendable () -> Void) throws(SQLiteError) {
        var options = DatabaseOptions()
        options.readOnly = true
        // Only the writing connection may checkpoint (see `DatabaseOptions.checkpointPages`).
        options.leavesWriteAheadLogOnClose = true
        options.busyTimeoutMilliseconds = 1_000
        options.cacheKilobytes = 256
        options.vfs = vfs
        let database = try Database(path: path, options: options)
        do throws(SQLiteError) {
            try database.execute("BEGIN")
            // The first read fixes the state.
            let applied = try database.prepare("SELECT applied FROM meta")
            guard try applied.step() else {
                throw SQLiteError(code: .corrupt, message: "\(path): the table meta is empty")
            }
            index = applied.bits(0)
            applied.reset()
            rows = try database.prepare(
                """
                SELECT kind, room, key, incarnation, log_index, deadline, value FROM catalogue
                ORDER BY kind, room, key
                """)
        } catch {
            database.close()
            throw error
        }
        self.storage = storage
        self.database = database
        self.whenClosed = whenClosed
        WireProtobuf.appendDelimited(SnapshotRecord(index: index), to: &pending)
    }

    /// The next bytes of the stream, exactly `bytesMax` of them unless it ends before; empty behind the end.
    func next(bytesMax: Int) throws(SQLiteError) -> [UInt8] {
        while pending.count < bytesMax, !hasEnded {
            if try rows.step() {
                guard let row = row else {
                    throw SQLiteError(code: .corrupt, message: "\(database.path): a row of no room")
                }
                rowCount += 1
                WireProtobuf.appendDelimited(SnapshotRecord(row: row), to: &pending)
            } else {
                hasEnded = true
                WireProtobuf.appendDelimited(SnapshotRecord(rowCount: rowCount), to: &pending)
            }
        }
        let count = min(bytesMax, pending.count)
        let bytes = Array(pending[..<count])
        pending.removeFirst(count)
        return bytes
    }

    private var row: CatalogueRow? {
        guard let kind = UInt8(exactly: rows.int64(0)), let room = RoomID(rows.text(1)) else { return nil }
        return CatalogueRow(
            room: room, incarnation: Incarnation(rows.bits(3)), kind: kind, key: rows.text(2), value: rows.bytes(6),
            deadline: rows.optionalInt64(5).map { Timestamp($0) }, index: UInt64(clamping: rows.int64(4)))
    }

    func close() {
        database.close()
        whenClosed()
    }
}
