import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import Testing

@Suite(.timeLimit(.minutes(3))) struct CertificateTests {
    @Test func `nodes with certificates of one authority connect, by DNS name or common name`() async throws {
        let authority = try Authority()
        try await withLoop { loop in
            let a = try await Station.start(
                Station.hello("a"), on: loop,
                tls: try authority.issue(commonName: "machine 1", dnsNames: ["host.example", "a"]))
            let b = try await Station.start(
                Station.hello("b"), on: loop, tls: try authority.issue(commonName: "b", dnsNames: []))
            await a.know(b)
            try await a.up(b.id)
            try await b.up(a.id)
            let big = [UInt8](repeating: 7, count: 1 << 20)
            for number in 0..<4 as Range<UInt8> {
                #expect(await a.send([number] + big, on: .calls, to: b.id))
                #expect(await b.send([number] + big, on: .calls, to: a.id))
            }
            for (station, other) in [(a, b.id), (b, a.id)] {
                try await station.wait("4 MB") { $0.payloads(.calls, from: other).count == 4 }
                let expected = (0..<4 as Range<UInt8>).map { [$0] + big }
                #expect(await station.payloads(.calls, from: other) == expected)
            }
            let answer = try await ClusterLink.askIdentity(
                loop: loop, host: "127.0.0.1", port: a.port, keys: Station.keys(1),
                tls: try authority.issue(commonName: "n", dnsNames: ["new"]), node: Station.node("new"))
            #expect(answer.cluster == "c1" && answer.shards == 16)
        }
    }

    @Test func `the certificate of another node is refused`() async throws {
        let authority = try Authority()
        try await withLoop { loop in
            let a = try await Station.start(
                Station.hello("a"), on: loop, tls: try authority.issue(commonName: "a", dnsNames: ["a"]))
            let thief = try authority.issue(commonName: "c", dnsNames: ["c"])
            let b = try await Station.start(Station.hello("b"), on: loop, tls: thief)
            await b.know(a)
            try await a.failed(nil, .identity)
            await a.know(b)
            // From a as the caller too.
            try await a.failed(b.id, .identity)
            #expect(await !a.events.contains(.up(b.id, version: LinkHello.versions.upperBound, boot: 1, store: 7)))
            await #expect(throws: LinkError.self) {
                try await ClusterLink.askIdentity(
                    loop: loop, host: "127.0.0.1", port: a.port, keys: Station.keys(1), tls: thief,
                    node: Station.node("new"))
            }
            let nameless = try authority.issue(commonName: "not a node", dnsNames: [])
            let d = try await Station.start(Station.hello("d"), on: loop, tls: nameless)
            await d.know(a)
            try await a.failed(nil, .identity)
        }
    }

    @Test func `a certificate of another authority and a connection without TLS are refused`() async throws {
        let (authority, other) = (try Authority(), try Authority())
        try await withLoop { loop in
            let a = try await Station.start(
                Station.hello("a"), on: loop, tls: try authority.issue(commonName: "a", dnsNames: ["a"]))
            // b trusts the right authority and has a certificate of the wrong one.
            let b = try await Station.start(
                Station.hello("b"), on: loop,
                tls: try other.issue(commonName: "b", dnsNames: ["b"], trusted: authority))
            await b.know(a)
            // Whether b reads why before its connection is reset is up to the system.
            try await b.wait("its refusal") { recorded in
                recorded.events.contains {
                    guard case .failed(a.id, let error, _) = $0 else { return false }
                    return error.code == .identity || error.code == .closed
                }
            }
            try await a.failed(nil, .identity)
            await a.know(b)
            try await a.failed(b.id, .identity)
            let plain = try await Station.start(Station.hello("p"), on: loop)
            await plain.know(a)
            try await plain.failed(a.id, .closed)
            await a.know(plain)
            try await a.failed(plain.id, .identity)
            for station in [a, b, plain] {
                let wasUp = await station.events.contains { if case .up = $0 { true } else { false } }
                #expect(!wasUp)
            }
        }
    }
}
