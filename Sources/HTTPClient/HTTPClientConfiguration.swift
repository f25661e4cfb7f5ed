/// The settings of all calls of a client.
public struct HTTPClientConfiguration: Sendable {
    /// PEM of the certificates that are trusted instead of the system's roots.
    public var trustFile: String?
    /// Whether addresses that the internet does not route are refused, whatever name leads to them.
    public var refusesPrivateAddresses = false
    /// For name look-up, connection and TLS.
    public var connectMilliseconds: Int64 = 10_000
    /// Calls under way to one server; further ones wait within their time.
    public var callsPerServerMax = 64
    /// Calls that wait, to all servers; further ones are `busy`.
    public var waitingMax = 4_096
    /// Connections without a call that are kept.
    public var idleConnectionsMax = 64
    /// For how long such a connection may be used again.
    public var idleSeconds = 30
    /// Bytes of the headers of one answer.
    public var headerBytesMax = 64 * 1_024

    public init() {}
}
