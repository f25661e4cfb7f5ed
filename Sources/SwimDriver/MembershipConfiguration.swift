public import Swim
public import Transport

/// Where a node's membership listens, and what bounds it.
public struct MembershipConfiguration: Sendable {
    /// The numeric address to bind, for UDP and TCP.
    public var host = "127.0.0.1"
    /// The port of both sockets; 0 lets the system choose one.
    public var port = 0
    /// The numeric address that others are told to reach this node at; nil: `host`, which then must not be a wildcard.
    public var advertisedHost: String?
    public var gossip = GossipConfiguration()
    /// Its timer is set for multiples of that, at which the loop is awake for other things too.
    public var timerInterval = Duration.milliseconds(100)
    /// For one exchange of states over TCP, from the first byte to the last; then it is given up.
    public var exchangeTimeout = Duration.seconds(5)
    /// Exchanges that this node has begun and that have not ended. Further ones are left out: nothing depends on one.
    public var outgoingExchangesMax = 8
    /// Exchanges that others have begun, with connections that have not said yet what they are for.
    public var strangers = StrangerLimits()

    public init() {}
}
