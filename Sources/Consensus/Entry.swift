/// One consensus group: a shard's, or the system group.
public struct GroupID: Hashable, Sendable, Comparable {
    public let number: UInt16

    public init(_ number: UInt16) { self.number = number }

    /// The group that holds what belongs to no room (nodes, keys, settings).
    public static let system = GroupID(.max)

    public static func < (a: GroupID, b: GroupID) -> Bool { a.number < b.number }
}

/// A voter or learner: a node together with its data directory, because an empty or older store under the same node
/// ID is a different server that has forgotten what it promised.
public struct ServerID: Hashable, Sendable, Comparable {
    public var node: String
    /// Random, made with the data directory.
    public var store: UInt64

    public init(node: String, store: UInt64) {
        self.node = node
        self.store = store
    }

    public static func < (a: ServerID, b: ServerID) -> Bool { (a.node, a.store) < (b.node, b.store) }
}

/// One entry of a group's log.
public struct Entry: Hashable, Sendable {
    public enum Kind: UInt8, Hashable, Sendable, CaseIterable {
        /// A command of the state machine.
        case command = 0
        /// The entry that a new leader appends, so that it can commit entries of older terms (thesis §6.4).
        case empty = 1
        /// A membership; in force from the moment it is in the log (thesis §4.1).
        case membership = 2
    }

    public var index: UInt64
    public var term: UInt64
    public var kind: Kind
    public var payload: [UInt8]

    public init(index: UInt64, term: UInt64, kind: Kind, payload: [UInt8]) {
        self.index = index
        self.term = term
        self.kind = kind
        self.payload = payload
    }
}

/// The state that a server must never forget, besides its entries (Raft, figure 2).
public struct HardState: Hashable, Sendable {
    public var term: UInt64
    public var votedFor: ServerID?

    public init(term: UInt64 = 0, votedFor: ServerID? = nil) {
        self.term = term
        self.votedFor = votedFor
    }
}

/// The servers of a group.
public struct GroupMembership: Hashable, Sendable {
    public var voters: [ServerID]
    public var learners: [ServerID]

    public init(voters: [ServerID], learners: [ServerID] = []) {
        self.voters = voters
        self.learners = learners
    }
}

/// Where a snapshot ends; the log before it is gone.
public struct SnapshotMark: Hashable, Sendable {
    public var index: UInt64
    public var term: UInt64
    public var membership: GroupMembership

    public init(index: UInt64, term: UInt64, membership: GroupMembership) {
        self.index = index
        self.term = term
        self.membership = membership
    }
}
