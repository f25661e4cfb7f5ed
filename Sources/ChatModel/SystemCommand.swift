/// A command in the system group's log: a change of something that belongs to no room.
public enum SystemCommand: Sendable, Hashable {
    /// Creates the cluster with its first node, at the level of that node's program. A repeat changes nothing.
    case createCluster(id: String, shardCount: UInt16, node: NodeID, store: UInt64, level: FeatureLevel)
    /// Refuses every token of the user that was issued until now.
    case revoke(UserID)
    /// Bans or mutes a user in all rooms.
    /// - Parameters:
    ///   - seconds: 0 lifts; nil: for good.
    ///   - owes: the app has a webhook, to which this is owed.
    case sanction(UserID, SanctionKind, seconds: Int64?, reason: String?, owes: Bool)
    /// The webhook has been told of the sanctions up to that log index.
    case sanctionsTold(through: UInt64)
    /// Stores a setting; nil removes it.
    case put(setting: SettingName, value: [UInt8]?)
    /// Claims an idempotency key for a call whose work is not in this log.
    case begin
    /// Takes note of a nonce, which is the entry's key: it works once.
    case nonce
    /// Keeps the answer of a call that has claimed its key; nil gives the key back, because nothing was done.
    case finish(answer: [UInt8]?)
    /// Takes a node in, or notes what a known one newly says of itself. A known node's other store replaces the one
    /// that it had. Whether it drains, and when it was taken in, is not taken from the record.
    case addNode(NodeRecord)
    /// Takes a node out: it is not taken in again, with whatever store, before it is readmitted. Refused for the last
    /// one that holds rooms.
    /// - Parameter certificate: the SHA-256 of what it proved itself with, where that is known and nobody else's: who
    ///   shows it is refused under any name.
    case removeNode(NodeID, certificate: [UInt8]?)
    /// A node that was taken out may come again, with another store than it had.
    case readmitNode(NodeID)
    /// Begins or ends the emptying of a node.
    case setDraining(NodeID, Bool)
    /// Raises the cluster's feature level; nothing lowers it.
    /// - Parameter stores: of the nodes that have said that they can do it. Refused while others are listed.
    case raiseLevel(FeatureLevel, stores: [UInt64])
}

/// The result of an applied `SystemCommand`.
public enum SystemResult: Sendable, Hashable {
    /// Done, and nothing to tell. For `begin`: the key was not known, and is claimed.
    case done
    /// Tokens of the user issued at this time or before are refused.
    case revoked(at: Timestamp)
    /// The key is known: its call has ended with this answer.
    case answered([UInt8])
    /// The key is known: its call has begun, and how it ended is not known (yet).
    case begun
    /// Nothing was changed.
    case refused(ChatError)
}

/// The name of a setting of the whole cluster, 1-64 bytes.
public struct SettingName: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String

    public init?(_ text: String) {
        guard (1...Limits.opaqueIDBytes).contains(text.utf8.count) else { return nil }
        self.text = text
    }

    private init(known text: String) { self.text = text }

    /// App callbacks (PROTOCOL.md, "Webhooks").
    public static let webhook = SettingName(known: "webhook")
    /// Words and the pre-send hook (PROTOCOL.md, "Moderation").
    public static let moderation = SettingName(known: "moderation")

    public var description: String { text }
    public static func < (a: SettingName, b: SettingName) -> Bool { a.text < b.text }
}

/// A setting as it is in force.
public struct Setting: Sendable, Hashable {
    /// Only the part that put it knows its meaning.
    public var value: [UInt8]
    /// The log index that set it: a later one is higher.
    public var version: UInt64

    public init(value: [UInt8], version: UInt64) {
        self.value = value
        self.version = version
    }
}
