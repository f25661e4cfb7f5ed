import ChatModel
import RoomProtocol
import SessionCore
import Wire

/// Users' sessions, as their clients are told of them (PROTOCOL.md, "Devices").
extension GatewayLane {
    /// A session is here, with or without its client. Others are told of it soon; its own client by the reply to `connect`.
    func noteDevice(of session: LaneSession, _ device: Device) {
        let held = HeldDevice(session: session.id, device: device, startedAt: session.state.startedAt)
        let user = session.state.caller.user
        guard !session.state.caller.anonymous else {
            session.toldDevices = Self.devices([held], shownTo: held)
            return
        }
        shared.devices.put(held, of: user)
        session.toldDevices = Self.devices(shared.devices.sessions(of: user), shownTo: held)
    }

    /// The user's sessions have changed: those that are connected here are told, unless they know it.
    func sendDevices(_ all: [HeldDevice], to ids: [SessionID]) {
        for session in ids.compactMap({ sessions[$0] }) {
            let own = HeldDevice(
                session: session.id, device: session.state.caller.device, startedAt: session.state.startedAt)
            let devices = Self.devices(all, shownTo: own)
            guard devices != session.toldDevices, let connection = session.connection else { continue }
            session.toldDevices = devices
            connection.push(.devices(DevicesPush(devices: devices)))
        }
    }

    /// At most `DeviceBook.shownMax`, the own session among them.
    private static func devices(_ all: [HeldDevice], shownTo own: HeldDevice) -> [ConnectedDevice] {
        var all = all
        if !all.contains(where: { $0.session == own.session }) {
            all.insert(own, at: 0)
            if all.count > DeviceBook.shownMax { all.remove(at: 1) }
        }
        return all.map {
            ConnectedDevice(device: $0.device, connectedAt: $0.startedAt, isSelf: $0.session == own.session)
        }
    }
}
