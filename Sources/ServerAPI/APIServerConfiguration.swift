import HTTPWebSocket
import Wire

/// Where the server API listens and how much it takes from one connection.
public struct APIServerConfiguration: Sendable, Hashable {
    /// The address to bind; loopback until told otherwise (PROTOCOL.md, "Programs").
    public var host: String
    /// The TCP port to bind; 0 lets the system choose one, which `APIServer`'s `onBound` tells.
    public var port: Int
    /// Bytes of a request's body; a longer one is refused with 413.
    public var bodyBytesMax = 1 << 20
    /// Bytes of the request line (a longer one is 414) and of one header line (431).
    public var headerFieldBytesMax = 8 << 10
    /// Bytes of all headers together; more are 431.
    public var headerBytesMax = 32 << 10
    /// Header lines of one request; more are 431.
    public var headerCountMax = 100
    /// Open connections. For a further one the connection gives way that has waited longest for a whole request.
    public var connectionsMax = 1_000
    /// The same for one IPv4 address or one /64 of IPv6; loopback is no exception.
    public var connectionsPerAddressMax = 500
    /// Seconds from the first byte of a request, or from the connection's begin, to the end of its head; then the
    /// connection is cut.
    public var headSeconds: Int64 = 10
    /// Seconds after which a connection is cut that does not read its answer.
    public var unreadSeconds: Int64 = 30
    /// Seconds without a byte of a request after which a connection is closed, also between two requests.
    public var idleSeconds: Int64 = 60
    /// Seconds from a request's head to the end of its body, after which the connection is closed.
    public var bodySeconds: Int64 = 30

    public init(host: String = "127.0.0.1", port: Int = 7401) {
        self.host = host
        self.port = port
    }

    var headLimits: HTTPHeadLimits {
        HTTPHeadLimits(
            firstLineBytes: headerFieldBytesMax, headerBytes: headerFieldBytesMax, headBytes: headerBytesMax,
            headers: headerCountMax)
    }
}
