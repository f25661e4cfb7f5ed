import ChatModel

/// A session of the user, as that user's clients see it (PROTOCOL.md, "Devices").
public struct ConnectedDevice: WireMessage, Hashable {
    public var device: Device
    /// When its session began.
    public var connectedAt: Timestamp
    /// The session that is told.
    public var isSelf: Bool

    public static var blank: ConnectedDevice { ConnectedDevice(device: .blank, connectedAt: .blank) }

    public init(device: Device, connectedAt: Timestamp, isSelf: Bool = false) {
        self.device = device
        self.connectedAt = connectedAt
        self.isSelf = isSelf
    }

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
