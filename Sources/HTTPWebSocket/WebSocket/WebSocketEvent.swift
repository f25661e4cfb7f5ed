/// Input of a WebSocket connection. Payloads point into the bytes being decoded: they hold during the call only.
public enum WebSocketEvent {
    /// A whole message; valid UTF-8.
    case text(UnsafeRawBufferPointer)
    /// A whole message.
    case binary(UnsafeRawBufferPointer)
    /// A whole message as permessage-deflate compressed it, where that was negotiated. The inflated message is to be
    /// bounded, and a text is to be checked (see ``WebSocketFrameDecoder/isText(_:)``).
    case compressed(isText: Bool, UnsafeRawBufferPointer)
    /// To be answered with a pong of the same payload (RFC 6455 §5.5.2).
    case ping(UnsafeRawBufferPointer)
    case pong(UnsafeRawBufferPointer)
    /// The peer ends the connection; nothing after it is read. No code: the frame had none.
    case close(code: UInt16?, reason: String)
}

/// A breach of the protocol by the peer: the connection is to be closed with `closeCode` (RFC 6455 §7.4.1).
public struct WebSocketFailure: Error, Sendable, Hashable {
    /// 1002 protocol error, 1007 text that is not UTF-8, 1008 too many fragments, 1009 message too big.
    public var closeCode: UInt16
    public var message: String

    static func protocolError(_ message: String) -> WebSocketFailure {
        WebSocketFailure(closeCode: 1002, message: message)
    }
}
