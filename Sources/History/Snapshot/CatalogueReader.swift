import ChatModel
import SQLite
import Wire

/// A reading connection to a shard's catalogue that stays at one state of it, and gives it as a stream of bytes, with
/// the commands of its rooms' newest messages (`CommandRows`). Used by the shard's reader thread only.
///
/// While it is open the catalogue's write-ahead log can't be brought to the file (see `ShardWriter.checkpoint`).
final class CatalogueReader {
    /// The next part of the stream.
    private enum Step {
        /// The next row of the catalogue.
        case row
        /// The commands of the room that was just given, which are being looked for.
        case search(CatalogueRow, TailTask)
        /// Those that were found and not given yet, in rows from a number on.
        case commands(CatalogueRow, ArraySlice<RememberedCommand>, Int)
        case end
    }

    /// `ShardStorage`'s own number.
    let storage: UInt64
    /// As of which log entry the rows are.
    let index: UInt64
    private let database: Database
    private let rows: Statement
    private let commandRows: Statement
    private let commands: CommandSource
    private let whenClosed: @Sendable () -> Void
    /// Bytes of the stream that are not given out yet: less than a row more than what is asked for.
    private var pending: [UInt8] = []
    private var rowCount: UInt64 = 0
    private var step = Step.row

    /// About two milliseconds of looking into files.
    private static let searchesMax = 64

    /// - Parameter whenClosed: called once, when the connection is closed.
    init(
        storage: UInt64, path: String, vfs: String?, commands: CommandSource,
        whenClosed: @escaping @Sendable () -> Void
    ) throws(SQLiteError) {
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
                WHERE kind <> \(CommandRows.kind) ORDER BY kind, room, key
                """)
            commandRows = try database.prepare(
                """
                SELECT kind, room, key, incarnation, log_index, deadline, value FROM catalogue
                WHERE kind = \(CommandRows.kind) AND room = ?
                """)
        } catch {
            database.close()
            throw error
        }
        self.storage = storage
        self.database = database
        self.commands = commands
        self.whenClosed = whenClosed
        WireProtobuf.appendDelimited(SnapshotRecord(index: index), to: &pending)
    }

    /// The next bytes of the stream: exactly `bytesMax` of them unless it ends before, none behind the end; nil when it
    /// is to be called again for them.
    func slice(bytesMax: Int) throws -> [UInt8]? {
        var searches = 0
        while pending.count < bytesMax {
            switch step {
            case .row:
                try takeRow()
            case .search(let room, var task):
                guard searches < Self.searchesMax else { return nil }
                searches += 1
                guard let tail = try task.slice(open: commands.open) else {
                    step = .search(room, task)
                    return nil
                }
                step = .commands(room, tail.commands[...], 0)
            case .commands(let room, let found, let number):
                guard !found.isEmpty else {
                    step = .row
                    continue
                }
                append(CommandRows.row(found.prefix(CommandRows.commandsMax), number: number, of: room))
                step = .commands(room, found.dropFirst(CommandRows.commandsMax), number + 1)
            case .end:
                return takePending(bytesMax)
            }
        }
        return takePending(bytesMax)
    }

    private func takeRow() throws {
        guard try rows.step() else {
            step = .end
            WireProtobuf.appendDelimited(SnapshotRecord(rowCount: rowCount), to: &pending)
            return
        }
        let row = try catalogueRow(rows)
        append(row)
        guard row.isOfLife else { return }
        var kept: [CatalogueRow] = []
        commandRows.bind(1, row.room.text)
        while try commandRows.step() { kept.append(try catalogueRow(commandRows)) }
        let known = try CommandRows.commands(in: kept, of: row.incarnation)
        step = .search(row, commands.task(of: row, kept: known))
    }

    private func append(_ row: CatalogueRow) {
        rowCount += 1
        WireProtobuf.appendDelimited(SnapshotRecord(row: row), to: &pending)
    }

    private func takePending(_ bytesMax: Int) -> [UInt8] {
        let count = min(bytesMax, pending.count)
        let bytes = Array(pending[..<count])
        pending.removeFirst(count)
        return bytes
    }

    private func catalogueRow(_ statement: Statement) throws(SQLiteError) -> CatalogueRow {
        guard let kind = UInt8(exactly: statement.int64(0)), let room = RoomID(statement.text(1)) else {
            throw SQLiteError(code: .corrupt, message: "\(database.path): a row of no room")
        }
        return CatalogueRow(
            room: room, incarnation: Incarnation(statement.bits(3)), kind: kind, key: statement.text(2),
            value: statement.bytes(6), deadline: statement.optionalInt64(5).map { Timestamp($0) },
            index: UInt64(clamping: statement.int64(4)))
    }

    func close() {
        database.close()
        whenClosed()
    }
}
