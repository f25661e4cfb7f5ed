/// The kind of a frame (RFC 6455 §5.2). All other values are reserved and refused.
public enum WebSocketOpcode: UInt8, Sendable, Hashable {
    case continuation = 0x0
    case text = 0x1
    case binary = 0x2
    case close = 0x8
    case ping = 0x9
    case pong = 0xA

    /// Control frames have at most 125 bytes and are never fragmented (RFC 6455 §5.5).
    public var isControl: Bool { rawValue >= 0x8 }
}

/// Which side of a connection one is. Clients mask what they send, servers do not (RFC 6455 §5.3).
public enum WebSocketRole: Sendable, Hashable {
    case client, server
}
