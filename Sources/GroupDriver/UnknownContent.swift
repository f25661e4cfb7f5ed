import ChatModel

/// Stored or replicated content that this program does not understand. Skipping it would make replicas differ, and
/// guessing would break promises, so the node stops and says this.
public struct UnknownContent: Error, Sendable, Hashable, CustomStringConvertible {
    /// For the operator: where it is, and what to start instead.
    public var message: String

    public init(_ message: String) { self.message = message }

    /// A command in a log.
    /// - Parameter log: whose it is: "shard 3".
    public init(entry index: UInt64, of log: String, _ error: some Error, own: FeatureLevel) {
        self.init("the log entry \(index) of \(log)", error, own: own)
    }

    /// Bytes that can't be read, or have what is not known.
    /// - Parameter place: where they are: "room lobby".
    public init(_ place: String, _ error: some Error, own: FeatureLevel) {
        self.init(fact: "\(place) can't be understood (\(error))", own: own)
    }

    /// A row of the catalogue.
    public init(rowKind kind: UInt8, of room: String, own: FeatureLevel) {
        self.init(fact: "\(room) has a row of kind \(kind), which is not known", own: own)
    }

    /// Rows have no checksum, so a changed bit looks like what a newer version has written. The versions of the other nodes
    /// tell the two apart.
    private init(fact: String, own: FeatureLevel) {
        message = """
            \(fact). A newer version of the program has written it, or the disk has damaged it; this version can do \
            feature level \(own). Start the version that the other nodes run, on this data; if all nodes run this \
            version, the data is damaged: check the disk, remove the node's data directory and let it join anew, or \
            restore a backup where this node is alone
            """
    }

    /// The cluster's level is one that this program can't do.
    public init(level: FeatureLevel, own: FeatureLevel) {
        message = """
            the cluster has feature level \(level), and this program can do \(own). Start the version that the other \
            nodes run, or a newer one, on this data; the feature level is never lowered
            """
    }

    public var description: String { message }
}
