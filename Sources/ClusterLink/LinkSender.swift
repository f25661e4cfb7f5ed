public import ChatModel
public import EventLoop
public import LinkCore
import Synchronization

/// A frame for another node.
public struct LinkParcel: Sendable, Hashable {
    public var node: NodeID
    public var lane: LinkLane
    public var payload: [UInt8]
    /// How often the sender had heard that the node's connection had ended.
    var ends: UInt64 = 0
    /// The connection that has not taken it; nil where there was none.
    var refusedBy: LinkPeers.ConnectionID?

    public init(_ payload: [UInt8], on lane: LinkLane, to node: NodeID) {
        self.node = node
        self.lane = lane
        self.payload = payload
    }
}

/// Sends over a ``ClusterLink`` from another loop: what one turn of this loop sends is handed over together at its end.
///
/// Bound to its own loop, where it is made and used. Of one sender the frames of a lane stay in order, and none of them
/// goes out on another connection than the one for which it was meant: what was sent before this loop has heard of the
/// end of a connection (``noteEnd(of:)``) is lost with it, also if there is another one already.
public final class LinkSender {
    /// Payload bytes that may be on their way to the link's loop; what is offered beyond is not taken.
    public static let waitingBytesMax = LinkLane.calls.queueBytesMax + LinkLane.publications.queueBytesMax

    private let loop: EventLoop
    private let link: LoopBound<ClusterLink>
    private let refused: LoopBound<([LinkParcel]) -> Void>
    private let waiting = WaitingBytes()
    private var parcels: [LinkParcel] = []
    private var parcelBytes = 0
    private var receipts: [LinkReceipt] = []
    private var ends: [NodeID: UInt64] = [:]
    private var isClosed = false

    /// On `loop` only, which holds it until it ends.
    ///
    /// - Parameter onRefused: called on `loop` with frames that the link did not take (``ClusterLink/send(_:on:to:)``). From
    ///     a link that is closed nothing comes back.
    public init(loop: EventLoop, link: LoopBound<ClusterLink>, onRefused: @escaping ([LinkParcel]) -> Void) {
        self.loop = loop
        self.link = link
        refused = LoopBound(onLoop: onRefused, loop: loop)
        loop.addTurnEnd(.flush) { [self] in handOver() }
    }

    /// Sends `payload` after what was sent on the lane before.
    ///
    /// - Returns: false when too much waits, and on the link's own loop when the link does not take it; nothing was sent
    ///   then. Elsewhere what the link does not take comes back by `onRefused`.
    public func send(_ payload: [UInt8], on lane: LinkLane, to node: NodeID) -> Bool {
        loop.checkIsolated()
        var parcel = LinkParcel(payload, on: lane, to: node)
        parcel.ends = ends[node, default: 0]
        if loop === link.loop { return link.value.send(parcel) }
        guard !isClosed, parcelBytes + waiting.count.load(ordering: .relaxed) + payload.count <= Self.waitingBytesMax
        else {
            return false
        }
        wakeUp()
        parcels.append(parcel)
        parcelBytes += payload.count
        return true
    }

    /// The connection to a node has ended (`LinkEvent.down`), and this loop has done what follows from it. To be called
    /// once for each end.
    public func noteEnd(of node: NodeID) {
        loop.checkIsolated()
        ends[node, default: 0] += 1
    }

    /// Ends the connection on which what is sent here would go out (``ClusterLink/drop(_:because:)``).
    public func drop(_ node: NodeID, because error: LinkError) {
        loop.checkIsolated()
        let ends = ends[node, default: 0]
        // Here it is known which connection that is; one that is made before the job runs is another.
        let known: LinkPeers.ConnectionID?
        if loop === link.loop {
            guard let id = link.value.connection(to: node, afterEnds: ends) else { return }
            known = id
        } else {
            known = nil
        }
        link.loop.execute { [link] in
            let link = link.value
            if let id = known ?? link.connection(to: node, afterEnds: ends) { link.drop(id, because: error) }
        }
    }

    /// A frame is dealt with (``ClusterLink/dealt(_:)``).
    public func dealt(_ receipt: LinkReceipt) {
        loop.checkIsolated()
        if loop === link.loop { return link.value.dealt(receipt) }
        guard !isClosed else { return }
        wakeUp()
        receipts.append(receipt)
    }

    /// Takes nothing from now on, and forgets what this turn has sent. To be called before the link's loop ends.
    public func close() {
        loop.checkIsolated()
        isClosed = true
        (parcels, receipts, parcelBytes) = ([], [], 0)
    }

    /// Sees to it that the turn's end is still to come.
    private func wakeUp() {
        if parcels.isEmpty, receipts.isEmpty { loop.executeLater {} }
    }

    private func handOver() {
        guard !parcels.isEmpty || !receipts.isEmpty else { return }
        let (parcels, receipts, bytes) = (self.parcels, self.receipts, parcelBytes)
        (self.parcels, self.receipts, parcelBytes) = ([], [], 0)
        waiting.count.add(bytes, ordering: .relaxed)
        link.loop.execute { [link, refused, waiting] in
            let link = link.value
            for receipt in receipts { link.dealt(receipt) }
            var back: [LinkParcel] = []
            for var parcel in parcels where !link.send(parcel) {
                parcel.refusedBy = link.connection(to: parcel.node, afterEnds: parcel.ends)
                back.append(parcel)
            }
            waiting.count.subtract(bytes, ordering: .relaxed)
            // After the link was closed the loops may end in any order.
            guard !back.isEmpty, !link.isClosed else { return }
            refused.loop.execute { [back] in refused.value(back) }
        }
    }
}

/// Handed over to the link's loop and not taken up there.
private final class WaitingBytes: Sendable {
    let count = Atomic<Int>(0)
}
