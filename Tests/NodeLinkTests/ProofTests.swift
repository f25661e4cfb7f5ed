import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import Testing

/// Whoever can't prove that it has a cluster key, on real connections.
@Suite(.timeLimit(.minutes(3))) struct ProofTests {
    @Test(arguments: [false, true])
    func `nodes with different keys refuse each other, and find each other with a common one`(isSecured: Bool)
        async throws
    {
        let authority = try isSecured ? Authority() : nil
        func tls(_ name: String) throws -> LinkTLS? { try authority?.issue(commonName: name, dnsNames: [name]) }
        try await withLoop { loop in
            let a = try await Station.start(
                Station.hello("a"), on: loop, keys: Station.keys(1), tls: try tls("a"))
            let b = try await Station.start(
                Station.hello("b"), on: loop, keys: Station.keys(2), tls: try tls("b"))
            await a.know(b)
            try await b.failed(nil, .proof)
            try await a.failed(b.id, .proof)
            await b.know(a)
            try await a.failed(b.id, .proof)
            #expect(await a.reached == [])
            #expect(await b.reached == [])
            // As a rotation begins.
            await a.run { $0.link.use(Station.keys(1, 2)) }
            await b.run { $0.link.use(Station.keys(2, 1)) }
            try await a.up(b.id)
            try await b.up(a.id)
            #expect(await a.send([1], on: .calls, to: b.id))
            try await b.wait("a frame") { $0.payloads(.calls, from: Station.node("a")) == [[1]] }
        }
    }

    @Test func `an invented node displaces nobody, and nothing that it says before its proof is heard`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            await a.know(b)
            try await a.up(b.id)
            try await b.up(a.id)
            let frame = LinkFrame(.calls, [66])
            // It would be the newer self of b. With the wrong key, with no proof at all, and with frames before it.
            let wrong = try await RawPeer.connect(to: a.port, on: loop)
            try await wrong.introduce(Station.hello("b", boot: 99), keys: Station.keys(9))
            #expect(try await wrong.refusal().code == .proof)
            try await wrong.closed()
            var hello = Station.hello("b", boot: 98)
            hello.nonce = [UInt8](repeating: 1, count: LinkHello.nonceBytes)
            let hasty = try await RawPeer.connect(to: a.port, on: loop)
            await hasty.send([LinkControl.hello(hello).frame, frame])
            #expect(try await hasty.refusal().code == .malformed)
            try await hasty.closed()
            let early = try await RawPeer.connect(to: a.port, on: loop)
            try await early.introduce(Station.hello("c"), between: [frame])
            #expect(try await early.refusal().code == .malformed)
            #expect(await a.reached == [b.id])
            #expect(await !a.events.contains(.down(b.id)))
            #expect(await a.run { $0.arrivals } == [])
            #expect(await b.send([2], on: .calls, to: a.id))
            try await a.wait("a frame") { $0.payloads(.calls, from: Station.node("b")) == [[2]] }
            // Who can prove it takes the place of its former self.
            let real = try await RawPeer.connect(to: a.port, on: loop)
            try await real.introduce(Station.hello("b", boot: 97))
            try await a.wait("another boot") {
                $0.events.contains(
                    .up(Station.node("b"), version: LinkHello.versions.upperBound, boot: 97, store: 7))
            }
        }
    }

    @Test func `a node of the version before is refused`() async throws {
        try await withLoop { loop in
            var old = Station.hello("x")
            (old.oldestVersion, old.newestVersion) = (1, LinkHello.versions.lowerBound - 1)
            let station = try await Station.start(Station.hello("a"), on: loop)
            let refused = try await RawPeer.connect(to: station.port, on: loop)
            await refused.send([LinkControl.hello(old).frame])
            #expect(try await refused.refusal().code == .version)
        }
    }

    @Test func `a node without data learns nothing with a wrong key, and believes nobody who has one`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            await #expect {
                try await ClusterLink.askIdentity(
                    loop: loop, host: "127.0.0.1", port: a.port, keys: Station.keys(2), tls: nil,
                    node: Station.node("new"))
            } throws: {
                ($0 as? LinkError)?.code == .proof
            }
            try await a.failed(nil, .proof)
            // It takes any proof and has none.
            let liar = LinkKeys(prove: { _ in [1] }, accepts: { _, _ in true })
            let b = try await Station.start(Station.hello("b"), on: loop, keys: liar)
            await #expect {
                try await ClusterLink.askIdentity(
                    loop: loop, host: "127.0.0.1", port: b.port, keys: Station.keys(1), tls: nil,
                    node: Station.node("new"))
            } throws: {
                ($0 as? LinkError)?.code == .proof
            }
        }
    }

    @Test func `a process with the ID of a node that is connected, and without its data, changes nothing`() async throws
    {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            await a.know(b)
            try await a.up(b.id)
            try await b.up(a.id)
            func question(_ node: String) async throws -> String {
                try await ClusterLink.askIdentity(
                    loop: loop, host: "127.0.0.1", port: a.port, keys: Station.keys(1), tls: nil,
                    node: Station.node(node)
                ).cluster
            }
            for name in ["a", "b"] {
                await #expect {
                    _ = try await question(name)
                } throws: {
                    ($0 as? LinkError)?.code == .taken
                }
            }
            try await a.failed(b.id, .taken)
            var other = Station.hello("b", boot: 99)
            other.store = 8
            let twin = try await RawPeer.connect(to: a.port, on: loop)
            try await twin.introduce(other)
            #expect(try await twin.refusal().code == .taken)
            #expect(await a.reached == [b.id])
            #expect(await !a.events.contains(.down(b.id)))
            // It may when the node is gone.
            await b.run { $0.kill() }
            try await a.down(b.id)
            #expect(try await question("b") == "c1")
            let next = try await Station.start(other, on: loop)
            await next.know(a)
            try await next.up(a.id)
        }
    }

    @Test func `a side without a proof writes nothing of its own into the log, and speaks for no node`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let liar = try await RawPeer.connect(to: a.port, on: loop)
            var hello = Station.hello("b")
            hello.nonce = [UInt8](repeating: 1, count: LinkHello.nonceBytes)
            let refusal = LinkRefusal(LinkError(.removed, "b\n2026-12-01 error: all is lost"))
            await liar.send([LinkControl.hello(hello).frame, LinkControl.refusal(refusal).frame])
            try await a.failed(nil, .removed)
            let texts = await a.events.compactMap {
                if case .failed(_, let error, _) = $0 { error.message } else { nil }
            }
            #expect(
                !texts.isEmpty && texts.allSatisfy { $0.hasPrefix("b refuses this node, without proof who it is: ") })
            #expect(texts.allSatisfy { !$0.contains("lost") && !$0.contains("\n") })
            let named = try await RawPeer.connect(to: a.port, on: loop)
            hello.cluster = "c\n2026-12-01 error: lost"
            await named.send([LinkControl.hello(hello).frame])
            try await a.failed(nil, .cluster)
            #expect(
                await !a.events.contains {
                    if case .failed(_, let error, _) = $0 { error.message.contains("\n") } else { false }
                })
        }
    }

    @Test func `a removed node is told so, on the connection that it has and on the next ones`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            await b.know(a)
            try await a.up(b.id)
            try await b.up(a.id)
            await a.run {
                var refused = RefusedNodes()
                refused.stores = [Station.node("b"): [7]]
                $0.link.refuse(refused)
            }
            try await a.down(b.id)
            try await b.wait("two refusals") { recorded in
                recorded.events.count {
                    if case .failed(Station.node("a"), let error, _) = $0 { error.code == .removed } else { false }
                } >= 2
            }
            var again = Station.hello("b", boot: 3)
            again.store = 8
            let other = try await Station.start(again, on: loop)
            await other.know(a)
            try await a.up(b.id)
        }
    }
}
