/// Where a node takes clients.
package struct WebSocketAddress: Hashable, Sendable {
    package let host: String
    package let port: Int
    /// Path and query.
    package let target: String

    package static let path = "/v1/ws"

    /// Reads `ws://host:port/path` or `host:port`; IPv6 addresses stand in brackets.
    package init(_ text: String) throws(SwarmFailure) {
        var rest = text[...]
        if rest.hasPrefix("wss://") { throw SwarmFailure(.usage, "TLS is not spoken here: give a ws:// address") }
        if rest.hasPrefix("ws://") { rest = rest.dropFirst("ws://".count) }
        let authority = rest.prefix { $0 != "/" }
        let path = rest.dropFirst(authority.count)
        guard let colon = authority.lastIndex(of: ":"), let port = UInt16(authority[authority.index(after: colon)...]),
            port > 0, !path.contains(where: { $0 == "\r" || $0 == "\n" || $0 == " " })
        else { throw SwarmFailure(.usage, "\(text) is not an address like ws://127.0.0.1:7400") }
        var host = authority[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.allSatisfy({ $0.isASCII && ($0.isLetter || $0.isNumber || ".:-_%".contains($0)) })
        else { throw SwarmFailure(.usage, "\(text) is not an address like ws://127.0.0.1:7400") }
        self.host = String(host)
        self.port = Int(port)
        target = path.isEmpty || path == "/" ? Self.path : String(path)
    }

    /// For the Host header.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }
}
