import ChatModel

/// Which connections a node has to which others: one to each. A value: time comes in, and what is to be done comes out.
///
/// Each node calls each other node that it knows of. When both calls succeed, the connection that the node with the
/// smaller ID has made is kept; so both sides decide alike without asking each other. A node that has started anew
/// (another `boot`) takes the place of its former self at once, unless it comes with other data: then another process
/// has its ID, and the one that is connected stays.
public struct LinkPeers: Sendable {
    /// Names one connection on this node.
    public struct ConnectionID: Hashable, Sendable {
        public var number: UInt64
        public init(_ number: UInt64) { self.number = number }
    }

    /// An action for the shell.
    public enum Effect: Sendable, Hashable {
        /// Open a connection to that address, and send `hello` on it; report `connected` or `failed`.
        case call(NodeID, host: String, port: Int)
        /// Say why, and close.
        case refuse(ConnectionID, LinkError)
        /// Close without a word.
        case close(ConnectionID)
        /// A node without data has asked who this is: close when the hello of this side has arrived.
        case dismiss(ConnectionID)
        /// The node is reached by this connection from here on; queues and credit begin anew.
        case up(NodeID, ConnectionID, version: UInt32, boot: UInt64, store: UInt64)
        /// The node is not reached any more.
        case down(NodeID)
    }

    /// The first pause after a call that failed, in milliseconds; each one after it is up to twice as long.
    public static let firstPause: UInt64 = 100
    /// The longest pause.
    public static let longestPause: UInt64 = 5_000
    /// A connection that has ended sooner was no success: the next call waits longer, as after one that failed. Otherwise
    /// two nodes of which one finds fault with the other would call without a pause.
    public static let trialTime: UInt64 = 5_000
    /// The node with the greater ID leaves the first call to the other for so long, unless it is told otherwise.
    public static let courtesyDefault: UInt64 = 1_000

    private enum Calling: Sendable, Hashable {
        case notBefore(UInt64)
        case underWay
    }

    private struct Link: Sendable, Hashable {
        var connection: ConnectionID
        var boot: UInt64
        var store: UInt64
        /// SHA-256 of its certificate, if it has one.
        var certificate: [UInt8]?
        /// Whether this node has made it.
        var isOurs: Bool
        var since: UInt64
    }

    private struct Peer: Sendable {
        var host: String
        var port: Int
        /// nil for a node that has called and that this node was not told of.
        var isKnown: Bool
        var calling: Calling
        var failures = 0
        var link: Link?
    }

    private var me: LinkHello
    private let courtesy: UInt64
    private var peers: [NodeID: Peer] = [:]
    private var nodes: [ConnectionID: NodeID] = [:]
    private var refused = RefusedNodes()

    /// - Parameter courtesy: for how long the node with the greater ID leaves the first call to the other, in
    ///   milliseconds.
    public init(me: LinkHello, courtesy: UInt64 = courtesyDefault) {
        self.me = me
        self.courtesy = courtesy
    }

    /// The cluster's feature level from here on: nodes that can't do it are not reached by new connections.
    public mutating func use(level: FeatureLevel) { me.clusterLevel = level }

    /// The nodes that are reached.
    public var reached: [NodeID] { peers.filter { $0.value.link != nil }.keys.sorted() }

    /// The connection to that node, if there is one.
    public func connection(to node: NodeID) -> ConnectionID? { peers[node]?.link?.connection }

    /// When `tick` will have something to do; nil while there is nobody to call.
    public var nextCall: UInt64? {
        var next: UInt64?
        for peer in peers.values where peer.isKnown && peer.link == nil {
            guard case .notBefore(let time) = peer.calling else { continue }
            next = min(next ?? time, time)
        }
        return next
    }

    // MARK: - Whom to call

    /// There is such a node, at that address from now on.
    public mutating func know(_ node: NodeID, host: String, port: Int, at now: UInt64) {
        guard node != me.node else { return }
        if peers[node] != nil {
            if peers[node]?.host != host || peers[node]?.port != port { peers[node]?.failures = 0 }
            peers[node]?.host = host
            peers[node]?.port = port
            peers[node]?.isKnown = true
            return
        }
        let first = me.node < node ? now : now + courtesy
        peers[node] = Peer(host: host, port: port, isKnown: true, calling: .notBefore(first))
    }

    /// The node is there, as others say: it is called without the rest of the pause.
    public mutating func hurry(_ node: NodeID, at now: UInt64) {
        guard let peer = peers[node], peer.link == nil, case .notBefore(let time) = peer.calling else { return }
        peers[node]?.calling = .notBefore(min(time, now))
    }

    /// There is no such node any more: its connection ends.
    public mutating func forget(_ node: NodeID) -> [Effect] {
        guard let peer = peers.removeValue(forKey: node) else { return [] }
        guard let link = peer.link else { return [] }
        nodes[link.connection] = nil
        return [.close(link.connection), .down(node)]
    }

    /// These are not heard any more, from now on and on the connections that there are.
    public mutating func refuse(_ refused: RefusedNodes) -> [Effect] {
        self.refused = refused
        return peers.keys.sorted().compactMap { node in
            guard let link = peers[node]?.link,
                let error = refusal(of: node, store: link.store, certificate: link.certificate)
            else { return nil }
            return .refuse(link.connection, error)
        }
    }

