/// The origin of a browser's page: scheme, host and port (RFC 6454), in lower case and with the port written out.
struct WebOrigin: Sendable, Hashable {
    var scheme: String
    /// A name or an address; an IPv6 address in brackets.
    var host: String
    var port: Int

    init(scheme: String, host: String, port: Int) {
        (self.scheme, self.host, self.port) = (scheme, host, port)
    }

    /// - Parameter text: `https://host` or `https://host:port`, and nothing behind it; `null` and other schemes are nil.
    init?(_ text: String) {
        let text = text.lowercased()
        for scheme in ["http", "https"] where text.hasPrefix(scheme + "://") {
            self.init(scheme: scheme, authority: text.dropFirst(scheme.utf8.count + 3))
            return
        }
        return nil
    }

    /// - Parameter authority: `host` or `host:port`, as the header `Host` has it.
    init?(scheme: String, authority: Substring) {
        let authority = authority.lowercased()
        let bytes = authority.utf8
        let nameEnd: String.Index
        if bytes.first == UInt8(ascii: "[") {
            guard let bracket = bytes.firstIndex(of: UInt8(ascii: "]")) else { return nil }
            nameEnd = bytes.index(after: bracket)
        } else {
            nameEnd = bytes.firstIndex(of: UInt8(ascii: ":")) ?? bytes.endIndex
        }
        let name = authority[..<nameEnd]
        guard !name.isEmpty, !name.utf8.contains(where: Self.isDelimiter) else { return nil }
        (self.scheme, host, port) = (scheme, String(name), scheme == "https" ? 443 : 80)
        guard nameEnd < bytes.endIndex else { return }
        let digits = bytes[bytes.index(after: nameEnd)...]
        guard bytes[nameEnd] == UInt8(ascii: ":"), (1...5).contains(digits.count),
            digits.allSatisfy({ (0x30...0x39).contains($0) }), let port = UInt16(authority[digits.startIndex...])
        else { return nil }
        self.port = Int(port)
    }

    /// - Parameter gateway: a URL that clients are told, such as `wss://chat.example/v1/ws`.
    init?(gateway: String) {
        let gateway = gateway.lowercased()
        for (scheme, web) in [("wss://", "https"), ("ws://", "http")] where gateway.hasPrefix(scheme) {
            let authority = gateway.dropFirst(scheme.utf8.count).prefix { $0 != "/" && $0 != "?" && $0 != "#" }
            self.init(scheme: web, authority: authority)
            return
        }
        return nil
    }

    /// The same with one name for the loopback addresses that people take for one.
    var withOneLoopbackName: WebOrigin {
        guard host == "127.0.0.1" || host == "[::1]" else { return self }
        return WebOrigin(scheme: scheme, host: "localhost", port: port)
    }

    private static func isDelimiter(_ byte: UInt8) -> Bool {
        "/?#@\\ ".utf8.contains(byte) || byte < 0x20
    }
}
