public import ChatModel
public import EventLoop
public import NodeLinkCore
import Synchronization

/// Sends over a ``ClusterLink`` from another loop: what one turn of this loop sends is handed over together at its end.
///
/// Bound to its own loop, where it is made and used. The frames of one sender and lane stay in order, and each is meant
/// for the connection that this loop knows of (``note(_:reachedBy:)``) when it is sent. It goes out on no other one:
/// what follows the end of a connection is done on every loop before anything is sent on the next, so what was sent
/// earlier belongs to the former one and is lost with it.
///
/// A frame that is lost is said to be: by the result, or by `onRefused`.
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
    private var connections = KnownConnections()
    private var isClosed = false

    /// On `loop` only, which holds it until it ends.
    ///
    /// - Parameter onRefused: called on `loop` with frames that the link did not take (``ClusterLink/send(_:on:to:)``), or
    ///     whose connection had ended before they came to the link's loop. From a link that is closed nothing comes back.
    public init(loop: EventLoop, link: LoopBound<ClusterLink>, onRefused: @escaping ([LinkParcel]) -> Void) {
        self.loop = loop
        self.link = link
        refused = LoopBound(onLoop: onRefused, loop: loop)
        loop.addTurnEnd(.flush) { [self] in deliverParcels() }
    }

    /// Sends `payload` after what was sent on the lane before.
    ///
    /// - Returns: false when this loop knows of no connection to the node, when too much waits, and on the link's own loop
    ///   when the link does not take it; nothing was sent then. Elsewhere what the link does not take comes back by
    ///   `onRefused`.
    public func send(_ payload: [UInt8], on lane: LinkLane, to node: NodeID) -> Bool {
        loop.checkIsolated()
        guard let parcel = connections.parcel(payload, on: lane, to: node) else { return false }
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

    /// The node is reached by that connection (``ClusterLink/connection(to:)``), or not any more (nil). To be called at
    /// each `LinkEvent.up` and `LinkEvent.down`, in their order with everything else that the link's loop tells this one,
    /// and before anything else is told of the event: on the link's own loop at once.
    public func note(_ node: NodeID, reachedBy connection: LinkPeers.ConnectionID?) {
        loop.checkIsolated()
        connections.note(node, reachedBy: connection)
    }

    /// The nodes that are reached, as far as this loop has heard.
    public var reached: [NodeID] {
        loop.checkIsolated()
        return connections.reached
    }

    /// Ends the connection on which what is sent here would go out (``ClusterLink/drop(_:because:)``); one that was made
    /// since stays.
    public func drop(_ node: NodeID, because error: LinkError) {
        loop.checkIsolated()
        guard let connection = connections[node] else { return }
        link.loop.execute { [link] in link.value.drop(connection, because: error) }
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

    private func deliverParcels() {
        guard !parcels.isEmpty || !receipts.isEmpty else { return }
        let (parcels, receipts, bytes) = (self.parcels, self.receipts, parcelBytes)
        (self.parcels, self.receipts, parcelBytes) = ([], [], 0)
        waiting.count.add(bytes, ordering: .relaxed)
        link.loop.execute { [link, refused, waiting] in
            let link = link.value
            for receipt in receipts { link.dealt(receipt) }
            var back: [LinkParcel] = []
            for var parcel in parcels where !link.send(parcel) {
                if link.isReached(parcel.node, by: parcel.connection) { parcel.refusedBy = parcel.connection }
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
