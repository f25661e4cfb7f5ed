import EventLoop
import NodeLinkCore
public import Transport

/// The bounds of a node's links.
public struct ClusterLinkConfiguration: Sendable {
    /// For establishing a connection.
    public var connectTimeout = Duration.seconds(5)
    /// The node with the greater ID leaves the first call to the other for so long, so that calls seldom cross.
    public var courtesy = Duration.seconds(1)
    /// From the connection to the other side's proof, TLS included.
    public var helloTimeout = StrangerLimits().introduction
    /// Connections that others have begun and that have not shown who they are.
    public var strangers = StrangerLimits()
    /// A side that has sent nothing for so long sends a ping.
    public var pingInterval = Duration.seconds(1)
    /// A side that was silent for so long is down: stopped, hung, or cut off.
    public var silenceMax = Duration.seconds(5)

    public init() {}

    var patience: LinkConversation.Patience {
        LinkConversation.Patience(
            greeting: helloTimeout.wholeMilliseconds, ping: pingInterval.wholeMilliseconds,
            silence: silenceMax.wholeMilliseconds)
    }
}
