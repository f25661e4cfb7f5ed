public import Swim

/// `host:port`, an IPv6 host in brackets.
extension GossipAddress {
    /// Nil when it does not make 1-64 bytes of printable ASCII, or the port is not in 1...65,535.
    public init?(host: String, port: Int) {
        guard (1...65_535).contains(port), !host.isEmpty else { return nil }
        self.init(host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)")
    }

    /// Nil for a text that is not of that form.
    public var hostAndPort: (host: String, port: Int)? {
        guard let colon = text.lastIndex(of: ":"), let port = Int(text[text.index(after: colon)...]),
            (1...65_535).contains(port)
        else { return nil }
        var host = text[..<colon]
        if host.hasPrefix("["), host.hasSuffix("]") {
            host = host.dropFirst().dropLast()
        } else if host.contains(":") {
            return nil
        }
        return host.isEmpty ? nil : (String(host), port)
    }
}
