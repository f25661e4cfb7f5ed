import ChatModel

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
        /// A node of this ID is connected, and this one has other data.
        case taken = "NODE_ID_TAKEN"
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

extension LinkError {
    /// A refusal by a side that has not proved who it is. Its code is a hint, and its text is not taken: whoever reaches the
    /// port could write into this node's log.
    static func unproven(_ code: Code, by other: NodeID?) -> LinkError {
        LinkError(
            code, "\(other?.text ?? "the other side") refuses this node, without proof who it is: \(code.meaning)")
    }
}

extension LinkError.Code {
    /// The reason of a refusal, as the refused node tells it.
    fileprivate var meaning: String {
        switch self {
        case .malformed: "it could not read what this node sent"
        case .version: "the two programs have no version of the link in common"
        case .level: "one of the two programs can't do the feature level of the other's cluster"
        case .cluster: "the two belong to different clusters"
        case .identity: "one of the two is another node than it was called, or than its certificate names"
        case .proof: "this node has none of its cluster keys"
        case .removed:
            "this node was taken out of the cluster, or shows the certificate of a node that was; to take it in again, "
                + "readmit it (chatroomctl cluster readmit), remove its data directory and start it"
        case .taken: "it is connected to another process with this node's ID"
        case .duplicate: "the two are connected already"
        case .shards: "the two have different numbers of shards"
        case .timedOut: "this node took too long"
        case .closed: "the reason is none that this program knows"
        }
    }
}
