import CSQLite

/// A compiled statement. It belongs to the thread of its database.
///
/// Parameters are numbered from 1 and columns from 0, as in SQLite. Numbers that do not fit a parameter or column are
/// programming errors, reported by the next `step` or read as zero.
public final class Statement {
    private let handle: OpaquePointer
    private let database: Database
    private var bindResult: Int32 = SQLITE_OK

    init(_ sql: String, database: Database) throws(SQLiteError) {
        var prepared: OpaquePointer?
        let result = sqlite3_prepare_v3(
            database.handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &prepared, nil)
        guard result == SQLITE_OK, let prepared else {
            throw result == SQLITE_OK
                ? SQLiteError(code: .other(SQLITE_MISUSE), message: "an empty statement") : database.error(result)
        }
        handle = prepared
        self.database = database
        database.add(prepared)
    }

    deinit { database.finalize(handle) }

    // MARK: - Parameters

    /// Tells SQLite to copy the value before the call returns.
    private static var transient: sqlite3_destructor_type { unsafeBitCast(-1, to: sqlite3_destructor_type.self) }

    public func bind(_ parameter: Int32, _ value: Int64) {
        note(sqlite3_bind_int64(handle, parameter, value))
    }

    public func bind(_ parameter: Int32, _ value: Int64?) {
        if let value { bind(parameter, value) } else { bindNull(parameter) }
    }

    public func bind(_ parameter: Int32, _ value: Int) { bind(parameter, Int64(value)) }

    /// The bits of an unsigned number; it compares like a number only below 2^63.
    public func bind(bits value: UInt64, _ parameter: Int32) { bind(parameter, Int64(bitPattern: value)) }

    public func bind(_ parameter: Int32, _ value: Double) {
        note(sqlite3_bind_double(handle, parameter, value))
    }

    public func bind(_ parameter: Int32, _ value: String) {
        var value = value
        let result = value.withUTF8 { utf8 in
            utf8.withMemoryRebound(to: CChar.self) { text in
                // An empty string must not become NULL, which a nil address would mean.
                text.baseAddress == nil
                    ? sqlite3_bind_text(handle, parameter, "", 0, Self.transient)
                    : sqlite3_bind_text(
                        handle, parameter, text.baseAddress, Int32(clamping: text.count), Self.transient)
            }
        }
        note(result)
    }

    public func bind(_ parameter: Int32, _ value: String?) {
        if let value { bind(parameter, value) } else { bindNull(parameter) }
    }

    public func bind(_ parameter: Int32, _ value: [UInt8]) {
        let result = value.withUnsafeBytes { bytes in
            bytes.isEmpty
                ? sqlite3_bind_zeroblob(handle, parameter, 0)
                : sqlite3_bind_blob64(
                    handle, parameter, bytes.baseAddress, sqlite3_uint64(bytes.count), Self.transient)
        }
        note(result)
    }

    public func bindNull(_ parameter: Int32) {
        note(sqlite3_bind_null(handle, parameter))
    }

    private func note(_ result: Int32) {
        if bindResult == SQLITE_OK { bindResult = result }
    }

    // MARK: - Running

    /// Goes to the next row. False when there is none; the statement is then ready for other parameters.
    public func step() throws(SQLiteError) -> Bool {
        database.checkThread()
        guard bindResult == SQLITE_OK else {
            let error = database.error(bindResult)
            bindResult = SQLITE_OK
            throw error
        }
        switch sqlite3_step(handle) {
        case SQLITE_ROW:
            return true
        case SQLITE_DONE:
            sqlite3_reset(handle)
            return false
        case let result:
            let error = database.error(result)
            sqlite3_reset(handle)
            throw error
        }
    }

    /// Runs to the end, ignoring rows.
    public func run() throws(SQLiteError) {
        while try step() {}
    }

    /// Ends the walk over the rows, which also ends its hold on the database's state. Parameters stay.
    public func reset() {
        sqlite3_reset(handle)
    }

    // MARK: - Columns of the current row

    public func isNull(_ column: Int32) -> Bool { sqlite3_column_type(handle, column) == SQLITE_NULL }

    public func int64(_ column: Int32) -> Int64 { sqlite3_column_int64(handle, column) }

    /// The counterpart of `bind(bits:_:)`.
    public func bits(_ column: Int32) -> UInt64 { UInt64(bitPattern: int64(column)) }

    public func optionalInt64(_ column: Int32) -> Int64? { isNull(column) ? nil : int64(column) }

    public func double(_ column: Int32) -> Double { sqlite3_column_double(handle, column) }

    /// Invalid UTF-8 is repaired; NULL is empty.
    public func text(_ column: Int32) -> String {
        guard let start = sqlite3_column_text(handle, column) else { return "" }
        let count = Int(sqlite3_column_bytes(handle, column))
        return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    }

    public func optionalText(_ column: Int32) -> String? { isNull(column) ? nil : text(column) }

    /// A copy of the bytes; NULL is empty.
    public func bytes(_ column: Int32) -> [UInt8] {
        withBytes(column) { [UInt8]($0) }
    }

    public func byteCount(_ column: Int32) -> Int { Int(sqlite3_column_bytes(handle, column)) }

    /// The bytes in place, which are valid during the call only.
    public func withBytes<Value>(_ column: Int32, _ body: (UnsafeRawBufferPointer) -> Value) -> Value {
        guard let start = sqlite3_column_blob(handle, column) else {
            return body(UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return body(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(handle, column))))
    }
}
