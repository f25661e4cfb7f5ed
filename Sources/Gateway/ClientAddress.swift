import HTTPWebSocket
import Transport
import Wire

/// Where a client is, seen through the proxies that the operator trusts.
struct TrustedProxies: Sendable {
    let ranges: [IPRange]

    func contains(_ address: IPAddress) -> Bool { ranges.contains { $0.contains(address) } }

    /// The address nearest to the client that a trusted proxy has seen: from the right of `X-Forwarded-For`, the first
    /// that is no trusted proxy itself. Everything further left may be invented by the client. Text that is no address
    /// ends the search, so that it can't hide its sender.
    func client(of peer: IPAddress, _ request: UpgradeRequest) -> IPAddress {
        guard contains(peer) else { return peer }
        var nearest = peer
        let seen = request.headers.filter { $0.name == "x-forwarded-for" }.map(\.value).joined(separator: ",")
        for part in seen.split(separator: ",", omittingEmptySubsequences: false).reversed() {
            let text = part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
            guard let address = IPAddress(Self.withoutPort(text)) else { break }
            nearest = address
            if !contains(address) { break }
        }
        return nearest
    }

    /// Some proxies write the client's port as well: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    private static func withoutPort(_ text: Substring) -> Substring {
        if text.first == "[", let end = text.lastIndex(of: "]"), isPort(text[text.index(after: end)...]) {
            return text[text.index(after: text.startIndex)..<end]
        }
        guard let colon = text.firstIndex(of: ":"), text[..<colon].contains("."), isPort(text[colon...]) else {
            return text
        }
        return text[..<colon]
    }

    /// Nothing, or a colon and up to five digits.
    private static func isPort(_ text: Substring) -> Bool {
        text.isEmpty
            || (text.first == ":" && (2...6).contains(text.utf8.count)
                && text.utf8.dropFirst().allSatisfy { (0x30...0x39).contains($0) })
    }

    /// The scheme that the client used, as a trusted proxy says it; nil where none does.
    func scheme(of peer: IPAddress, _ request: UpgradeRequest) -> String? {
        guard contains(peer) else { return nil }
        let said = request.headers.last { $0.name == "x-forwarded-proto" }?.value.lowercased()
        return said == "http" || said == "https" ? said : nil
    }
}
