public import ChatModel
public import EventLoop
public import NodeLinkCore
import TLS
public import Transport

/// A node's connections to the other nodes: drives `LinkPeers` and, on each connection, `LinkOutbox` and `LinkCredit`
/// over TCP.
///
/// Bound to its loop: everything, and all calls of observers and receivers, happen there; ``LinkSender`` sends from other
/// loops. It has no listener: connections to the link port are given to ``accept(_:received:)``. The loop and the
/// connections keep it alive.
///
/// Frames that are sent in one turn leave in one write at its end. A connection that ends loses what was under way:
/// whoever needs an answer repeats at the next `up`.
public final class ClusterLink {
    /// The loop to which it belongs.
    public let loop: EventLoop

    var hello: LinkHello
    let configuration: ClusterLinkConfiguration
    var tls: LinkTLS?
    var keys: LinkKeys
    let tlsOutput = TLSOutput()
    var peers: LinkPeers
    var links: [LinkPeers.ConnectionID: LinkConnection] = [:]
    var reachedBy: [NodeID: LinkConnection] = [:]
    /// The certificate of each node that was reached last; no more of them than known nodes.
    var certificates: [NodeID: LinkCertificate] = [:]
    /// Calls whose connection is not established, by their number.
    var calls: [NodeID: UInt64] = [:]
    var lastNumber: UInt64 = 0
    var strangers: StrangerPlaces<LinkPeers.ConnectionID>
    var dirty: [LinkConnection] = []
    var writeBuffer: [UInt8] = []
    var wakeUp: (due: UInt64, timer: LoopTimer)?
    var observers: [(LinkEvent) -> Void] = []
    private var receivers = [((NodeID, [UInt8], LinkReceipt) -> Void)?](repeating: nil, count: LinkLane.allCases.count)
    private(set) var isClosed = false

    /// On the loop only.
    ///
    /// - Parameters:
    ///   - hello: what this node says about itself.
    ///   - keys: what both sides of each connection prove themselves with.
    ///   - tls: with it every connection is secured; without it only connections of this machine (loopback) are made or
    ///     accepted.
    public init(
        loop: EventLoop, hello: LinkHello, configuration: ClusterLinkConfiguration = ClusterLinkConfiguration(),
        keys: LinkKeys, tls: LinkTLS?
    ) {
        self.loop = loop
        self.hello = hello
        self.configuration = configuration
        self.keys = keys
        self.tls = tls
        strangers = StrangerPlaces(
            configuration.strangers, patience: configuration.strangers.patience.wholeMilliseconds)
        peers = LinkPeers(me: hello, courtesy: configuration.courtesy.wholeMilliseconds)
        loop.addTurnEnd(.flush) { [self] in flush() }
    }

    // MARK: - For the node

    /// Calls `observer` with what happens, on the loop, for good. To be set up before the first ``know(_:host:port:)``
    /// and ``accept(_:received:)``.
    public func observe(_ observer: @escaping (LinkEvent) -> Void) {
        loop.checkIsolated()
        observers.append(observer)
    }

    /// Gives the frames of a lane to `receive`, on the loop, in the order in which each node has sent them. When it
    /// returns, the frame is dealt with.
    public func onFrame(_ lane: LinkLane, _ receive: @escaping (_ node: NodeID, _ payload: [UInt8]) -> Void) {
        onHeldFrame(lane) { [self] node, payload, receipt in
            receive(node, payload)
            dealt(receipt)
        }
    }

    /// Gives the frames of a lane to `receive`, which sees that each receipt comes back by ``dealt(_:)`` when the frame
    /// is dealt with. Until then the frame counts against the lane's window.
    public func onHeldFrame(_ lane: LinkLane, _ receive: @escaping (NodeID, [UInt8], LinkReceipt) -> Void) {
        loop.checkIsolated()
        precondition(lane != .control, "the control lane is the link's own")
        receivers[Int(lane.rawValue)] = receive
    }

