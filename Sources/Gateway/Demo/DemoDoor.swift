import HTTPWebSocket
import Transport

/// Admission to the demo (PROTOCOL.md, "The demo"): a browser on the node's own machine, on a page of this very node, with no
/// proxy between. Everybody else is told that there is nothing.
struct DemoDoor: Sendable {
    static let path = "/v1/demo"
    static let killPath = "/v1/demo/kill"

    /// The setting `demo`, and the client port bound to loopback.
    let isOpen: Bool

    init(_ configuration: GatewayConfiguration) {
        let isOnLoopback = configuration.host == "localhost" || IPAddress(configuration.host)?.isLoopback == true
        isOpen = configuration.hasDemo && isOnLoopback
    }

    /// - Parameter scheme: of this port.
    func admits(_ request: UpgradeRequest, scheme: String) -> Bool {
        // A name that somebody else's server resolves to 127.0.0.1 is no loopback name: its pages are not ours.
        guard isOpen, !request.isForwarded, let host = request.header("host"),
            let own = WebOrigin(scheme: scheme, authority: host[...])?.withOneLoopbackName, own.host == "localhost"
        else { return false }
        guard let origin = request.header("origin") else { return true }
        return WebOrigin(origin)?.withOneLoopbackName == own
    }
}

/// How many calls of the demo a node takes: so many at once, and so many a second in the long run.
struct DemoRate: Sendable {
    private static let burst = 30.0
    private static let perSecond = 10.0
    private var left = DemoRate.burst
    private var lastMilliseconds: UInt64?

    mutating func take(atMilliseconds now: UInt64) -> Bool {
        let passed = Double(now - min(now, lastMilliseconds ?? now)) / 1000
        left = min(Self.burst, left + passed * Self.perSecond)
        lastMilliseconds = now
        guard left >= 1 else { return false }
        left -= 1
        return true
    }
}
