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

    /// A browser's origin must be the request's own host or be configured; requests without Origin pass
    /// (contract, section 2). Compared whole, in lower case; `null` never matches.
    func isAllowed(origin: String?, host: String?) -> Bool {
        guard let origin = origin?.lowercased() else { return true }
        if configuration.allowedOrigins.contains(where: { $0.lowercased() == origin }) { return origin != "null" }
        guard let host = host?.lowercased() else { return false }
        return origin == "http://\(host)" || origin == "https://\(host)"
    }
}