    private func refusal(of node: NodeID, store: UInt64, certificate: [UInt8]?) -> LinkError? {
        if refused.nodes.contains(node) || certificate.map(refused.certificates.contains) == true {
            return LinkError(
                .removed,
                "\(node) was taken out of the cluster, or shows the certificate of a node that was; to take it in again, "
                    + "readmit it (chatroomctl cluster readmit), remove its data directory and start it")
        }
        guard refused.stores[node]?.contains(store) == true else { return nil }
        return LinkError(
            .removed, "\(node) has data that was taken out of the cluster; remove its data directory and start it")
    }

    /// Whether a node that this one was told of is at that address.
    public func hasNode(at host: String) -> Bool { peers.values.contains { $0.isKnown && $0.host == host } }

    /// Time has passed: whom to call now.
    public mutating func tick(at now: UInt64) -> [Effect] {
        var effects: [Effect] = []
        for node in peers.keys.sorted() {
            guard let peer = peers[node], peer.isKnown, peer.link == nil, case .notBefore(let time) = peer.calling,
                time <= now
            else { continue }
            peers[node]?.calling = .underWay
            effects.append(.call(node, host: peer.host, port: peer.port))
        }
        return effects
    }

    /// The call to that node has come to nothing: no connection, no hello in time, or a refusal.
    /// - Parameter random: from 0 to below 1.
    public mutating func failed(_ node: NodeID, at now: UInt64, random: Double) {
        guard let peer = peers[node], peer.calling == .underWay else { return }
        // Full jitter, but never at once.
        let pause = UInt64(Double(longestPause(after: peer.failures)) * max(0, min(1, random))) + Self.firstPause / 2
        peers[node]?.failures = min(peer.failures, 16) + 1
        peers[node]?.calling = .notBefore(now + pause)
    }

    private func longestPause(after failures: Int) -> UInt64 {
        min(Self.longestPause, Self.firstPause << UInt64(min(failures, 16)))
    }

    // MARK: - Connections

    /// The other side of a connection has said hello, and proved it (``LinkGreeting``).
    ///
    /// - Parameters:
    ///   - expected: whom this node has called; nil when it was called.
    ///   - certified: the node that the other's certificate names, if there are certificates.
    ///   - certificate: the SHA-256 of that.
    public mutating func hello(
        _ other: LinkHello, on connection: ConnectionID, expected: NodeID?, certified: NodeID?,
        certificate: [UInt8]? = nil, at now: UInt64
    ) -> [Effect] {
        let version: UInt32
        do throws(LinkError) {
            if other.isNewcomer, expected == nil {
                _ = try me.understand(other, certified: certified)
                // It would be taken in, in place of a node that runs, whose data would be refused from then on.
                guard other.node != me.node, peers[other.node]?.link == nil else { throw Self.taken(other.node) }
                return [.dismiss(connection)]
            }
            version = try me.agree(with: other, expected: expected, certified: certified)
            if let refusal = refusal(of: other.node, store: other.store, certificate: certificate) { throw refusal }
        } catch {
            // The caller's shell reports `failed` when the connection is gone.
            return [.refuse(connection, error)]
        }
        let node = other.node
        let new = Link(
            connection: connection, boot: other.boot, store: other.store, certificate: certificate,
            isOurs: expected != nil, since: now)
        var effects: [Effect] = []
        if let old = peers[node]?.link {
            // A machine that was replaced is silent for some seconds, and then there is no link to it.
            guard old.store == new.store else { return [.refuse(connection, Self.taken(node))] }
            guard old.boot != new.boot || isPreferred(new, over: old, with: node) else {
                return [.refuse(connection, LinkError(.duplicate, "\(me.node) and \(node) are connected already"))]
            }
            nodes[old.connection] = nil
            effects += [.close(old.connection), .down(node)]
        }
        if peers[node] == nil {
            peers[node] = Peer(host: "", port: 0, isKnown: false, calling: .notBefore(now))
        }
        peers[node]?.link = new
        if expected != nil { peers[node]?.calling = .notBefore(now) }
        nodes[connection] = node
        return effects + [.up(node, connection, version: version, boot: other.boot, store: other.store)]
    }

    private static func taken(_ node: NodeID) -> LinkError {
        LinkError(
            .taken,
            "a node \(node) is connected, and another process with that ID and other data calls: stop it, or give it a "
                + "nodeId of its own")
    }

    /// When both sides have connected at the same time, the connection of the smaller ID stays. When one side has made
    /// both, the newer one stays: the older one must be dead.
    private func isPreferred(_ new: Link, over old: Link, with node: NodeID) -> Bool {
        guard new.isOurs != old.isOurs else { return true }
        return new.isOurs == (me.node < node)
    }

    /// The connection is gone.
    public mutating func closed(_ connection: ConnectionID, at now: UInt64) -> [Effect] {
        guard let node = nodes.removeValue(forKey: connection), peers[node]?.link?.connection == connection else {
            return []
        }
        guard peers[node]?.isKnown == true else {
            peers[node] = nil
            return [.down(node)]
        }
        let isOnTrial = peers[node]?.link.map { now - min($0.since, now) < Self.trialTime } ?? false
        // Only the other side paces its own calls: a node that stood still finds the calls that were given up
        // meanwhile, each of which comes up and ends at once, and must not wait because of them.
        let isOurs = peers[node]?.link?.isOurs ?? false
        let failures = isOnTrial ? min(peers[node]?.failures ?? 0, 16) + (isOurs ? 1 : 0) : 0
        peers[node]?.failures = failures
        peers[node]?.link = nil
        if peers[node]?.calling != .underWay {
            let pause = failures > 0 ? longestPause(after: failures - 1) : 0
            peers[node]?.calling = .notBefore(now + pause + (me.node < node ? 0 : Self.firstPause))
        }
        return [.down(node)]
    }
}
