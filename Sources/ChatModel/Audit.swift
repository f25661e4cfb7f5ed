/// The place of a recorded call among those of all nodes (PROTOCOL.md, "Audit"): by its time, then by its node.
public struct AuditPlace: Sendable, Hashable, Comparable, CustomStringConvertible {
    /// Ascending for each node, and never used twice: its time in 1/1024 ms, or one more than the node's last one.
    public let id: Int64
    /// The node that answered the call.
    public let node: NodeID

    public init(id: Int64, node: NodeID) {
        self.id = id
        self.node = node
    }

    /// From its `description`: a cursor that a client gives back.
    public init?(_ text: String) {
        let halves = text.split(separator: ".", maxSplits: 1)
        guard halves.count == 2, let id = Int64(halves[0]), let node = NodeID(String(halves[1])) else { return nil }
        self.init(id: id, node: node)
    }

    /// The lowest ID of calls of that time.
    public static func firstID(at time: Timestamp) -> Int64 { time.milliseconds &* idsPerMillisecond }

    /// About when it was: later only where a node had more than 1,024 calls in a millisecond, or a clock that went back.
    public var time: Timestamp { Timestamp(id / Self.idsPerMillisecond) }

    private static let idsPerMillisecond: Int64 = 1024

    public var description: String { "\(id).\(node)" }

    public static func < (a: AuditPlace, b: AuditPlace) -> Bool {
        a.id != b.id ? a.id < b.id : a.node.text.utf8.lexicographicallyPrecedes(b.node.text.utf8)
    }
}

/// Which recorded calls are wanted, newest first.
public struct AuditQuery: Sendable, Hashable {
    /// Only those before this place.
    public var before: AuditPlace?
    public var limit: Int
    /// Only those of this key or token; nil: of all.
    public var actor: String?
    /// Only those that are about this room.
    public var room: String?
    /// Only those of this kind, by the name that the OpenAPI document gives it.
    public var action: String?

    public init(
        before: AuditPlace? = nil, limit: Int, actor: String? = nil, room: String? = nil, action: String? = nil
    ) {
        self.before = before
        self.limit = limit
        self.actor = actor
        self.room = room
        self.action = action
    }
}