    /// A frame is dealt with. It means nothing for a connection that has ended.
    public func dealt(_ receipt: LinkReceipt) {
        loop.checkIsolated()
        guard let link = links[receipt.connection] else { return }
        do throws(LinkError) {
            if try link.conversation.dealt(with: receipt.lane, bytes: receipt.bytes) { mark(link) }
        } catch {
            fail(link, error)
        }
    }

    /// Sends `payload` after what was sent on the lane before.
    ///
    /// - Returns: false when the node is not reached, the lane is full or the payload over its bound (`LinkOutbox.offer`
    ///   says what to do then); nothing was sent.
    public func send(_ payload: [UInt8], on lane: LinkLane, to node: NodeID) -> Bool {
        loop.checkIsolated()
        precondition(lane != .control, "the control lane is the link's own")
        guard let link = reachedBy[node], link.conversation.offer(LinkFrame(lane, payload)) else { return false }
        mark(link)
        return true
    }

    /// Sends what another loop, or this one, has meant for the connection that it knows of.
    /// - Returns: as ``send(_:on:to:)``; false also for what was meant for a connection that has ended, and is lost with
    ///   it.
    func send(_ parcel: LinkParcel) -> Bool {
        guard parcel.mayGo(reachedBy: reachedBy[parcel.node]?.id) else { return false }
        return send(parcel.payload, on: parcel.lane, to: parcel.node)
    }

    func isReached(_ node: NodeID, by connection: LinkPeers.ConnectionID) -> Bool {
        reachedBy[node]?.id == connection
    }

    /// The connection by which a node is reached; nil when it is not. Each connection has another name.
    public func connection(to node: NodeID) -> LinkPeers.ConnectionID? {
        loop.checkIsolated()
        return reachedBy[node]?.id
    }

    /// Bytes that wait here for that node.
    public func waitingBytes(on lane: LinkLane, to node: NodeID) -> Int {
        loop.checkIsolated()
        return reachedBy[node]?.conversation.outbox.waitingBytes(lane) ?? 0
    }

    /// The cluster's feature level, as new connections tell and ask for it.
    public func use(level: FeatureLevel) {
        loop.checkIsolated()
        hello.clusterLevel = level
        peers.use(level: level)
    }

    /// The nodes that are reached.
    public var reached: [NodeID] {
        loop.checkIsolated()
        return peers.reached
    }

    /// Connections that have not ended, those without a hello included.
    public var connectionCount: Int {
        loop.checkIsolated()
        return links.count
    }

    /// Connections that others have begun and that have not shown who they are.
    public var strangerCount: Int {
        loop.checkIsolated()
        return strangers.count
    }

    /// There is such a node, reached at that address from now on: it is called until there is a connection.
    public func know(_ node: NodeID, host: String, port: Int) {
        peers.know(node, host: host, port: port, at: loop.nowMilliseconds)
        setTimer()
    }

    /// The node is there, as others say: it is called without the rest of the pause.
    public func hurry(_ node: NodeID) {
        peers.hurry(node, at: loop.nowMilliseconds)
        setTimer()
    }

    /// There is no such node any more.
    public func forget(_ node: NodeID) {
        loop.checkIsolated()
        calls[node] = nil
        certificates[node] = nil
        for link in links.values where link.called == node && !link.isGone && reachedBy[node] !== link {
            link.close()
            gone(link)
        }
        perform(peers.forget(node))
    }

    /// The node has sent what it must not send: the connection ends, and the node is told why. It may call again.
    public func drop(_ node: NodeID, because error: LinkError) {
        loop.checkIsolated()
        if let link = reachedBy[node] { fail(link, error) }
    }

    /// The same for the connection that has not taken a frame; one that was made since stays. Where there was none,
    /// nothing that the next one brings is missing: it begins behind what was lost.
    public func drop(_ parcel: LinkParcel, because error: LinkError) {
        if let id = parcel.refusedBy { drop(id, because: error) }
    }

