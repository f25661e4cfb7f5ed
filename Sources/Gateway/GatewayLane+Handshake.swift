import ChatModel
import Transport
import Wire

/// The HTTP request that begins a connection (RFC 6455 §4.2).
extension GatewayLane {
    static let path = "/v1/ws"
    static let jsonSubprotocol = "chatroom.v1.json"
    static let protobufSubprotocol = "chatroom.v1.protobuf"

    func readHandshake(_ bytes: UnsafeRawBufferPointer, of connection: ClientConnection) {
        guard case .handshake(var parser) = connection.phase else { return }
        // Out of the enum while it is fed, so that its buffer is not copied.
        connection.phase = .closing
        switch parser.parse(bytes) {
        case .needsMore:
            connection.phase = .handshake(parser)
        case .failure(let response):
            connection.refuseHandshake(response)
        case .request(let request, let rest):
            answer(request, connection)
            guard case .open = connection.phase, rest > 0 else { return }
            connection.readFrames(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...]))
        }
    }

    private func answer(_ request: UpgradeRequest, _ connection: ClientConnection) {
        guard request.path == Self.path else {
            return connection.refuseHandshake(WebFile.response(to: request))
        }
        guard isAllowed(origin: request.header("origin"), host: request.header("host")) else {
            return connection.refuseHandshake(HTTPResponse.plain(status: 403, reason: "Forbidden"))
        }
        let known = [Self.jsonSubprotocol, Self.protobufSubprotocol]
        switch WebSocketHandshake.negotiate(request, subprotocols: known) {
        case .success(let subprotocol):
            if connection.places.holder == nil, connection.noPlace == nil {
                claim(proxies.client(of: connection.address, request), for: connection)
            }
            let extensions = compression == nil ? nil : PermessageDeflate.answer(to: request)
            connection.acceptHandshake(
                WebSocketHandshake.response(to: request, subprotocol: subprotocol, extensions: extensions),
                encoding: subprotocol == Self.protobufSubprotocol ? .protobuf : .json, isCompressed: extensions != nil)
            if let reason = connection.noPlace { turnAway(connection, reason) }
        case .failure(let refusal): connection.refuseHandshake(refusal.response)
        }
    }

    /// A browser's origin must be the request's own host, that of a gateway which the cluster advertises, or be
    /// configured; requests without Origin pass (contract, section 2). Compared whole, in lower case; `null` never
    /// matches.
    func isAllowed(origin: String?, host: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        if configuration.allowedOrigins.contains(where: { $0.lowercased() == origin }) { return origin != "null" }
        guard let host = host?.lowercased() else { return false }
        // A page of one node goes on at another when its own has died.
        if gateways.contains(where: { Self.origin(ofGateway: $0) == origin }) { return true }
        for scheme in ["http://", "https://"] where origin.hasPrefix(scheme) {
            let own = origin.dropFirst(scheme.count)
            if own == host { return true }
            if isOnLoopback, Self.loopbackNamed(own) == Self.loopbackNamed(host[...]) { return true }
        }
        return false
    }

    private var isOnLoopback: Bool {
        configuration.host == "localhost" || IPAddress(configuration.host)?.isLoopback == true
    }

    /// The origin of pages that a gateway serves, as browsers write it: without a port that is the scheme's own.
    private static func origin(ofGateway url: String) -> String? {
        for (scheme, web, port) in [("wss://", "https://", ":443"), ("ws://", "http://", ":80")] {
            guard url.hasPrefix(scheme) else { continue }
            var authority = url.dropFirst(scheme.count).prefix { $0 != "/" && $0 != "?" }
            if authority.hasSuffix(port) { authority = authority.dropLast(port.count) }
            return web + authority.lowercased()
        }
        return nil
    }

    /// Host and port, with one name for the loopback addresses that people take for one.
    private static func loopbackNamed(_ authority: Substring) -> String {
        for name in ["127.0.0.1", "[::1]"] where authority == name || authority.hasPrefix(name + ":") {
            return "localhost" + authority.dropFirst(name.count)
        }
        return String(authority)
    }
}
