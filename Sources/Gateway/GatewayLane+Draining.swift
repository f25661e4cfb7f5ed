import EventLoop
import RoomProtocol
import SessionCore
import Transport
import Wire

/// A planned stop: clients go while their connections here still work (PROTOCOL.md, "Moving").
extension GatewayLane {
    /// Tells every client to make a connection elsewhere, within a window in which all of them find a place. Nobody new is
    /// accepted: a proxy would send those who go back here, where the fewest connections are, and sees no refusal but this one.
    func beginDraining(windowMs: Int64) {
        isDraining = true
        listener?.close()
        listener = nil
        askAllToMove(windowMs: windowMs)
    }

    /// The connections here go on until the new ones are there. One frame for all who are to try the same gateway first.
    func askAllToMove(windowMs: Int64) {
        let count = UInt64(max(1, gatewaysElsewhere(0).count))
        let byFirst = Dictionary(grouping: sessions.values) { ($0.connection?.number ?? 0) % count }
        for (first, some) in byFirst {
            let push = ReconnectPush(minMs: 0, maxMs: windowMs, cause: .drain, gateways: gatewaysElsewhere(first))
            _ = show(Gateway.frame(.reconnect(push)), to: some.map(\.id), isDroppable: false, isUrgent: true)
        }
    }

    /// Whether clients are connected with sessions that have not been taken over, or send content.
    var isNeeded: Bool {
        connections.values.contains { connection in
            if let receiving = connection.tcp.handler as? MediaReceiving { return !receiving.isEnded }
            return connection.session != nil
        }
    }
}
