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
            guard let address = IPAddress(part.drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" })
            else { break }
            nearest = address
            if !contains(address) { break }
        }
        return nearest
    }

    /// The scheme that the client used, as a trusted proxy says it; nil where none does.
    func scheme(of peer: IPAddress, _ request: UpgradeRequest) -> String? {
        guard contains(peer) else { return nil }
        let said = request.headers.last { $0.name == "x-forwarded-proto" }?.value.lowercased()
        return said == "http" || said == "https" ? said : nil
    }
}
