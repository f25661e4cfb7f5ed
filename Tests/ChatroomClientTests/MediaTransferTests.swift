#if !canImport(Darwin)
    import EventLoop
    import Synchronization
    import Testing
    import Transport

    @testable import ChatroomClient

    /// The sending of content to nodes that don't take it.
    @Suite(.timeLimit(.minutes(3))) struct MediaTransferTests {
        private func transfer(to gateway: Uploads, bytes: Int) throws -> MediaTransfer {
            try MediaTransfer(
                to: "/v1/media/r/x", at: GatewayAddress(gateway.url), ClientSettings(), tls: TLSOptions(), headers: [],
                content: Array(repeating: 7, count: bytes), progress: { _ in })
        }

        @Test func `an upload of which a frozen node takes nothing more is broken off`() async throws {
            let node = try await Uploads(.reads(false))
            // More than the system takes on the way.
            var transfer = try transfer(to: node, bytes: 32 << 20)
            transfer.stallSeconds = 1
            let error = await #expect(throws: ClientError.self) { try await transfer.run() }
            #expect(error?.code == .connectionLost)
        }

        @Test func `an upload without an answer is broken off`() async throws {
            let node = try await Uploads(.reads(true))
            var transfer = try transfer(to: node, bytes: 10)
            transfer.stallSeconds = 1
            let error = await #expect(throws: ClientError.self) { try await transfer.run() }
            #expect(error?.code == .connectionLost)
        }

        @Test func `after its node has died an upload goes to the node where the client is`() async throws {
            let (dead, other) = (try await Uploads(.closes), try await Uploads(.answers(after: 300_000)))
            var transfer = try transfer(to: dead, bytes: 300_000)
            try await transfer.runRepeatedly { () async throws(ClientError) in try GatewayAddress(other.url) }
            #expect(dead.connections == 1 && other.connections == 1)
        }

        @Test func `a place at a store elsewhere stays the same`() async throws {
            let store = try await Uploads(.closes)
            var transfer = try MediaTransfer(
                to: "http" + store.url.dropFirst(2) + "/place", at: GatewayAddress("ws://127.0.0.1:1"),
                ClientSettings(), tls: TLSOptions(), headers: [], content: [1], progress: { _ in })
            let error = await #expect(throws: ClientError.self) {
                try await transfer.runRepeatedly { () async throws(ClientError) in
                    try GatewayAddress("ws://127.0.0.1:2")
                }
            }
            #expect(error?.code == .connectionLost)
            #expect(store.connections == 3)
        }
    }

    /// A node that is only sent to.
    private final class Uploads: Sendable {
        enum Behaviour {
            case reads(Bool)
            case closes
            case answers(after: Int)
        }

        private let sockets: LoopBound<Sockets>
        private let port: Int
        private let count: Counted

        final class Counted: Sendable {
            let value = Mutex(0)
        }

        /// Runs until the process ends.
        private static let loop = Result {
            let loop = try EventLoop(name: "uploads")
            loop.start()
            return loop
        }

        var url: String { "ws://127.0.0.1:\(port)" }
        var connections: Int { count.value.withLock { $0 } }

        init(_ behaviour: Behaviour) async throws {
            let (loop, count) = (try Self.loop.get(), Counted())
            let sockets = LoopBound(Sockets(behaviour, count), loop: loop)
            port = try await loop.run { () throws(TransportError) in try sockets.value.listen(on: loop) }
            self.sockets = sockets
            self.count = count
        }

        deinit { sockets.loop.execute { [sockets] in sockets.value.close() } }
    }

    private final class Sockets: ConnectionHandler {
        private let behaviour: Uploads.Behaviour
        private let count: Uploads.Counted
        private var listener: TCPListener?
        private var connections: [TCPConnection] = []
        private var received = 0

        init(_ behaviour: Uploads.Behaviour, _ count: Uploads.Counted) {
            self.behaviour = behaviour
            self.count = count
        }

        func listen(on loop: EventLoop) throws(TransportError) -> Int {
            let listener = try TCPListener(loop: loop, host: "127.0.0.1", port: 0, reusePort: false) {
                [unowned self] tcp in
                count.value.withLock { $0 += 1 }
                if case .closes = behaviour { return tcp.close() }
                connections.append(tcp)
                tcp.handler = self
                if case .reads(false) = behaviour { return }
                tcp.startReading()
            }
            self.listener = listener
            return listener.port
        }

        func close() {
            listener?.close()
            for tcp in connections { tcp.close() }
        }

        func connection(_ tcp: TCPConnection, didRead bytes: UnsafeRawBufferPointer) {
            // The content alone has bytes that are 7.
            received += bytes.count { $0 == 7 }
            guard case .answers(let after) = behaviour, received >= after else { return }
            let answer = Array("HTTP/1.1 200 OK\r\nContent-Length: 0\r\nConnection: close\r\n\r\n".utf8)
            _ = answer.withUnsafeBytes { tcp.tryWrite($0) }
            tcp.close()
        }

        func connectionDidDrain(_ tcp: TCPConnection) {}

        func connectionDidClose(_ tcp: TCPConnection, error: TransportError?) {}
    }
#endif
