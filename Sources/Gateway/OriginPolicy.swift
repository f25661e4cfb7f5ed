/// The pages that may connect (PROTOCOL.md, "Origin"): those of the request's own origin, those of a gateway which the
/// cluster advertises, and those that the operator lists. The whole origin is compared, never a part of it.
struct OriginPolicy: Sendable {
    /// An entry of the setting `allowedOrigins`.
    enum Entry: Sendable, Hashable {
        /// Compared in lower case: also schemes of apps, such as `capacitor://localhost`, and `null`.
        case exact(String)
        /// `https://*.example.com`: one label in the place of the star.
        case anyLabel(WebOrigin)

        /// - Returns: nil for what no page's origin can be equal to.
        init?(_ text: String) {
            let text = text.lowercased()
            if let web = WebOrigin(text) {
                if web.host.hasPrefix("*.") {
                    let parent = web.host.dropFirst(2)
                    guard !parent.isEmpty, !parent.contains("*") else { return nil }
                    self = .anyLabel(WebOrigin(scheme: web.scheme, host: String(parent), port: web.port))
                } else {
                    guard !web.host.contains("*") else { return nil }
                    self = .exact(OriginPolicy.written(web))
                }
                return
            }
            let parts = text.split(separator: "://", omittingEmptySubsequences: false)
            guard text == "null" || parts.count == 2 && parts[0] != "http" && parts[0] != "https",
                parts.allSatisfy({ !$0.isEmpty && !$0.contains { "/*?# ".contains($0) } })
            else { return nil }
            self = .exact(text)
        }
    }

    private let exact: Set<String>
    private let anyLabel: [WebOrigin]
    private let isOnLoopback: Bool
    /// Where the cluster's gateways serve pages.
    private var ofGateways: Set<WebOrigin> = []

    /// - Parameters:
    ///   - allowed: the setting `allowedOrigins`; what is no origin matches nothing.
    ///   - isOnLoopback: the client port is bound to loopback, whose names are one host.
    init(allowed: [String], isOnLoopback: Bool) {
        let entries = allowed.compactMap(Entry.init)
        exact = Set(entries.compactMap { if case .exact(let text) = $0 { text } else { nil } })
        anyLabel = entries.compactMap { if case .anyLabel(let parent) = $0 { parent } else { nil } }
        self.isOnLoopback = isOnLoopback
    }

    /// - Parameter urls: those of all nodes of the cluster, also of dead ones: a page of such a node goes on here.
    mutating func use(gateways urls: [String]) {
        ofGateways = Set(urls.compactMap { WebOrigin(gateway: $0).map(named) })
    }

    /// - Parameters:
    ///   - origin: the header `Origin`; no browser sends a request of a page without it, so nil passes.
    ///   - host: the header `Host`.
    ///   - schemes: what the request may have come by; both where a proxy does not say.
    func allows(_ origin: String?, host: String?, schemes: [String]) -> Bool {
        guard let origin else { return true }
        guard let page = WebOrigin(origin) else { return exact.contains(origin.lowercased()) }
        if exact.contains(Self.written(page)) || anyLabel.contains(where: { Self.isLabel(of: page, below: $0) }) {
            return true
        }
        let sought = named(page)
        let own = schemes.lazy.compactMap { scheme in host.flatMap { WebOrigin(scheme: scheme, authority: $0[...]) } }
        return own.contains { named($0) == sought } || ofGateways.contains(sought)
    }

    private func named(_ origin: WebOrigin) -> WebOrigin { isOnLoopback ? origin.withOneLoopbackName : origin }

    private static func isLabel(of page: WebOrigin, below parent: WebOrigin) -> Bool {
        guard page.scheme == parent.scheme, page.port == parent.port, page.host.hasSuffix("." + parent.host) else {
            return false
        }
        let label = page.host.dropLast(parent.host.utf8.count + 1)
        return !label.isEmpty && !label.utf8.contains(UInt8(ascii: "."))
    }

    private static func written(_ origin: WebOrigin) -> String { "\(origin.scheme)://\(origin.host):\(origin.port)" }
}
