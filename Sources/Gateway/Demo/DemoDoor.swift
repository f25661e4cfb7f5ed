import HTTPWebSocket

/// Admission to the demo (PROTOCOL.md, "The demo"): a browser on the node's own machine, on a page of this very node, with no
/// proxy between. Everybody else is told that there is nothing.
struct DemoDoor: Sendable {
    static let path = "/v1/demo"
    static let killPath = "/v1/demo/kill"

    /// Calls that a node takes: so many a second in the long run, and so many at once.
    static let callsPerSecond = 10.0
    static let callsAtOnce = 30.0

    /// The setting `demo`, the client port bound to loopback, and no proxy set up.
    let isOpen: Bool

    init(_ configuration: GatewayConfiguration) {
        isOpen = configuration.hasDemo && configuration.isOnLoopback && !configuration.isBehindProxy
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
