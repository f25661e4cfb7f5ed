import EventLoop
import Glibc
import Testing
import Transport

@Suite struct ListenerTests {
    @Test func `nobody listens: connection refused`() async throws {
        try await withLoop { loop in
            let server = try await Server(loop)
            await server.close()
            await server.close()
            await #expect { try await connect(loop, port: server.port) } throws: {
                ($0 as? TransportError)?.code == .connectionRefused
            }
        }
    }

    @Test func `an address in use is refused, and free again after closing`() async throws {
        try await withLoop { loop in
            let first = try await Server(loop)
            await #expect { try await Server(loop, port: first.port) } throws: {
                ($0 as? TransportError)?.code == .addressInUse
            }
            await first.close()
            let second = try await Server(loop, port: first.port)
            #expect(second.port == first.port)
        }
    }

    @Test(arguments: [("127.0.0.1", -1), ("127.0.0.1", 65_536), ("example.org", 80), ("", 80), ("256.0.0.1", 80)])
    func `what is not a numeric address with a port is refused`(host: String, port: Int) async throws {
        try await withLoop { loop in
            await #expect { try await Server(loop, host: host, port: port) } throws: {
                ($0 as? TransportError)?.code == .invalidAddress
            }
        }
    }

    @Test func `an address of no interface is refused`() async throws {
        try await withLoop { loop in
            // RFC 5737: TEST-NET-1 is on no machine.
            await #expect { try await Server(loop, host: "192.0.2.1") } throws: {
                ($0 as? TransportError)?.code == .addressNotAvailable
            }
        }
    }

    @Test func `two loops share a port and both get connections`() async throws {
        try await withLoop("left") { left in
            try await withLoop("right") { right in
                let first = try await Server(left, reusePort: true)
                let second = try await Server(right, port: first.port, reusePort: true)
                // Each end of a connection says something, so that the counts are final when all have been heard.
                var clients: [Endpoint] = []
                for _ in 0..<100 { clients.append(try await connect(left, port: first.port)) }
                async let firstCount = countGreeted(by: first)
                async let secondCount = countGreeted(by: second)
                for client in clients {
                    await client.run { $0.connection.startReading() }
                    #expect(await client.received(1) == [1])
                }
                await first.finish()
                await second.finish()
                let counts = await [firstCount, secondCount]
                #expect(counts.reduce(0, +) == 100)
                // By chance all on one side: once in 2^99 runs.
                #expect(counts.allSatisfy { $0 > 0 })
            }
        }
    }

    private func countGreeted(by server: Server) async -> Int {
        var count = 0
        for await endpoint in server.accepted {
            count += 1
            #expect(await endpoint.run { $0.connection.tryWrite(SharedBytes(copying: [1])) } == 1)
        }
        return count
    }

    @Test func `a client is turned away when descriptors run out, and the listener recovers`() async {
        await #expect(processExitsWith: .success) {
            try await withLoop { loop in
                var limit = rlimit(rlim_cur: 64, rlim_max: 64)
                #expect(setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit) == 0)
                // The system makes a descriptor for the timers of each clock when the first one is set, and ends the process
                // where there is none.
                try await ContinuousClock().sleep(for: .milliseconds(1))
                try await SuspendingClock().sleep(for: .milliseconds(1))
                let server = try await Server(loop)
                let early = try await connect(loop, port: server.port)
                _ = try await server.nextAccepted()
                var fillers: [Int32] = []
                while true {
                    let filler = open("/dev/null", O_RDONLY)
                    guard filler >= 0 else { break }
                    fillers.append(filler)
                }
                // One is left for the client's end.
                _ = fillers.popLast().map { Glibc.close($0) }
                let late = try await connect(loop, port: server.port)
                await late.run { $0.connection.startReading() }
                #expect(await late.closed()?.code == .endOfStream)
                for filler in fillers { _ = Glibc.close(filler) }
                let recovered = try await connect(loop, port: server.port)
                #expect(try await server.nextAccepted()?.run { $0.connection.tryWrite(SharedBytes(copying: [5])) } == 1)
                await recovered.run { $0.connection.startReading() }
                #expect(await recovered.received(1) == [5])
                #expect(await early.run { $0.closeCount } == 0)
            }
        }
    }
}
