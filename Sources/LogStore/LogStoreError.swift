import Consensus
import SQLite

/// A refusal of the log store, with its reason.
public struct LogStoreError: Error, Sendable, Hashable, CustomStringConvertible {
    public enum Code: Sendable, Hashable, CaseIterable {
        /// There is no log in the directory, and making one was not asked for.
        case missing
        /// A log was to be made where one is.
        case alreadyExists
        /// Another process has the log open.
        case inUse
        /// The file's format is of another version.
        case unsupported
        /// The log contradicts itself. It is never repaired by leaving something out.
        case corrupt
        /// The log has forgotten something that it held before: an older copy, or a cut one.
        case behindMarks
        /// Too much waits to be written. Nothing of this save was kept.
        case overloaded
        /// The disk is full. Nothing of this save was kept; later saves work when there is space.
        case full
        /// Reading or writing failed. Nothing of this save was kept.
        case io
        /// The disk can no longer be trusted by this process; every later save fails with this.
        case restartNeeded
        /// The save does not follow what the log holds: a gap, an overlap or a cut below what was trimmed.
        case outOfOrder
        /// The entries asked for have been trimmed, or are not there yet.
        case unavailable
        /// The store was closed.
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
            case .busy: .inUse
            case .full: .full
            case .syncFailed: .restartNeeded
            case .corrupt, .notADatabase: .corrupt
            case .io, .constraint, .cannotOpen, .other: .io
            }
        self.init(code, error.message)
    }

    /// A save that comes after one that was not kept: it would follow what the disk does not have.
    static func afterFailure(of group: GroupID) -> LogStoreError {
        LogStoreError(.outOfOrder, "group \(group.number): an earlier save was not kept; ask what the disk holds")
    }

    public var description: String { "\(code): \(message)" }

    /// Advice to an operator about a log that must not be used.
    static func advice(_ directory: String) -> String {
        """
        Do not start this node with it: move \(directory) away, start the node with an empty data directory so that \
        it joins as a new server, and remove the old server; the other replicas complete it. Without other replicas, \
        restore a backup.
        """
    }
}
