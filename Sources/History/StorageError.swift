import SQLite

/// A failure of a shard's storage.
public struct StorageError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable, CaseIterable {
        /// The disk is full. Earlier writes are kept and tried again.
        case full
        /// Reading or writing failed. Writes are tried again.
        case io
        /// A reader or another process was in the way. It is tried again.
        case busy
        /// A file contradicts itself.
        case corrupt
        /// A file was made by another version or program.
        case unsupported
        /// The disk can no longer be trusted by this process; the log still holds what was not synced.
        case restartNeeded
        /// More waits to be written than may be kept in memory: nothing is written any more, and a restart of the node
        /// replays from the log.
        case overflowed
        /// Too many reads wait, or too many snapshots are open.
        case overloaded
        /// Too many reads of this reader wait.
        case tooOften
        /// The asker has gone.
        case cancelled
        /// The data from another node is no snapshot or no history.
        case malformed
        /// It can't be done in the present state; nothing has changed.
        case refused
        /// A snapshot was open for too long.
        case expired
        case closed
    }

    public var code: Code
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    init(_ error: SQLiteError) {
        let code: Code =
            switch error.code {
            case .full: .full
            case .syncFailed: .restartNeeded
            case .corrupt, .notADatabase: .corrupt
            case .busy: .busy
            case .io, .constraint, .cannotOpen, .other: .io
            }
        self.init(code, error.message)
    }

    init(any error: any Error) {
        switch error {
        case let error as StorageError: self = error
        case let error as SQLiteError: self.init(error)
        default: self.init(.io, "\(error)")
        }
    }

    public var description: String { "\(code): \(message)" }
}

/// How the storage of a shard is doing.
public enum StorageHealth: Sendable, Hashable {
    case good
    /// Writing has failed and is tried again. Successors: all.
    case retrying(StorageError)
    /// More than `StorageConfiguration.pendingBytesMax` waits to be written: the host must stop giving more until it
    /// hears of another state. Successors: all.
    case overloaded
    /// Nothing is written any more. Nothing is lost, because the log keeps what was not synced; a restart replays it.
    /// No successor.
    case halted(StorageError)

    /// Whether it may be given more. That the disk takes it is not said: see `ShardStorage.diskFailure`.
    public var takesRows: Bool {
        switch self {
        case .good, .retrying: true
        case .overloaded, .halted: false
        }
    }
}