    func drop(_ id: LinkPeers.ConnectionID, because error: LinkError) {
        loop.checkIsolated()
        if let link = links[id] { fail(link, error) }
    }

    /// New connections use other certificates; those that exist keep theirs. A link begun without TLS stays without.
    public func use(_ tls: LinkTLS) {
        loop.checkIsolated()
        if self.tls != nil { self.tls = tls }
    }

    /// Proves itself by these from now on. Connections that exist stay.
    public func use(_ keys: LinkKeys) {
        loop.checkIsolated()
        self.keys = keys
    }

    /// These are not heard any more (`LinkPeers.refuse`).
    public func refuse(_ refused: RefusedNodes) {
        loop.checkIsolated()
        perform(peers.refuse(refused))
    }

    /// The certificate with which the node has proved itself last; nil without TLS, and when it was not reached yet.
    public func certificate(of node: NodeID) -> LinkCertificate? {
        loop.checkIsolated()
        return certificates[node]
    }

    /// Whether a node is known at that address: who comes from there finds a place.
    public func hasNode(at host: String) -> Bool {
        loop.checkIsolated()
        return peers.hasNode(at: host)
    }

    /// Takes over a connection to the link port, with what was read of it; it has no handler.
    public func accept(_ connection: TCPConnection, received: [UInt8] = []) {
        loop.checkIsolated()
        guard !isClosed else { return connection.close() }
        let host = connection.remoteAddress
        let admission = strangers.admit(
            LinkPeers.ConnectionID(lastNumber + 1), from: host, isKnown: peers.hasNode(at: host),
            hasSpoken: !received.isEmpty, at: loop.nowMilliseconds)
        guard case .admitted(let displaced) = admission else { return connection.close() }
        if let displaced, let link = links[displaced] {
            link.close()
            gone(link)
        }
        open(connection, called: nil, received)
    }

    /// Ends all connections without a word; observers hear nothing of it. Idempotent.
    public func close() {
        loop.checkIsolated()
        isClosed = true
        wakeUp?.timer.cancel()
        wakeUp = nil
        calls = [:]
        reachedBy = [:]
        for link in links.values { link.close() }
        observers = []
        receivers = receivers.map { _ in nil }
    }
}

extension ClusterLink: LinkConnectionOwner {
    func link(_ link: LinkConnection, didReceive frame: LinkFrame) {
        do throws(LinkError) {
            switch try link.heard(frame) {
            case .nothing: break
            case .mayWrite: mark(link)
            case .greeted(let other, let proof): try greeted(other, owing: proof, link)
            case .refused(let error):
                link.close()
                gone(link, error)
            case .frame(let frame, let node):
                let receipt = LinkReceipt(connection: link.id, lane: frame.lane, bytes: frame.byteCount)
                guard let receive = receivers[Int(frame.lane.rawValue)] else { return dealt(receipt) }
                receive(node, frame.payload, receipt)
            }
        } catch {
            fail(link, error)
        }
    }

    /// Nothing is done for anybody before it has proved who it is; then, and not before, it may replace a connection.
    private func greeted(_ other: LinkHello, owing proof: LinkFrame?, _ link: LinkConnection) throws(LinkError) {
        let effects = peers.hello(
            other, on: link.id, expected: link.called,
            certified: try link.certified(other.node), certificate: link.certificate?.fingerprint,
            at: loop.nowMilliseconds)
        let isRefused = effects.contains { if case .refuse(link.id, _) = $0 { true } else { false } }
        if let proof, !isRefused, link.conversation.offer(proof) { mark(link) }
        perform(effects)
    }

    func link(_ link: LinkConnection, didFail error: LinkError) { fail(link, error) }

    func linkDidDrain(_ link: LinkConnection) { mark(link) }

    func linkDidClose(_ link: LinkConnection, _ error: LinkError) {
        guard links.removeValue(forKey: link.id) != nil else { return }
        strangers.leave(link.id)
        guard !isClosed else { return }
        gone(link, error)
    }
}
