import ChatModel
import Wire

/// Why a transfer has ended before its end.
public struct ReplicationError: Error, Sendable, Hashable, CustomStringConvertible {
    /// For programs. The names are on the wire.
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The input is no message of a transfer, or none that fits there.
        case malformed = "MALFORMED"
        /// The source gives a snapshot of this group to another replica; ask again later.
        case busy = "BUSY"
        /// The source has not applied what was asked for, or lacks history itself; ask another, or later.
        case behind = "BEHIND"
        /// The source could not read it.
        case source = "SOURCE"
        /// The receiver could not write it.
        case receiver = "RECEIVER"
        /// Parts are gone that the source does not keep any more; ask for a new transfer.
        case lost = "LOST"
        /// The other side has been silent for too long.
        case timedOut = "TIMED_OUT"
    }

    public var code: Code
    /// For people: a sentence without a stop.
    public var message: String

    public init(_ code: Code, _ message: String) {
        self.code = code
        self.message = message
    }

    public var description: String { message }
}
