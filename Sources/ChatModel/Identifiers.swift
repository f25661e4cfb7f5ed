/// A name that an app chose for a user or a room (PROTOCOL.md, "Names and limits"): 1-64 bytes of
/// `[A-Za-z0-9_.@:#|+~!$-]`, not `.` or `..`.
enum AppName {
    static let bytesMax = 64

    static func isValid(_ text: String) -> Bool {
        let utf8 = text.utf8
        guard !utf8.isEmpty, utf8.count <= bytesMax else { return false }
        if utf8.count <= 2, utf8.allSatisfy({ $0 == UInt8(ascii: ".") }) { return false }
        // Read where the bytes lie: the view's own steps cost several times as much, and each command names three.
        return utf8.withContiguousStorageIfAvailable { $0.allSatisfy(isAllowed) } ?? utf8.allSatisfy(isAllowed)
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        case UInt8(ascii: "_"), UInt8(ascii: "."), UInt8(ascii: "@"), UInt8(ascii: ":"), UInt8(ascii: "#"),
            UInt8(ascii: "|"), UInt8(ascii: "+"), UInt8(ascii: "~"), UInt8(ascii: "!"), UInt8(ascii: "$"),
            UInt8(ascii: "-"):
            true
        default:
            false
        }
    }
}

/// The ID of a chatroom, chosen by the app or generated.
public struct RoomID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String

    /// Returns nil for text that breaks the rule of PROTOCOL.md, "Names and limits".
    public init?(_ text: String) {
        guard AppName.isValid(text) else { return nil }
        self.text = text
    }

    public var description: String { text }
    public static func < (a: RoomID, b: RoomID) -> Bool { a.text < b.text }
}

/// An account ID of the app.
public struct UserID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String

    /// Returns nil for text that breaks the rule of PROTOCOL.md, "Names and limits".
    public init?(_ text: String) {
        guard AppName.isValid(text) else { return nil }
        self.text = text
    }

    public var description: String { text }
    public static func < (a: UserID, b: UserID) -> Bool { a.text < b.text }
}

/// A node of the cluster, as named in its configuration: the same alphabet as a user ID.
public struct NodeID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let text: String

    public init?(_ text: String) {
        guard AppName.isValid(text) else { return nil }
        self.text = text
    }

    public var description: String { text }
    public static func < (a: NodeID, b: NodeID) -> Bool { a.text < b.text }
}

/// One client's stay on the cluster. Opaque to clients, and unguessable.
public struct SessionID: Hashable, Sendable, CustomStringConvertible {
    /// At most 64 bytes (PROTOCOL.md, "Names and limits").
    public let text: String
    /// The text's, in this process: a request looks its session up in several tables, and nobody reads all bytes for each.
    private let textHash: Int

    public init?(_ text: String) {
        guard !text.isEmpty, text.utf8.count <= Self.bytesMax else { return nil }
        self.text = text
        textHash = text.hashValue
    }

    /// A secret, and behind it the node where the session begins (``birthplaceText(of:)``).
    /// - Parameter secret: ``secretBytes`` bytes of `[A-Za-z0-9_-]`.
    public init(secret: String, at node: NodeID) {
        precondition(secret.utf8.count == Self.secretBytes, "a secret has \(Self.secretBytes) bytes")
        text = secret + "-" + Self.birthplaceText(of: node)
        textHash = text.hashValue
    }

    public static func == (one: SessionID, other: SessionID) -> Bool {
        one.textHash == other.textHash && one.text == other.text
    }

    public func hash(into hasher: inout Hasher) { hasher.combine(textHash) }

    /// The part that nobody can guess.
    public var secret: Substring.UTF8View { text.utf8.prefix(Self.secretBytes) }

    /// The node where it began, as its ``birthplaceText(of:)``; nil where it says none. Clients can say anything.
    public var birthplace: Substring.UTF8View? {
        let rest = text.utf8.dropFirst(Self.secretBytes)
        return rest.first == UInt8(ascii: "-") ? rest.dropFirst() : nil
    }

    /// Whether it has the form of the IDs that nodes make: a secret, and the birthplace.
    public var isWellFormed: Bool {
        guard secret.count == Self.secretBytes, birthplace?.isEmpty == false else { return false }
        return secret.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
    }

