import ChatModel
import SessionCore
import Transport

/// The settings (docs/CONFIGURATION.md) of the client port.
public struct GatewayConfiguration: Sendable {
    public var node: NodeID
    public var host = "127.0.0.1"
    public var port = 7400
    /// Client URLs told to clients, best first. Empty: see ``urls(port:isSecure:)``.
    public var advertiseURLs: [String] = []
    /// Clients come through a proxy, whose address nobody here knows.
    public var isBehindProxy = false
    /// Browser origins besides the request's own and the gateways'; see ``isOrigin(_:)``.
    public var allowedOrigins: [String] = []
    public var allowAnonymous = false
    /// Whether people on the node's own machine get rooms and tokens for the asking (`DemoService`). Only on loopback.
    public var hasDemo = false
    public var heartbeatSeconds: Int64 = 15
    /// How long a session outlives its connection.
    public var graceSeconds: Int64 = 10
    /// How long a node that stops serves clients that have not moved yet.
    public var drainSeconds: Int64 = 10
    /// How long a connection may take to finish its handshake and to `connect`, each.
    public var connectSeconds: Int64 = 10
    public var roomsPerSessionMax = 10
    public var changesPerSecond = 10.0
    public var changesBurst = 20.0
    public var readsPerSecond = 20.0
    public var readsBurst = 20.0
    /// Bytes of changes, what a COMBINE copies included.
    public var changeBytesPerSecond = 320.0 * 1024
    public var changeBytesBurst = 640.0 * 1024
    /// Bytes that may wait for one slow connection before barrage, then messages, are dropped.
    public var sendQueueBytesMax = 256 * 1024
    /// Bytes of replies that may wait before the connection is read no further.
    public var unreadRepliesBytesMax = 512 * 1024
    /// Requests in one frame; what is more is answered 414, once, and the connection closed with 1008.
    public var requestsPerFrameMax = 256
    /// Frames of one connection taken in one turn; the rest waits, so that nobody starves the others.
    public var framesPerTurnMax = 64
    /// Bytes of one connection after which it is read no further in this turn. A read brings up to 64 KB, and a frame
    /// that it completes up to 1 MB.
    public var bytesPerTurnMax = 64 * 1024
    /// The bytes by which the compressed messages of a connection may grow in a second, and at once. A connection beyond
    /// that is read later: a byte that comes may become a thousand, and each of them is parsed.
    public var inflatedBytesPerSecond = 256.0 * 1024
    public var inflatedBytesBurst = 1024.0 * 1024
    public var connections = ConnectionLimits()
    public var admission = AdmissionRates()
    /// Proxies whose `X-Forwarded-For` is believed.
    public var trustedProxies: [IPRange] = []

    /// The origin of the store to which pages send content, where that is elsewhere.
    public var mediaOrigin: String?
    /// Transfers of content at a time: each holds up to two pieces of it.
    public var transfersMax = 1_024

    /// Whether permessage-deflate is negotiated with clients that offer it.
    public var isCompressing = false
    /// Barrage items a second that a viewer is shown, and HIGH ones a second and room, as the rooms have it.
    public var barragePerViewerPerSecond = 200
    public var highPerSecondMax = 10

    public init(node: NodeID) { self.node = node }

    /// Whether only programs of this machine reach the client port.
    public var isOnLoopback: Bool { host == "localhost" || IPAddress(host)?.isLoopback == true }
    /// A URL that clients are told and that leads to no loopback address; nil: there is none.
    public var foreignURL: String? {
        advertiseURLs.first { WebOrigin(gateway: $0)?.withOneLoopbackName.host != "localhost" }
    }

    /// Whether the text may be an entry of ``allowedOrigins``: an exact origin, `https://*.example.com` for one label, or
    /// `null`.
    public static func isOrigin(_ text: String) -> Bool { OriginPolicy.Entry(text) != nil }

    /// The rates of a session.
    var rateLimits: RateLimits {
        var limits = RateLimits()
        (limits.changesPerSecond, limits.changesBurst) = (changesPerSecond, changesBurst)
        (limits.readsPerSecond, limits.readsBurst) = (readsPerSecond, readsBurst)
        (limits.bytesPerSecond, limits.bytesBurst) = (changeBytesPerSecond, changeBytesBurst)
        return limits
    }

    /// The URLs that clients are told: those of the configuration, else that of the client port, if it is bound to one
    /// address and clients reach it without a proxy. None otherwise: a wrong address is worse than none.
    func urls(port: Int, isSecure: Bool) -> [String] {
        guard advertiseURLs.isEmpty else { return advertiseURLs }
        guard !isBehindProxy, let address = IPAddress(host), !address.isUnspecified else { return [] }
        let name = address.bytes.count == 4 ? "\(address)" : "[\(address)]"
        return ["\(isSecure ? "wss" : "ws")://\(name):\(port)/v1/ws"]
    }

    /// Takes over what may change while the node runs (SIGHUP).
    mutating func adoptLimits(of other: GatewayConfiguration) {
        connections = other.connections
        admission = other.admission
        roomsPerSessionMax = other.roomsPerSessionMax
        changesPerSecond = other.changesPerSecond
        changesBurst = other.changesBurst
        readsPerSecond = other.readsPerSecond
        readsBurst = other.readsBurst
        changeBytesPerSecond = other.changeBytesPerSecond
        changeBytesBurst = other.changeBytesBurst
        sendQueueBytesMax = other.sendQueueBytesMax
        requestsPerFrameMax = other.requestsPerFrameMax
    }
}
