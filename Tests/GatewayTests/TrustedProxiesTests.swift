import Testing
import Transport

@testable import Gateway
@testable import HTTPWebSocket

@Suite struct TrustedProxiesTests {
    private func client(of peer: String, _ values: [String], trusted: [String]) throws -> String {
        let proxies = TrustedProxies(ranges: try trusted.map { try #require(IPRange($0)) })
        let request = UpgradeRequest(
            method: "GET", path: "/", query: "",
            headers: values.map { HTTPHeader(name: "x-forwarded-for", value: $0) })
        return proxies.client(of: try #require(IPAddress(peer)), request).description
    }

    @Test func `only a trusted proxy is believed`() throws {
        #expect(try client(of: "192.0.2.1", ["198.51.100.7"], trusted: []) == "192.0.2.1")
        #expect(try client(of: "192.0.2.1", ["198.51.100.7"], trusted: ["192.0.2.2"]) == "192.0.2.1")
        #expect(try client(of: "192.0.2.1", ["198.51.100.7"], trusted: ["192.0.2.1"]) == "198.51.100.7")
        #expect(try client(of: "::ffff:192.0.2.1", ["198.51.100.7"], trusted: ["192.0.2.0/24"]) == "198.51.100.7")
        #expect(try client(of: "fd00::1", ["2001:db8::9"], trusted: ["fd00::/8"]) == "2001:db8::9")
    }

    @Test func `what a client writes itself into the header is not believed`() throws {
        let trusted = ["10.0.0.0/8"]
        // The proxy appends; everything before is the client's own invention.
        #expect(try client(of: "10.0.0.1", ["1.1.1.1, 198.51.100.7"], trusted: trusted) == "198.51.100.7")
        #expect(try client(of: "10.0.0.1", ["1.1.1.1", "198.51.100.7 , 10.9.9.9"], trusted: trusted) == "198.51.100.7")
        // Whoever sends garbage is the last that a proxy has seen.
        #expect(try client(of: "10.0.0.1", ["unknown"], trusted: trusted) == "10.0.0.1")
        #expect(try client(of: "10.0.0.1", ["1.1.1.1, nonsense, 10.0.0.3"], trusted: trusted) == "10.0.0.3")
        #expect(try client(of: "10.0.0.1", [""], trusted: trusted) == "10.0.0.1")
        #expect(try client(of: "10.0.0.1", [], trusted: trusted) == "10.0.0.1")
        #expect(try client(of: "10.0.0.1", ["10.0.0.2, 10.0.0.3"], trusted: trusted) == "10.0.0.2")
    }

    @Test func `a port behind the client's address is left out`() throws {
        func client(_ value: String) throws -> String {
            try self.client(of: "10.0.0.1", [value], trusted: ["10.0.0.0/8"])
        }
        #expect(try client("198.51.100.7:4711") == "198.51.100.7")
        #expect(try client("[2001:db8::9]:4711") == "2001:db8::9")
        #expect(try client("[2001:db8::9]") == "2001:db8::9")
        #expect(try client("2001:db8::9:4711") == "2001:db8::9:4711")
        for text in [
            "198.51.100.7:", "198.51.100.7:x", "198.51.100.7:123456", "[2001:db8::9]x", "[2001:db8::9", ":80", "[",
        ] {
            #expect(try client(text) == "10.0.0.1", "\(text)")
        }
    }

    @Test func `ranges are read as CIDR and nothing else`() throws {
        for text in [
            "", "/8", "10.0.0.0/33", "10.0.0.0/-1", "10.0.0.0/", "10.0.0/8", "fd00::/129", "example.org", "::1%lo",
            "::ffff:10.0.0.0/104", "10.0.0.0/8/8",
        ] { #expect(IPRange(text) == nil, "\(text)") }
        for (text, inside, outside) in [
            ("10.128.0.0/9", "10.255.1.1", "10.127.255.255"), ("192.0.2.1", "192.0.2.1", "192.0.2.2"),
            ("2001:db8::/33", "2001:db8:7fff::1", "2001:db8:8000::1"), ("::1", "::1", "::2"),
            ("0.0.0.0/0", "255.255.255.255", "::1"),
        ] {
            let range = try #require(IPRange(text))
            let (within, beyond) = (try #require(IPAddress(inside)), try #require(IPAddress(outside)))
            #expect(range.contains(within) && !range.contains(beyond))
        }
        #expect(IPAddress("2001:db8::1:2:3:4")?.holder == IPAddress("2001:db8::ffff")?.holder)
        #expect(IPAddress("192.0.2.1")?.holder != IPAddress("192.0.2.2")?.holder)
    }
}
