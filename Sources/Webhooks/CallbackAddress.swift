import FoundationEssentials

/// An address of the app that the cluster may call: an absolute `http` or `https` URL with a host, without user,
/// password or fragment.
///
/// Receivers are usually in the operator's own network, so private and loopback addresses are allowed; which hosts may
/// be called at all is the operator's choice (`allowedHosts` and `refusesPrivateAddresses` of ``CallbackClient``).
public struct CallbackAddress: Sendable, Hashable {
    public let text: String
    /// As in the URL, in lower case.
    public let host: String

    /// Bytes of the URL.
    public static let bytesMax = 1024

    /// nil for anything else.
    public init?(_ text: String) {
        guard text.utf8.count <= Self.bytesMax, text.utf8.allSatisfy({ (0x21...0x7E).contains($0) }),
            let parts = URLComponents(string: text), let scheme = parts.scheme?.lowercased(),
            scheme == "http" || scheme == "https", let host = parts.host, !host.isEmpty,
            parts.user == nil, parts.password == nil, parts.fragment == nil,
            parts.port.map({ (1...65_535).contains($0) }) ?? true
        else { return nil }
        self.text = text
        self.host = host.lowercased()
    }
}
