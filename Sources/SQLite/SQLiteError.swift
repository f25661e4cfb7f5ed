import CSQLite

/// A refusal of SQLite, in terms that a caller can act on.
public struct SQLiteError: Error, Sendable, Hashable, CustomStringConvertible {
    /// SQLite's result codes, those that callers tell apart by name.
    public enum Code: Sendable, Hashable {
        /// Another connection holds a lock that is in the way.
        case busy
        /// No space on the device (or a quota).
        case full
        /// Reading or writing failed.
        case io
        /// A sync failed: what was written since the last good one may never reach the disk, although it can be read.
        case syncFailed
        /// The file's contents contradict themselves.
        case corrupt
        case notADatabase
        /// A uniqueness, check or not-null rule of the schema.
        case constraint
        /// The file is missing or may not be opened.
        case cannotOpen
        /// Any other extended result code.
        case other(Int32)
    }

    public var code: Code
    public var message: String

    public init(code: Code, message: String) {
        self.code = code
        self.message = message
    }

    /// From an extended result code.
    init(result: Int32, message: String) {
        self.init(code: Self.code(of: result), message: message)
    }

    private static func code(of result: Int32) -> Code {
        // The extended codes are macros with arithmetic, which Swift does not import: primary | (detail << 8).
        let fsync = SQLITE_IOERR | (4 << 8)
        let directoryFsync = SQLITE_IOERR | (5 << 8)
        if result == fsync || result == directoryFsync { return .syncFailed }
        switch result & 0xFF {
        case SQLITE_BUSY, SQLITE_LOCKED: return .busy
        case SQLITE_FULL: return .full
        case SQLITE_IOERR: return .io
        case SQLITE_CORRUPT: return .corrupt
        case SQLITE_NOTADB: return .notADatabase
        case SQLITE_CONSTRAINT: return .constraint
        case SQLITE_CANTOPEN, SQLITE_PERM, SQLITE_READONLY: return .cannotOpen
        default: return .other(result)
        }
    }

    public var description: String { "\(code): \(message)" }
}
