import ChatModel
import Wire

/// The first frame of both sides of a connection, before anything else.
public struct LinkHello: WireMessage, Sendable, Hashable {
    /// The versions of the link that this program speaks: how a connection begins, and its frames. A message with a new
    /// meaning is not a new version: a feature level brings it, so that nobody says what not every node understands.
    /// Versions before 6 were never released.
    public static let versions: ClosedRange<UInt32> = 6...6
    /// Bytes of `nonce`.
    public static let nonceBytes = 32

    public var oldestVersion = versions.lowerBound
    public var newestVersion = versions.upperBound
    /// Made when the cluster was created. Empty: the node has no data yet and asks which cluster this is; such a hello
    /// is answered and never makes a link.
    public var cluster: String
    public var node: NodeID
    /// The store of the data directory (`ServerID.store`).
    public var store: UInt64
    /// Random, made when the program started: tells a node that has started anew from one that is still there.
    public var boot: UInt64
    /// How many shards the cluster has.
    public var shards: UInt32
    /// Random, of this connection alone: the other proves its key with it.
    public var nonce: [UInt8] = []
    /// The highest feature level that this program can do.
    public var level = FeatureLevel.first
    /// The cluster's, as far as this node has heard.
    public var clusterLevel = FeatureLevel.first

    public init(cluster: String, node: NodeID, store: UInt64, boot: UInt64, shards: UInt32) {
        self.cluster = cluster
        self.node = node
        self.store = store
        self.boot = boot
        self.shards = shards
    }

    /// The hello of a node that has no data yet.
    public static func newcomer(_ node: NodeID) -> LinkHello {
        LinkHello(cluster: "", node: node, store: 0, boot: 0, shards: 0)
    }

    /// Whether it comes from a node that has no data yet.
    public var isNewcomer: Bool { cluster.isEmpty }

    public static var blank: LinkHello { LinkHello(cluster: "", node: .blank, store: 0, boot: 0, shards: 0) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "oldestVersion", &oldestVersion, .none)
        try walker.required(2, "newestVersion", &newestVersion, .none)
        try walker.required(3, "cluster", &cluster, .bytes(64))
        try walker.required(4, "node", &node, .none)
        try walker.required(5, "store", &store, .none)
        try walker.required(6, "boot", &boot, .none)
        try walker.required(7, "shards", &shards, .none)
        try walker.shown(8, "nonce", &nonce, .bytes(Self.nonceBytes))
        var (level, clusterLevel) = (Int64(level.number), Int64(clusterLevel.number))
        try walker.defaulted(9, "featureLevel", &level, default: 1)
        try walker.defaulted(10, "clusterLevel", &clusterLevel, default: 1)
        guard W.isDecoding else { return }
        self.level = FeatureLevel(Int(clamping: level))
        self.clusterLevel = FeatureLevel(Int(clamping: clusterLevel))
    }

    /// The version that both speak: the newest.
    ///
    /// - Parameters:
    ///   - expected: whom this side called; nil when it was called.
    ///   - certified: the node that the other's certificate names; nil on loopback without certificates.
    /// - Throws: `version`, `cluster`, `identity`, `shards`.
    public func agree(with other: LinkHello, expected: NodeID?, certified: NodeID?) throws(LinkError) -> UInt32 {
        let version = try understand(other, certified: certified)
        guard !other.isNewcomer, other.cluster == cluster else {
            throw LinkError(
                .cluster, "\(other.node) belongs to the cluster \(other.shownCluster), \(node) to \(cluster)")
        }
        if let expected, expected != other.node {
            throw LinkError(.identity, "\(other.node) answers at the address of \(expected)")
        }
        guard other.node != node else { throw LinkError(.identity, "\(node) has called itself") }
        guard other.shards == shards else {
            throw LinkError(.shards, "\(other.node) has \(other.shards) shards, \(node) \(shards)")
        }
        return version
    }

    /// Checks what must hold even where one of the two has no data yet: a common version, which is returned, a program
    /// that can do the other's cluster's feature level, and a certificate of the node that shows it.
    ///
    /// - Throws: `version`, `level`, `identity`.
    public func understand(_ other: LinkHello, certified: NodeID?) throws(LinkError) -> UInt32 {
        // The other's version is looked at first: what else it says may mean something else in another version.
        let oldest = max(oldestVersion, other.oldestVersion)
        let newest = min(newestVersion, other.newestVersion)
        guard oldest <= newest else {
            throw LinkError(
                .version,
                "\(other.node) speaks versions \(other.oldestVersion) to \(other.newestVersion) of the link, "
                    + "\(node) \(oldestVersion) to \(newestVersion)")
        }
        try Self.requireLevel(self, of: other)
        try Self.requireLevel(other, of: self)
        if let certified, certified != other.node {
            throw LinkError(.identity, "the certificate of \(certified) was shown by \(other.node)")
        }
        return newest
    }

    /// For people: it may come from somebody who proves nothing.
    private var shownCluster: String {
        cluster.utf8.allSatisfy { (0x21...0x7E).contains($0) } ? cluster : "(no name of a cluster)"
    }

    private static func requireLevel(_ member: LinkHello, of cluster: LinkHello) throws(LinkError) {
        guard member.level < cluster.clusterLevel else { return }
        throw LinkError(
            .level,
            "\(member.node) can do feature level \(member.level), and the cluster of \(cluster.node) has "
                + "\(cluster.clusterLevel): start the version that the other nodes run, or a newer one")
    }
}

/// The last frame of a side that does not want the connection.
public struct LinkRefusal: WireMessage, Sendable, Hashable {
    public var error: LinkError

    public init(_ error: LinkError) { self.error = error }

    public static var blank: LinkRefusal { LinkRefusal(LinkError(.closed, "")) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        var code = error.code.rawValue
        try walker.required(1, "code", &code, .nonEmptyBytes(64))
        try walker.shown(2, "message", &error.message, .bytes(1 << 10))
        // One of a later version is no reason to keep the connection.
        if W.isDecoding { error.code = LinkError.Code(rawValue: code) ?? .closed }
    }
}
