/// A session of the user, as that user's clients see it (PROTOCOL.md, "Devices").
public struct ConnectedDevice: Sendable, Hashable {
    public var device: Device
    /// When its session began.
    public var connectedAt: Timestamp
    /// The session that is told.
    public var isSelf: Bool

    public init(device: Device, connectedAt: Timestamp, isSelf: Bool = false) {
        self.device = device
        self.connectedAt = connectedAt
        self.isSelf = isSelf
    }
}
