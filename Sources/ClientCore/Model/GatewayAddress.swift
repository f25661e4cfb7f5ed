/// Where a gateway takes clients.
package struct GatewayAddress: Hashable, Sendable {
    package let isSecure: Bool
    package let host: String
    package let port: Int
    /// Path and query.
    package let target: String

    package static let path = "/v1/ws"

    /// Reads `wss://host[:port][/path]` or `ws://…`; IPv6 addresses stand in brackets.
    package init(_ url: String) throws(ClientError) {
        let error = ClientError(.noAddress, "\(url.prefix(200)) is not an address like wss://chat.example.com/v1/ws")
        var rest = url[...]
        if rest.hasPrefix("wss://") {
            isSecure = true
            rest = rest.dropFirst("wss://".count)
        } else if rest.hasPrefix("ws://") {
            isSecure = false
            rest = rest.dropFirst("ws://".count)
        } else {
            throw error
        }
        let authority = rest.prefix { $0 != "/" && $0 != "?" && $0 != "#" }
        let path = rest.dropFirst(authority.count)
        guard path.utf8.allSatisfy({ $0 > 0x20 && $0 < 0x7F && $0 != UInt8(ascii: "#") }) else { throw error }
        var host = authority
        var port = isSecure ? 443 : 80
        let colon = authority.lastIndex(of: ":")
        let bracket = authority.lastIndex(of: "]")
        if let colon, bracket.map({ $0 < colon }) ?? true {
            guard let number = UInt16(authority[authority.index(after: colon)...]), number > 0 else { throw error }
            port = Int(number)
            host = authority[..<colon]
        }
        if host.hasPrefix("["), host.hasSuffix("]") { host = host.dropFirst().dropLast() }
        guard !host.isEmpty, host.utf8.allSatisfy(Self.isHostByte) else { throw error }
        self.host = host.lowercased()
        self.port = port
        target = path.isEmpty || path == "/" ? Self.path : path.hasPrefix("?") ? Self.path + path : String(path)
    }

    /// The same text for all addresses that mean the same place; what is none stays as it is.
    static func comparable(_ url: String) -> String {
        do throws(ClientError) { return try GatewayAddress(url).url } catch { return url }
    }

    private static func isHostByte(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: ".:-_%".utf8.contains(byte)
        }
    }

    /// For the Host header.
    package var authority: String { host.contains(":") ? "[\(host)]:\(port)" : "\(host):\(port)" }

    /// For the Host header of a server that has signed it: without a port that the scheme has anyway.
    package var signedAuthority: String {
        port == (isSecure ? 443 : 80) ? String(authority.dropLast(":\(port)".utf8.count)) : authority
    }

    /// The address as a URL, with nothing left to be guessed.
    package var url: String { "\(isSecure ? "wss" : "ws")://\(authority)\(target)" }
}
