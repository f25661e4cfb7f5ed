import Wire

/// The opening handshake of a server (RFC 6455 §4.2).
public enum WebSocketHandshake {
    /// The 101 response to a right request, or what to refuse it with. No subprotocol offered is accepted without one;
    /// of those offered, the client's first that is in `subprotocols` is chosen; none of them is 400.
    public static func accept(_ request: UpgradeRequest, subprotocols: [String]) -> Result<[UInt8], HTTPRefusal> {
        switch negotiate(request, subprotocols: subprotocols) {
        case .success(let subprotocol): .success(response(to: request, subprotocol: subprotocol))
        case .failure(let refusal): .failure(refusal)
        }
    }

    /// The subprotocol of a right request: nil if none was offered.
    public static func negotiate(_ request: UpgradeRequest, subprotocols: [String]) -> Result<String?, HTTPRefusal> {
        guard request.method == "GET" else {
            return .failure(
                HTTPRefusal(
                    status: 405, reason: "Method Not Allowed", headers: [HTTPHeader(name: "Allow", value: "GET")]))
        }
        guard request.isUpgrade else {
            return .failure(
                HTTPRefusal(
                    status: 426, reason: "Upgrade Required",
                    headers: [HTTPHeader(name: "Upgrade", value: "websocket")]))
        }
        guard request.header("sec-websocket-version") == "13" else {
            return .failure(
                HTTPRefusal(
                    status: 426, reason: "Upgrade Required",
                    headers: [HTTPHeader(name: "Sec-WebSocket-Version", value: "13")]))
        }
        guard request.tokens("connection").contains("upgrade"),
            let key = request.header("sec-websocket-key"), Base64.decode(key)?.count == 16
        else { return .failure(.badRequest) }
        // Subprotocols are compared with their case.
        let offered = request.headers.list("sec-websocket-protocol")
        guard !offered.isEmpty else { return .success(nil) }
        guard let chosen = offered.first(where: subprotocols.contains) else { return .failure(.badRequest) }
        return .success(chosen)
    }

    /// The 101 response to a request that `negotiate` found right.
    /// - Parameter extensions: what is said of them; see ``PermessageDeflate``.
    public static func response(to request: UpgradeRequest, subprotocol: String?, extensions: String? = nil) -> [UInt8]
    {
        var headers = [
            HTTPHeader(name: "Upgrade", value: "websocket"),
            HTTPHeader(name: "Connection", value: "Upgrade"),
            HTTPHeader(name: "Sec-WebSocket-Accept", value: acceptKey(request.header("sec-websocket-key") ?? "")),
        ]
        if let subprotocol { headers.append(HTTPHeader(name: "Sec-WebSocket-Protocol", value: subprotocol)) }
        if let extensions { headers.append(HTTPHeader(name: "Sec-WebSocket-Extensions", value: extensions)) }
        return HTTPResponse.head(status: 101, reason: "Switching Protocols", headers: headers)
    }

    /// The value that proves that the server has read the key (RFC 6455 §4.2.2).
    static func acceptKey(_ key: String) -> String {
        Base64.encode(SHA1.hash(Array((key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11").utf8)))
    }
}
