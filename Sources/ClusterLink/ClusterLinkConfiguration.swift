/// What bounds a node's links.
public struct ClusterLinkConfiguration: Sendable {
    /// For establishing a connection.
    public var connectTimeout = Duration.seconds(5)
    /// The node with the greater ID leaves the first call to the other for so long, so that calls seldom cross.
    public var courtesy = Duration.seconds(1)
    /// From the connection to the other side's hello, TLS included.
    public var helloTimeout = Duration.seconds(5)
    /// A side that has sent nothing for so long sends a ping.
    public var pingInterval = Duration.seconds(1)
    /// A side that was silent for so long is down: stopped, hung, or cut off.
    public var silenceMax = Duration.seconds(5)
    /// Connections that others have begun and that have not ended. Further ones are closed at once; who wants one tries
    /// again.
    public var incomingMax = 512

    public init() {}
}
