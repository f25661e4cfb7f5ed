import ChatModel
import NodeLink
import EventLoop
import NodeLinkCore
import Testing
import Transport

/// What comes from outside of the cluster, and from nodes that hang.
@Suite(.timeLimit(.minutes(3))) struct StrangerTests {
    private func bytes(_ frames: [LinkFrame]) -> [UInt8] {
        var bytes: [UInt8] = []
        for frame in frames { frame.append(to: &bytes) }
        return bytes
    }

    @Test func `garbage ends the connection`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            let hello = LinkControl.hello(Station.hello("x")).frame
            for bytes in [
                Array("GET / HTTP/1.1\r\n\r\n".utf8), [22, 3, 1, 0, 5],
                // A lane that there is not, a frame over its bound, something else before the hello, a hello that is
                // none, a frame that is too long to be one.
                [0, 0, 0, 0, 9], [0, 0, 0x20, 0, 0], bytes([LinkFrame(.calls, [1])]), bytes([LinkControl.ping.frame]),
                bytes([LinkFrame(.control, Array(hello.payload.dropLast(3)))]),
                [0, 2, 0, 0, 4] + [UInt8](repeating: 0, count: 5_000),
            ] {
                let stranger = try await RawPeer.connect(to: a.port, on: loop)
                await stranger.send(bytes)
                try await stranger.closed()
            }
            #expect(await a.reached == [])
        }
    }

    @Test func `a hello that comes too late or not in full ends the connection`() async throws {
        var configuration = Station.eager
        configuration.helloTimeout = .milliseconds(50)
        try await withLoop { [configuration] loop in
            let a = try await Station.start(Station.hello("a"), on: loop, configuration: configuration)
            let hello = bytes([LinkControl.hello(Station.hello("x")).frame])
            for part in [0, 3, hello.count - 1] {
                let stranger = try await RawPeer.connect(to: a.port, on: loop)
                await stranger.send(Array(hello.prefix(part)))
                try await stranger.closed()
            }
            try await a.failed(nil, .timedOut)
            #expect(await a.reached == [])
        }
    }

    @Test func `a second hello, an unknown control frame and a message over the window end the link`() async throws {
        try await withLoop { loop in
            let a = try await Station.start(Station.hello("a"), on: loop)
            await a.run { $0.heldLanes = [.bulk] }
            let hello = LinkControl.hello(Station.hello("x")).frame
            let proof = LinkControl.proof([1]).frame
            let piece = LinkFrame(.bulk, [UInt8](repeating: 0, count: LinkLane.bulk.frameBytesMax))
            for frames in [
                [hello], [proof], [LinkFrame(.control, [1])], Array(repeating: piece, count: 5),
            ] {
                let stranger = try await RawPeer.connect(to: a.port, on: loop)
                try await stranger.introduce(Station.hello("x"))
                await stranger.send(frames)
                try await stranger.control("the reason") {
                    if case .refusal(let refusal) = $0 { refusal.error.code == .malformed } else { false }
                }
                try await stranger.closed()
                try await a.down(Station.node("x"))
                await a.run { $0.events = [] }
            }
        }
    }

    @Test func `a node that says hello and then nothing goes down`() async throws {
        var configuration = Station.eager
        configuration.pingInterval = .milliseconds(20)
        configuration.silenceMax = .milliseconds(100)
        try await withLoop { [configuration] loop in
            let a = try await Station.start(Station.hello("a"), on: loop, configuration: configuration)
            let stranger = try await RawPeer.connect(to: a.port, on: loop)
            try await stranger.introduce(Station.hello("x"))
            try await a.wait("it up") {
                $0.events.contains(.up(Station.node("x"), version: LinkHello.versions.upperBound, boot: 1, store: 7))
            }
            try await stranger.control("a ping") { $0 == .ping }
            try await a.down(Station.node("x"))
            try await a.failed(Station.node("x"), .timedOut)
            try await stranger.closed()
        }
    }

    @Test func `nodes that have nothing to say hold their link by pings`() async throws {
        var configuration = Station.eager
        configuration.pingInterval = .milliseconds(10)
        configuration.silenceMax = .seconds(60)
        try await withLoop { [configuration] loop in
            let a = try await Station.start(Station.hello("a"), on: loop, configuration: configuration)
            let stranger = try await RawPeer.connect(to: a.port, on: loop)
            try await stranger.introduce(Station.hello("x"))
            await stranger.send([LinkControl.ping.frame])
            try await stranger.control("a ping") { $0 == .ping }
            #expect(await a.reached == [Station.node("x")])
        }
    }

    @Test func `beyond the bound who waits for longest makes place, and who is up takes none`() async throws {
        var configuration = Station.eager
        configuration.strangers.perAddress = 1
        configuration.strangers.patience = .zero
        configuration.helloTimeout = .seconds(600)
        try await withLoop { [configuration] loop in
            let a = try await Station.start(Station.hello("a"), on: loop, configuration: configuration)
            for name in ["x", "y", "z"] {
                try await RawPeer.connect(to: a.port, on: loop).introduce(Station.hello(name))
                try await a.up(Station.node(name))
            }
            let first = try await RawPeer.connect(to: a.port, on: loop)
            try await first.control("a hello") { if case .hello = $0 { true } else { false } }
            let second = try await RawPeer.connect(to: a.port, on: loop)
            try await first.closed()
            try await second.control("a hello") { if case .hello = $0 { true } else { false } }
            #expect(await a.connectionCount == 4)
            #expect(await a.reached == ["x", "y", "z"].map(Station.node))
        }
    }
}
