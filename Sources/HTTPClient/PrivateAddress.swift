import Transport

extension IPAddress {
    /// Whether the internet routes no unicast traffic to it (IANA's special-purpose registries, RFC 6890), or it only
    /// wraps such an address.
    var isPrivate: Bool {
        if let inner = wrappedAddress { return inner.isPrivate }
        return Self.privateRanges.contains { $0.contains(self) }
    }

    /// The IPv4 address that NAT64 (RFC 6052) or 6to4 (RFC 3056) would pass it on to.
    private var wrappedAddress: IPAddress? {
        guard bytes.count == 16 else { return nil }
        if bytes.starts(with: [0, 0x64, 0xFF, 0x9B, 0, 0, 0, 0, 0, 0, 0, 0]) { return IPAddress(bytes: bytes[12...]) }
        return bytes.starts(with: [0x20, 0x02]) ? IPAddress(bytes: bytes[2..<6]) : nil
    }

    private static let privateRanges = [
        "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "169.254.0.0/16", "172.16.0.0/12", "192.0.0.0/24",
        "192.0.2.0/24", "192.88.99.0/24", "192.168.0.0/16", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24",
        "224.0.0.0/4", "240.0.0.0/4",
        "::/96", "64:ff9b:1::/48", "100::/64", "2001::/23", "2001:db8::/32", "fc00::/7", "fe80::/10", "fec0::/10",
        "ff00::/8",
    ].compactMap { IPRange($0) }
}
