import EventLoop
import Testing
import Transport

/// Everything in here happens on one loop, so that one poll finds all the input.
@Suite struct InputShareTests {
    /// Counts turns, and remembers in which one each connection was read.
    private final class Turns {
        var count = 0
        var reads: [Int: Int] = [:]
    }

    /// A read takes all of a turn's share. By the thread's own clock, not the wall's: a thread that had to wait for a CPU
    /// meanwhile has a part of its share left, and reads another connection.
    @Sendable private static func useUpShare() {
        let begin = EventLoop.threadCPUNanoseconds
        while EventLoop.threadCPUNanoseconds < begin + EventLoop.shareNanoseconds {}
    }

    private func turns(of loop: EventLoop) async -> LoopBound<Turns> {
        await loop.run {
            let turns = LoopBound(onLoop: Turns(), loop: loop)
            loop.addTurnEnd(.flush) { turns.value.count += 1 }
            return turns
        }
    }

    /// Pairs whose clients write in the same turn.
    private func writing(_ count: Int, _ loop: EventLoop) async throws -> [(client: Endpoint, server: Endpoint)] {
        var pairs: [(client: Endpoint, server: Endpoint)] = []
        for _ in 0..<count { pairs.append(try await connectedPair(loop)) }
        return pairs
    }

    @Test func `input beyond a turn's share waits for later turns, but not that of a connection with priority`()
        async throws
    {
        try await withLoop { loop in
            let turns = await turns(of: loop)
            let pairs = try await writing(5, loop)
            for (number, pair) in pairs.enumerated() {
                await pair.server.run { peer in
                    peer.connection.hasPriority = number == 0
                    peer.onRead = { _ in
                        turns.value.reads[number] = turns.value.count
                        Self.useUpShare()
                    }
                    peer.connection.startReading()
                }
            }
            let clients = pairs.map(\.client)
            await loop.run {
                for client in clients { #expect(client.box.value.connection.tryWrite(SharedBytes(copying: [7])) == 1) }
            }
            for pair in pairs { #expect(await pair.server.received(1) == [7]) }
            let reads = await loop.run { turns.value.reads }
            let others = Set(reads.filter { $0.key != 0 }.values)
            // One takes the share of the first turn; the others, which have waited, are read in the next in any case.
            // (Or later, where the system has not delivered to all of them before the first poll.)
            #expect(others.count >= 2)
            #expect(try #require(reads[0]) < #require(others.max()))
        }
    }

    @Test func `who brings a share of input in every turn does not starve the others`() async throws {
        try await withLoop { loop in
            let pairs = try await writing(3, loop)
            let clients = pairs.map(\.client)
            let reads = await loop.run { LoopBound(onLoop: [0, 0, 0], loop: loop) }
            for (number, pair) in pairs.enumerated() {
                await pair.server.run { peer in
                    peer.onRead = { _ in
                        reads.value[number] += 1
                        // The first goes on until the others have been read often.
                        guard number > 0 ? reads.value[number] < 10 : reads.value[1...].min() ?? 0 < 10 else { return }
                        _ = clients[number].box.value.connection.tryWrite(SharedBytes(copying: [7]))
                        if number == 0 { Self.useUpShare() }
                    }
                    peer.connection.startReading()
                }
            }
            await loop.run {
                for client in clients { _ = client.box.value.connection.tryWrite(SharedBytes(copying: [7])) }
            }
            for pair in pairs[1...] { #expect(await pair.server.received(10).count == 10) }
        }
    }

    @Test func `a connection whose input waits may be closed, stopped and read again`() async throws {
        try await withLoop { loop in
            let pairs = try await writing(4, loop)
            let servers = pairs.map(\.server)
            for server in servers {
                await server.run { peer in
                    peer.onRead = { [unowned peer] _ in
                        Self.useUpShare()
                        // Whichever comes first finds the others waiting, or not read yet.
                        for other in servers.map(\.box.value) where other !== peer && other.received.isEmpty {
                            other.connection.stopReading()
                        }
                        loop.executeLater {
                            for other in servers.map(\.box.value) where other.received.isEmpty {
                                other.connection.startReading()
                                other.connection.startReading()
                            }
                        }
                    }
                    peer.connection.startReading()
                }
            }
            let clients = pairs.map(\.client)
            await loop.run {
                for client in clients { #expect(client.box.value.connection.tryWrite(SharedBytes(copying: [7])) == 1) }
            }
            for server in servers { #expect(await server.received(1) == [7]) }
            // Both ends of all of them at once: the closing side and, beyond the share, the other.
            for server in servers { await server.run { $0.onRead = nil } }
            await loop.run { for client in clients { client.box.value.connection.close() } }
            for end in servers + clients {
                _ = await end.closed()
                #expect(await end.run { $0.closeCount } == 1)
            }
        }
    }

    @Test func `a connection that is closed while its input waits reads nothing more`() async throws {
        try await withLoop { loop in
            let pairs = try await writing(3, loop)
            let servers = pairs.map(\.server)
            // In the turn of the first read, while the others wait. A job may be put off to the next, which reads them.
            await loop.run {
                loop.addTurnEnd(.route) {
                    let peers = servers.map(\.box.value)
                    guard let reader = peers.first(where: { !$0.received.isEmpty }) else { return }
                    for other in peers where other !== reader { other.connection.close() }
                }
            }
            for server in servers {
                await server.run { peer in
                    peer.onRead = { _ in Self.useUpShare() }
                    peer.connection.startReading()
                }
            }
            let clients = pairs.map(\.client)
            await loop.run {
                for client in clients { #expect(client.box.value.connection.tryWrite(SharedBytes(copying: [7])) == 1) }
            }
            for client in clients { await client.run { $0.connection.startReading() } }
            var readCount = 0
            for server in servers {
                await server.wait { $0.closeCount > 0 || !$0.received.isEmpty }
                readCount += await server.run { $0.received.count }
            }
            #expect(readCount == 1)
        }
    }
}
