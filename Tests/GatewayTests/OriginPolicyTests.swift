import Testing

@testable import Gateway

@Suite struct OriginPolicyTests {
    private static let gateways = ["ws://127.0.0.1:7400/v1/ws", "ws://127.0.0.1:7410/v1/ws"]

    private static func allows(
        _ origin: String?, host: String? = "127.0.0.1:7400", schemes: [String] = ["http"], allowed: [String] = [],
        isOnLoopback: Bool = true, gateways: [String] = gateways
    ) -> Bool {
        var policy = OriginPolicy(allowed: allowed, isOnLoopback: isOnLoopback)
        policy.use(gateways: gateways)
        return policy.allows(origin, host: host, schemes: schemes)
    }

    @Test func `what is no browser has no origin and passes`() {
        #expect(Self.allows(nil))
        #expect(Self.allows(nil, host: nil))
    }

    @Test func `scheme, host and port are the request's own`() {
        #expect(Self.allows("http://chat.example", host: "chat.example", gateways: []))
        #expect(Self.allows("HTTP://Chat.Example:80", host: "chat.example", gateways: []))
        #expect(Self.allows("https://chat.example", host: "chat.example:443", schemes: ["https"], gateways: []))
        #expect(Self.allows("https://chat.example", host: "chat.example", schemes: ["https", "http"], gateways: []))
        #expect(Self.allows("http://[2001:db8::1]:7400", host: "[2001:DB8::1]:7400", gateways: []))
        let refused: [(String, String?)] = [
            ("https://chat.example", "chat.example"), ("http://chat.example:7400", "chat.example"),
            ("http://chat.example", "chat.example:7400"), ("http://chat.example.evil.example", "chat.example"),
            ("http://evil.example", "chat.example"), ("http://chat.example", nil), ("null", "chat.example"),
            ("", "chat.example"), ("http://", ""), ("chat.example", "chat.example"),
            ("http://chat.example/", "chat.example"), ("http://ann@chat.example", "chat.example"),
        ]
        for (origin, host) in refused {
            #expect(!Self.allows(origin, host: host, gateways: []), "\(origin) at \(host ?? "")")
        }
    }

    @Test func `a page of one node may go on at another, by whatever name of loopback it was opened`() {
        for name in ["127.0.0.1", "localhost", "[::1]"] {
            for port in [7400, 7410] {
                #expect(Self.allows("http://\(name):\(port)", host: "127.0.0.1:7410"), "\(name):\(port)")
            }
        }
        #expect(!Self.allows("http://localhost:7420", host: "127.0.0.1:7410"))
        #expect(!Self.allows("https://localhost:7400", host: "127.0.0.1:7410"))
        #expect(!Self.allows("http://localhost:7400", host: "127.0.0.1:7410", isOnLoopback: false))
        let wss = ["wss://a.chat.example/v1/ws", "wss://b.chat.example:8443/v1/ws?x"]
        #expect(Self.allows("https://a.chat.example", host: "b", gateways: wss))
        #expect(Self.allows("https://b.chat.example:8443", host: "a", gateways: wss))
        #expect(!Self.allows("http://a.chat.example", host: "b", gateways: wss))
        #expect(!Self.allows("https://b.chat.example", host: "a", gateways: wss))
    }

    @Test func `listed origins are compared whole, and a star stands for one label`() {
        let allowed = [
            "https://app.example", "https://*.app.example", "capacitor://localhost", "http://app.example:8080",
        ]
        let good = [
            "https://app.example", "HTTPS://APP.EXAMPLE:443", "https://eu.app.example", "capacitor://localhost",
            "http://app.example:8080",
        ]
        for origin in good { #expect(Self.allows(origin, allowed: allowed), "\(origin)") }
        let bad = [
            "http://app.example", "https://app.example:8443", "https://app.example.evil.example",
            "https://evilapp.example", "https://a.b.app.example", "https://.app.example",
            "http://eu.app.example", "https://eu.app.example:8443", "null", "capacitor://localhost2",
        ]
        for origin in bad {
            #expect(!Self.allows(origin, allowed: allowed), "\(origin)")
        }
        #expect(Self.allows("null", allowed: ["null"]))
    }

    @Test func `what can be no origin is no entry of the setting`() {
        for text in ["https://app.example", "https://*.app.example:8443", "null", "capacitor://localhost"] {
            #expect(GatewayConfiguration.isOrigin(text), "\(text)")
        }
        let refused = [
            "", "*", "app.example", "https://", "https://*", "https://*.", "https://a.*.example",
            "https://app.example/",
            "https://app.example/path", "https://*.*.example", "https://app.example:0x1", "://x", "capacitor://*",
        ]
        for text in refused { #expect(!GatewayConfiguration.isOrigin(text), "\(text)") }
    }
}
