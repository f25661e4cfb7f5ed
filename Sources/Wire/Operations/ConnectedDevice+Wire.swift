import ChatModel

extension ConnectedDevice: WireMessage {
    public static var blank: ConnectedDevice { ConnectedDevice(device: .blank, connectedAt: .blank) }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.required(1, "device", &device)
        try walker.shown(2, "connectedAt", &connectedAt)
        try walker.shown(3, "self", &isSelf)
    }
}

/// The user's sessions have changed.
public struct DevicesPush: WireMessage, Hashable {
    public var devices: [ConnectedDevice]

    public static var blank: DevicesPush { DevicesPush(devices: []) }

    public init(devices: [ConnectedDevice]) { self.devices = devices }

    public mutating func walk<W: FieldWalker>(_ walker: inout W) throws(ChatError) {
        try walker.list(1, "devices", &devices)
    }
}
