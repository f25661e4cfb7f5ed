import ChatModel

/// How large the head of an HTTP message may be.
public struct HTTPHeadLimits: Sendable, Hashable {
    /// The limit of the request line or status line.
    public var firstLineBytes: Int
    /// The limit of one header line.
    public var headerBytes: Int
    /// The limit of the whole head, the empty line at its end included.
    public var headBytes: Int
    /// Header lines.
    public var headers: Int

    public init(firstLineBytes: Int, headerBytes: Int, headBytes: Int, headers: Int) {
        self.firstLineBytes = firstLineBytes
        self.headerBytes = headerBytes
        self.headBytes = headBytes
        self.headers = headers
    }

    /// The limits of the handshake on the client port (PROTOCOL.md, "Handshake").
    public static let handshake = HTTPHeadLimits(
        firstLineBytes: 8 << 10, headerBytes: Limits.handshakeBytes, headBytes: Limits.handshakeBytes,
        // The bytes are the bound: the protocol has none for the lines.
        headers: Limits.handshakeBytes)
}
