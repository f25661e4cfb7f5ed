import ChatModel
import EventLoop
import HTTPWebSocket
import Logging
import Telemetry
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
        connection.phase = .handshake(HTTPUpgradeParser())
        switch parser.parse(bytes) {
        case .needsMore:
            connection.phase = .handshake(parser)
        case .failure(let response):
            connection.refuseHandshake(response)
        case .request(let request, let rest):
            let body = UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...])
            if answerMedia(request, body: body, connection) { return }
            answer(request, connection)
            guard case .open = connection.phase, rest > 0 else { return }
            connection.readFrames(UnsafeRawBufferPointer(rebasing: bytes[(bytes.count - rest)...]))
        }
    }

    private func answer(_ request: UpgradeRequest, _ connection: ClientConnection) {
        guard request.path == Self.path else {
            if answerDemo(request, connection) { return }
            return connection.refuseHandshake(shared.pages.response(to: request))
        }
        guard isAllowed(request, of: connection) else {
            return connection.refuseHandshake(HTTPResponse.plain(status: 403, reason: "Forbidden"))
        }
        let known = [Self.jsonSubprotocol, Self.protobufSubprotocol]
        switch WebSocketHandshake.negotiate(request, subprotocols: known) {
        case .success(let subprotocol):
            if connection.places.holder == nil, connection.noPlace == nil {
                claim(proxies.client(of: connection.address, request), for: connection)
            }
            let agreement = compression == nil ? nil : PermessageDeflate.agree(with: request)
            connection.acceptHandshake(
                WebSocketHandshake.response(to: request, subprotocol: subprotocol, extensions: agreement?.answer),
                encoding: subprotocol == Self.protobufSubprotocol ? .protobuf : .json, agreement: agreement)
            if let reason = connection.noPlace { turnAway(connection, reason) }
        case .failure(let refusal): connection.refuseHandshake(refusal.response)
        }
    }

    func isAllowed(_ request: UpgradeRequest, of connection: ClientConnection) -> Bool {
        let (origin, host) = (request.header("origin"), request.header("host"))
        let schemes: [String]
        if shared.tls != nil {
            schemes = ["https"]
        } else if configuration.isBehindProxy {
            schemes = proxies.scheme(of: connection.address, request).map { [$0] } ?? ["https", "http"]
        } else {
            schemes = ["http"]
        }
        if origins.allows(origin, host: host, schemes: schemes) { return true }
        shared.figures.refusedOrigins.add()
        logRefusedOrigin(origin ?? "", host: host ?? "", from: connection)
        return false
    }

    /// One line in ten seconds, however many pages try: each of them may be somebody's script.
    private func logRefusedOrigin(_ origin: String, host: String, from connection: ClientConnection) {
        let now = loop.nowMilliseconds
        guard now >= refusedOriginsToldAt + 10_000 || refusedOriginsToldAt == 0 else {
            refusedOriginsUntold += 1
            return
        }
        logger.warning(
            "the origin of a page was refused: list it in allowedOrigins if its pages may connect",
            metadata: [
                "origin": "\(origin.prefix(256))", "host": "\(host.prefix(256))",
                "peer": "\(connection.address)",
                "untold": "\(refusedOriginsUntold)",
            ])
        (refusedOriginsToldAt, refusedOriginsUntold) = (now, 0)
    }
}
