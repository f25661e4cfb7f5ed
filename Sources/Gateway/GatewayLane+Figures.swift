import ChatModel
import SessionCore
import Wire

extension GatewayLane {
    /// nil without viewers of the room. O(viewers on this lane): for people who ask, not for monitoring.
    func figures(of room: RoomID) -> LaneFigures? {
        guard let hub = hubs[room] else { return nil }
        var figures = LaneFigures(node: configuration.node, lane: Int64(number))
        let viewers = hub.viewers
        figures.viewers = Int64(viewers.count)
        figures.messagesDropped = Int64(hub.messagesDropped)
        figures.barrageDropped = Int64(hub.barrageDropped)
        for viewer in viewers {
            let hasLost = viewer.session.map { !$0.state.losses.isEmpty } ?? false
            guard viewer.waitingBytes > 0 || hasLost else { continue }
            figures.slow += 1
            figures.waitingBytes += Int64(viewer.waitingBytes)
            figures.waitingBytesMax = max(figures.waitingBytesMax, Int64(viewer.waitingBytes))
        }
        return figures
    }
}
