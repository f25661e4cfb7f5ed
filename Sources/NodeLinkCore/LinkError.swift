/// Why two nodes don't talk.
public struct LinkError: Error, Sendable, Hashable, CustomStringConvertible {
    /// For programs. The names are on the wire (`LinkRefusal`).
    public enum Code: String, Sendable, Hashable, CaseIterable {
        /// The input is no frame, or no message of its lane.
        case malformed = "MALFORMED"
        /// The two programs have no version of the protocol in common.
        case version = "VERSION"
        /// The cluster's feature level is one that a program can't do.
        case level = "LEVEL"
        /// The other belongs to another cluster.
        case cluster = "CLUSTER"
        /// The other is not who it was expected to be, or who its certificate says it is.
        case identity = "IDENTITY"
        /// The other has not proved that it has a key of the cluster.
        case proof = "PROOF"
        /// The other was taken out of the cluster.
        case removed = "REMOVED"
        /// There is a connection between the two already, which stays.
        case duplicate = "DUPLICATE"
        /// The other has a different number of shards.
        case shards = "SHARDS"
        /// It took too long.
        case timedOut = "TIMED_OUT"
        /// The connection is gone.
        case closed = "CLOSED"
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
