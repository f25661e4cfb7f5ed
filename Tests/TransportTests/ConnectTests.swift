import EventLoop
import Glibc
import Testing
import Transport

@Suite struct ConnectTests {
    @Test func `the source address can be chosen`() async throws {
        try await withLoop { loop in
            let server = try await Server(loop)
            let client = try await connect(loop, port: server.port, localAddress: "127.0.0.2")
            #expect(try await server.nextAccepted()?.run { $0.connection.remoteAddress } == "127.0.0.2")
            await client.run { $0.connection.close() }
        }
    }

    @Test func `who takes little at a time leaves its peer little room`() async throws {
        try await withLoop { loop in
            let server = try await Server(loop)
            let limits = ReceiveLimits(bufferBytes: 16_384, segmentBytes: 1_460)
            let client = try await connect(loop, port: server.port, receiveLimits: limits)
            let peer = try #require(try await server.nextAccepted())
            let taken = await peer.run { peer in
                let chunk = [UInt8](repeating: 7, count: 65_536)
                var taken = 0
                while taken < 16 << 20 {
                    let some = chunk.withUnsafeBytes { peer.connection.tryWrite($0) }
                    taken += some
                    guard some == chunk.count else { break }
                }
                return taken
            }
            #expect(taken < 512 << 10)
            await client.run { $0.connection.close() }
        }
    }

    @Test func `a name is looked up`() async throws {
        try await withLoop { loop in
            let server = try await Server(loop)
            // Not a dotted quad, so it goes to the resolver, which knows this form without asking anybody.
            let client = try await connect(loop, host: "127.1", port: server.port)
            #expect(await client.run { $0.connection.remoteAddress } == "127.0.0.1")
        }
    }

    @Test func `a bad source address, an impossible one and a bad port fail later, not during the call`() async throws {
        try await withLoop { loop in
            let cases: [(host: String, port: Int, source: String?, code: TransportError.Code)] = [
                ("127.0.0.1", 80, "nowhere", .invalidAddress), ("127.0.0.1", 80, "192.0.2.1", .addressNotAvailable),
                ("127.0.0.1", 65_536, nil, .invalidAddress), ("127.0.0.1", -1, nil, .invalidAddress),
            ]
            for (host, port, source, code) in cases {
                let (found, wasLater) = await withCheckedContinuation { continuation in
                    loop.execute {
                        var hasReturned = false
                        TCPConnection.connect(loop: loop, host: host, port: port, localAddress: source) { result in
                            let code: TransportError.Code? =
                                if case .failure(let error) = result { error.code } else { nil }
                            continuation.resume(returning: (code, hasReturned))
                        }
                        hasReturned = true
                    }
                }
                #expect(found == code)
                #expect(wasLater)
            }
        }
    }

    @Test func `connecting gives up in time`() async throws {
        try await withLoop { loop in
            // A socket that listens without anyone accepting: when its backlog is full, the system answers nothing.
            let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
            defer { Glibc.close(descriptor) }
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
            var length = socklen_t(MemoryLayout<sockaddr_in>.size)
            withUnsafeMutablePointer(to: &address) { pointer in
                pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                    #expect(bind(descriptor, $0, length) == 0)
                    #expect(listen(descriptor, 0) == 0)
                    #expect(getsockname(descriptor, $0, &length) == 0)
                }
            }
            var codes: [TransportError.Code] = []
            for _ in 0..<8 where codes.isEmpty {
                do {
                    _ = try await connect(loop, port: Int(UInt16(bigEndian: address.sin_port)), timeoutMilliseconds: 20)
                } catch let error as TransportError {
                    codes.append(error.code)
                }
            }
            #expect(codes == [.timedOut])
        }
    }

    @Test func `a loop that ends cancels a connection under way`() async throws {
        let loop = try EventLoop(name: "ending")
        loop.start()
        let result = await withCheckedContinuation {
            (continuation: CheckedContinuation<TransportError.Code?, Never>) in
            loop.shutdown {
                // Nothing has been polled when the loop closes what is open.
                TCPConnection.connect(loop: loop, host: "127.0.0.1", port: 1) { result in
                    if case .failure(let error) = result { continuation.resume(returning: error.code) }
                }
            }
        }
        // The refusal of a loopback address may have been known at once.
        #expect(result == .cancelled || result == .connectionRefused)
        await loop.joined()
    }
}