    /// Whether it began at that node, as far as it says; it may be held by another one since.
    public func isBorn(at node: NodeID) -> Bool {
        birthplace?.elementsEqual(Self.birthplaceText(of: node).utf8) ?? false
    }

    /// The name of a node in the IDs of the sessions that begin there: its beginning and a hash where it is too long.
    public static func birthplaceText(of node: NodeID) -> String {
        guard node.text.utf8.count > birthplaceBytesMax else { return node.text }
        let hash = String(FNV1a.hash(of: node.text), radix: 16)
        return String(node.text.prefix(birthplaceBytesMax - 9)) + "~" + String(repeating: "0", count: 8 - hash.count)
            + hash
    }

    public static let secretBytes = 36
    private static let bytesMax = 64
    private static let birthplaceBytesMax = bytesMax - secretBytes - 1

    public var description: String { text }
}

/// The number of a shard, 0 ..< the cluster's shard count.
public struct ShardID: Hashable, Sendable, Comparable, CustomStringConvertible {
    public let number: UInt16

    public init(_ number: UInt16) { self.number = number }

    public var description: String { String(number) }
    public static func < (a: ShardID, b: ShardID) -> Bool { a.number < b.number }
}

/// Which life of a room ID this is. In front it has the index of the log entry that created it, so it is unique in its
/// shard and grows; behind it 24 bits of the room ID's hash, so that rooms of different shards, whose logs count alike,
/// do not have the same message IDs.
public struct Incarnation: Hashable, Sendable, Comparable {
    public let number: UInt64

    public init(_ number: UInt64) { self.number = number }

    public init(of room: RoomID, createdAt index: UInt64) {
        self.init(index &<< 24 | UInt64(FNV1a.hash(of: room.text) & 0xff_ffff))
    }

    public static func < (a: Incarnation, b: Incarnation) -> Bool { a.number < b.number }

    /// The epoch of the room (PROTOCOL.md, "Resume").
    /// - Parameter generation: how often the cluster was made from a backup: that gives seqs out again.
    public func epoch(generation: UInt64) -> String {
        let life = String(number, radix: 36)
        return generation == 0 ? life : life + "." + String(generation, radix: 36)
    }

    /// The life that an epoch names; nil for a text that is none.
    public init?(epoch: String) {
        guard let number = UInt64(epoch.prefix { $0 != "." }, radix: 36) else { return nil }
        self.init(number)
    }
}

/// Milliseconds since 1970-01-01T00:00:00Z, as in every `time` and `…At` of the protocol.
public struct Timestamp: Hashable, Sendable, Comparable {
    public let milliseconds: Int64

    public init(_ milliseconds: Int64) { self.milliseconds = milliseconds }

    public static let millisecondsPerDay: Int64 = 86_400_000

    /// As the deadline of a row: not due at any time, but a new leader of the shard must load the room, because
    /// something in it ends with a presence that it does not know.
    public static let atNewLeader = Timestamp(.max)

    /// The UTC day, counted from 1970-01-01.
    public var day: Int64 {
        let (quotient, remainder) = milliseconds.quotientAndRemainder(dividingBy: Self.millisecondsPerDay)
        return remainder < 0 ? quotient - 1 : quotient
    }

    /// Later by `seconds`; saturates instead of trapping.
    public func adding(seconds: Int64) -> Timestamp {
        adding(milliseconds: seconds.multipliedReportingOverflow(by: 1000).overflow ? .max : seconds * 1000)
    }

    /// Later by `delta`; saturates instead of trapping.
    public func adding(milliseconds delta: Int64) -> Timestamp {
        let (sum, overflow) = milliseconds.addingReportingOverflow(delta)
        return Timestamp(overflow ? (delta > 0 ? .max : .min) : sum)
    }

    public static func < (a: Timestamp, b: Timestamp) -> Bool { a.milliseconds < b.milliseconds }
}

/// FNV-1a, 32 bits (draft-eastlake-fnv): the same on every node.
private enum FNV1a {
    static func hash(of text: String) -> UInt32 {
        text.utf8.reduce(0x811c_9dc5) { ($0 ^ UInt32($1)) &* 0x0100_0193 }
    }
}
