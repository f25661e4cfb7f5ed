import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import Testing
import WaitTestKit

@Suite(.timeLimit(.minutes(3))) struct ConnectingTests {
    @Test(arguments: [["a"], ["b"], ["a", "b"]])
    func `two nodes end with one connection, whoever calls`(callers: [String]) async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b", boot: 5), on: loop)
            if callers.contains("a") { await a.know(b) }
            if callers.contains("b") { await b.know(a) }
            try await a.up(b.id)
            try await b.up(a.id)
            try await poll("one connection") {
                let (ofA, ofB) = (await a.connectionCount, await b.connectionCount)
                return ofA == 1 && ofB == 1
            }
            try await a.up(b.id)
            try await b.up(a.id)
            #expect(await a.events.contains(.up(b.id, version: LinkHello.versions.upperBound, boot: 5, store: 7)))
            #expect(await a.send([1], on: .calls, to: b.id))
            #expect(await b.send([2], on: .publications, to: a.id))
            try await b.wait("a frame") { [id = a.id] in $0.payloads(.calls, from: id) == [[1]] }
            try await a.wait("a frame") { [id = b.id] in $0.payloads(.publications, from: id) == [[2]] }
        }
    }

    @Test func `a node that dies is down, and up again with another boot`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b", boot: 1), on: loop)
            await a.know(b)
            try await a.up(b.id)
            await b.run { $0.kill() }
            try await a.down(b.id)
            #expect(await a.send([1], on: .calls, to: b.id) == false)
            let again = try await Station.start(Station.hello("b", boot: 2), on: loop, port: b.port)
            try await a.up(b.id)
            try await again.up(a.id)
            let news = await a.events.filter { if case .failed = $0 { false } else { true } }
            #expect(
                news == [
                    .up(b.id, version: LinkHello.versions.upperBound, boot: 1, store: 7), .down(b.id),
                    .up(b.id, version: LinkHello.versions.upperBound, boot: 2, store: 7),
                ])
        }
    }

    @Test func `who belongs elsewhere is refused with the reason, on both sides`() async throws {
        try await withLoop { loop in
            var cluster = Station.hello("b")
            cluster.cluster = "c2"
            var shards = Station.hello("b")
            shards.shards = 8
            var version = Station.hello("b")
            let newest = LinkHello.versions.upperBound
            (version.oldestVersion, version.newestVersion) = (newest + 1, newest + 2)
            for (hello, code) in [(cluster, LinkError.Code.cluster), (shards, .shards), (version, .version)] {
                let a = try await Station.start(Station.hello("a"), on: loop)
                let b = try await Station.start(hello, on: loop)
                await a.know(b)
                try await a.failed(b.id, code)
                // The caller ends it before it has proved who it is.
                try await b.failed(nil, code)
                #expect(await a.reached == [])
                #expect(await b.reached == [])
                for station in [a, b] { await station.run { $0.kill() } }
            }
        }
    }

    @Test func `another node at the address of the one that was called is refused, and so is oneself`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            await a.run { [port = b.port] in $0.link.know(Station.node("x"), host: "127.0.0.1", port: port) }
            try await a.failed(Station.node("x"), .identity)
            try await b.failed(nil, .identity)
            // The caller finds out before it has proved anything.
            #expect(await b.reached == [])
            #expect(await !b.events.contains(.down(a.id)))
            await a.run { [port = a.port] in $0.link.know(Station.node("y"), host: "127.0.0.1", port: port) }
            try await a.failed(Station.node("y"), .identity)
            #expect(await a.reached == [])
        }
    }

    @Test func `a node that is forgotten is down and not called again`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            await a.know(b)
            try await a.up(b.id)
            try await b.up(a.id)
            await a.run { [id = b.id] in $0.link.forget(id) }
            try await a.down(b.id)
            try await b.down(a.id)
            // Nor one that is being called.
            await a.run { [id = b.id, port = b.port] in
                $0.link.know(id, host: "127.0.0.1", port: port)
            }
            await a.run { [id = b.id] in $0.link.forget(id) }
            try await poll("no connection") { await a.connectionCount == 0 }
            #expect(await a.reached == [])
        }
    }

    @Test func `who is at fault is told why and is down`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let b = try await Station.start(Station.hello("b"), on: loop)
            await a.know(b)
            try await a.up(b.id)
            try await b.up(a.id)
            await b.run { [id = a.id] in $0.link.drop(id, because: LinkError(.identity, "it lies")) }
            try await a.down(b.id)
            try await b.down(a.id)
            #expect(await a.events.contains(.failed(b.id, LinkError(.identity, "it lies"), isProven: true)))
        }
    }

    @Test func `a node without data learns which cluster it asks`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let answer = try await ClusterLink.askIdentity(
                loop: loop, host: "localhost", port: a.port, keys: Station.keys(1), tls: nil, node: Station.node("new"))
            #expect(answer.cluster == "c1" && answer.shards == 16)
            try await poll("no connection") { await a.connectionCount == 0 }
            #expect(await a.events == [])
            await a.run { $0.kill() }
            await #expect(throws: LinkError.self) {
                try await ClusterLink.askIdentity(
                    loop: loop, host: "127.0.0.1", port: a.port, keys: Station.keys(1), tls: nil,
                    node: Station.node("new"))
            }
        }
    }
}
