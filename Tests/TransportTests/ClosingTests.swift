import EventLoop
import Synchronization
import Testing
import Transport

@Suite struct ClosingTests {
    @Test func `the peer's end of stream closes the connection`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            await pair.server.run { $0.connection.startReading() }
            await pair.client.run { $0.connection.close() }
            #expect(await pair.client.closed() == nil)
            #expect(await pair.server.closed()?.code == .endOfStream)
        }
    }

    @Test func `closing is reported later, once, and clears the handler`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            let countDuringCall = await pair.client.run { peer in
                peer.connection.close()
                peer.connection.close()
                peer.connection.shutdownThenClose()
                peer.connection.startReading()
                peer.connection.stopReading()
                return peer.closeCount
            }
            #expect(countDuringCall == 0)
            #expect(await pair.client.closed() == nil)
            let bytes = SharedBytes(copying: [1])
            let after = await pair.client.run { peer in
                peer.connection.close()
                peer.connection.write(bytes)
                return [
                    peer.closeCount, peer.connection.handler == nil ? 1 : 0, peer.connection.tryWrite(bytes),
                    peer.connection.isWriting ? 1 : 0,
                ]
            }
            #expect(after == [1, 1, 0, 0])
        }
    }

    @Test func `closing while a write is under way reports the end alone and releases the bytes`() async throws {
        weak var released: SharedBytes?
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            released = await pair.client.run { peer in
                let block = SharedBytes(copying: pattern(1_000_000))
                _ = peer.writeUntilFull(block)
                return block
            }
            #expect(released != nil)
            await pair.client.run { $0.connection.close() }
            #expect(await pair.client.closed() == nil)
            #expect(await pair.client.run { [$0.drainCount, $0.closeCount] } == [0, 1])
            #expect(released == nil)
        }
    }

    @Test func `a connection may be closed while it delivers`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            await pair.server.run { peer in
                peer.onRead = { [unowned peer] _ in peer.connection.close() }
                peer.connection.startReading()
            }
            _ = await pair.client.run { $0.connection.tryWrite(SharedBytes(copying: [1])) }
            #expect(await pair.server.closed() == nil)
            #expect(await pair.server.run { $0.received } == [1])
        }
    }

    @Test func `shutting down delivers the write under way, also when the peer sends meanwhile`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            // Unread input at the time of closing is what would make the system destroy the output.
            let sent = await pair.client.run { $0.connection.tryWrite(SharedBytes(copying: pattern(1_000))) }
            #expect(sent == 1_000)
            let block = SharedBytes(copying: pattern(1_000_003))
            let blocks = await pair.server.run { $0.writeUntilFull(block) }
            await pair.server.run { $0.connection.shutdownThenClose(withinMilliseconds: 600_000) }
            let takenAfter = await pair.server.run { $0.connection.tryWrite(block) }
            #expect(takenAfter == 0)
            await pair.client.run { $0.connection.startReading() }
            #expect(await pair.client.closed()?.code == .endOfStream)
            #expect(await pair.client.run { $0.received.count } == blocks * block.count)
            #expect(await pair.server.closed() == nil)
            #expect(await pair.server.run { [$0.drainCount, $0.closeCount, $0.received.count] } == [0, 1, 0])
        }
    }

    @Test func `after shutting down, the connection stays until the peer closes, and hears nothing more`() async throws
    {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            await pair.server.run { $0.connection.shutdownThenClose(withinMilliseconds: 600_000) }
            // By the time another connection has come and gone, the first one's end of stream has been sent.
            let other = try await connectedPair(loop)
            await other.server.run { $0.connection.startReading() }
            await other.client.run { $0.connection.close() }
            let otherError = await other.server.closed()
            #expect(otherError?.code == .endOfStream)
            let closeCount = await pair.server.run { $0.closeCount }
            #expect(closeCount == 0)
            let sent = await pair.client.run { $0.connection.tryWrite(SharedBytes(copying: [1])) }
            #expect(sent == 1)
            await pair.client.run { $0.connection.close() }
            let error = await pair.server.closed()
            #expect(error == nil)
            let received = await pair.server.run { $0.received }
            #expect(received == [])
        }
    }

    @Test func `shutting down does not wait for ever for a peer that does not close`() async throws {
        try await withLoop { loop in
            let pair = try await connectedPair(loop)
            await pair.server.run { $0.connection.shutdownThenClose(withinMilliseconds: 5) }
            #expect(await pair.server.closed() == nil)
            #expect(await pair.client.run { $0.closeCount } == 0)
        }
    }

    @Test func `a loop that ends closes its connections, reports it, and keeps none of them`() async throws {
        /// Only compared with nil, after the loop has ended.
        struct WeakEnds: @unchecked Sendable {
            weak var connection: TCPConnection?
            weak var peer: Peer?
        }
        let ends: WeakEnds
        let closeCount = Atomic<Int>(0)
        let loop = try EventLoop(name: "ending")
        loop.start()
        do {
            let pair = try await connectedPair(loop)
            ends = await pair.client.run { peer in
                peer.wait(until: { $0.closeCount > 0 }, resume: { closeCount.add(1, ordering: .relaxed) })
                return WeakEnds(connection: peer.connection, peer: peer)
            }
        }
        loop.shutdown()
        await loop.joined()
        #expect(closeCount.load(ordering: .relaxed) == 1)
        #expect(ends.connection == nil && ends.peer == nil)
    }
}
