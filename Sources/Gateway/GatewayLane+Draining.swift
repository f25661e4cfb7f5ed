import ChatModel
import EventLoop
import RoomProtocol
import SessionCore
import Wire

/// A planned stop: clients go while their connections here still work (PROTOCOL.md, "Moving").
extension GatewayLane {
    /// Tells every client to make a connection elsewhere, within a window in which all of them find a place. Newcomers
    /// are sent elsewhere, too.
    func beginDraining(windowMs: Int64) {
        isDraining = true
        var told: [ClientEncoding: LaneFrame] = [:]
        let push = Push.reconnect(
            ReconnectPush(minMs: 0, maxMs: windowMs, cause: .drain, gateways: gatewaysElsewhere))
        var writer = SharedFrameWriter([.json, .protobuf])
        writer.append(push)
        let frame = writer.frame(.messages)
        for connection in connections.values {
            guard case .open = connection.phase, connection.session != nil else { continue }
            let encoding = connection.encoding
            guard
                let made = told[encoding]
                    ?? LaneFrame(frame, in: encoding, of: nil, countedIn: buffers, isDroppable: false)
            else { continue }
            told[encoding] = made
            connection.enqueue(made)
        }
    }

    /// Whether clients are connected with sessions that have not been taken over.
    var hasAttendedSessions: Bool { connections.values.contains { $0.session != nil } }
}
