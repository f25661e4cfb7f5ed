import EventLoop
import Testing
import Transport

@Suite struct ConnectionTests {
    /// Starts to send everything back. For less than what the system buffers.
    @Sendable static func echo(_ peer: Peer) {
        peer.onRead = { [unowned peer] bytes in
            #expect(peer.connection.tryWrite(bytes) == bytes.count)
        }
        peer.connection.startReading()
    }

    @Test(arguments: ["127.0.0.1", "localhost"]) func `what is sent comes back over loopback`(host: String) async throws
    {
        try await withLoop { loop in
            let server = try await Server(loop, host: host, prepare: Self.echo)
            let client = try await connect(loop, host: host, port: server.port)
            let bytes = SharedBytes(copying: pattern(10_000))
            let written = await client.run { peer in
                peer.connection.startReading()
                return peer.connection.tryWrite(bytes)
            }
            #expect(written == 10_000)
            #expect(await client.received(10_000) == pattern(10_000))
            #expect(
                await client.run { [$0.connection.remoteAddress, "\($0.connection.remotePort)"] } == [
                    "127.0.0.1", "\(server.port)",
                ])
        }
    }

    @Test func `IPv6 works, and an IPv4 peer of an IPv6 socket has its IPv4 address`() async throws {
        try await withLoop { loop in
            let server: Server
            do throws(TransportError) {
                server = try await Server(loop, host: "::", prepare: Self.echo)
            } catch {
                // A machine without IPv6 refuses the address family itself.
                #expect(error.code != .addressInUse && error.code != .invalidAddress)
                return
            }
            let old = try await connect(loop, host: "127.0.0.1", port: server.port)
            #expect(try await server.nextAccepted()?.run { $0.connection.remoteAddress } == "127.0.0.1")
            await old.run { $0.connection.close() }
            // The loopback interface may lack the address.
            guard let new = try? await connect(loop, host: "::1", port: server.port) else { return }
            #expect(try await server.nextAccepted()?.run { $0.connection.remoteAddress } == "::1")
            #expect(await new.run { $0.connection.remoteAddress } == "::1")
        }
    }

    @Test func `several buffers go out in one call, the first from its offset on`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            let buffers = pattern(30).map { SharedBytes(copying: CollectionOfOne($0)) }
            await pair.server.run { $0.connection.startReading() }
            let written = await pair.client.run { peer in
                [
                    peer.connection.tryWrite([SharedBytes(copying: [9, 1, 2])][...], firstFrom: 1),
                    peer.connection.tryWrite(buffers[10...]), peer.connection.tryWrite([]),
                ]
            }
            #expect(written == [2, 20, 0])
            #expect(await pair.server.received(22) == [1, 2] + pattern(30)[10...])
        }
    }

    @Test func `a call offers at most 64 buffers`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            let written = await pair.client.run { peer in
                peer.connection.tryWrite(Array(repeating: SharedBytes(copying: [1, 2]), count: 100)[...])
            }
            #expect(written == 128)
        }
    }

    @Test func `a reader that stops pushes back, and gets every byte when it goes on`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            let block = SharedBytes(copying: pattern(1_000_003))
            let blocks = await pair.client.run { $0.writeUntilFull(block) }
            #expect(await pair.client.run { $0.connection.isWriting })
            // What would overtake the queued bytes is not taken.
            let takenMeanwhile = await pair.client.run { $0.connection.tryWrite(block) }
            #expect(takenMeanwhile == 0)
            #expect(await pair.client.run { $0.drainCount } == 0)
            await pair.server.run { $0.connection.startReading() }
            await pair.client.wait { $0.drainCount > 0 }
            #expect(await pair.client.run { $0.connection.tryWrite(SharedBytes(copying: [7])) } == 1)
            let received = await pair.server.received(blocks * block.count + 1)
            #expect(received == Array(repeatElement(pattern(1_000_003), count: blocks).joined()) + [7])
            #expect(await pair.client.run { [$0.drainCount, $0.connection.isWriting ? 1 : 0] } == [1, 0])
        }
    }

    @Test func `reading can be stopped while bytes are delivered`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            await pair.server.run { peer in
                peer.onRead = { [unowned peer] _ in peer.connection.stopReading() }
                peer.connection.startReading()
            }
            #expect(await pair.client.run { $0.connection.tryWrite(SharedBytes(copying: [1])) } == 1)
            #expect(await pair.server.received(1) == [1])
            #expect(await pair.client.run { $0.connection.tryWrite(SharedBytes(copying: [2])) } == 1)
            // The loop has polled at least once more when a connection has come and gone.
            let other = try await connectedPair(loop)
            await other.client.run { $0.connection.close() }
            await other.server.run { $0.connection.startReading() }
            #expect(await other.server.closed()?.code == .endOfStream)
            #expect(await pair.server.run { $0.received } == [1])
            await pair.server.run { $0.connection.startReading() }
            #expect(await pair.server.received(2) == [1, 2])
        }
    }

    @Test func `writing to a peer that has gone ends the connection, not the process`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            await pair.server.run { $0.connection.close() }
            #expect(await pair.server.closed() == nil)
            // The first write may be taken; the answer to it is a reset, after which writing fails.
            let bytes = SharedBytes(copying: pattern(100))
            while await pair.client.run({ peer in
                _ = peer.connection.tryWrite(bytes)
                return peer.closeCount == 0
            }) {}
            #expect(await pair.client.closed()?.code == .connectionReset)
            #expect(await pair.client.run { $0.closeCount } == 1)
        }
    }
}
