#if !canImport(Darwin)
    internal import EventLoop
    internal import TLS
    internal import Transport

    typealias PlatformSocket = LoopSocket

    /// A WebSocket over TCP and TLS of this package, on an event loop that all clients of the process share.
    struct LoopSocket: ClientSocket {
        private let connection: LoopBound<LoopConnection>

        /// Begins to open one.
        static func open(
            _ address: GatewayAddress, tls: TLSOptions, connectMilliseconds: Int64, mailbox: SocketMailbox
        ) -> any ClientSocket {
            do {
                let shared = try ClientLoop.shared.get()
                // Here and not on the loop, because reading the system's certificates takes a while.
                let context = address.isSecure ? try tls.context(address.host) : nil
                let socket = LoopSocket(
                    connection: LoopBound(LoopConnection(address, context, mailbox), loop: shared.loop))
                socket.onLoop {
                    $0.open(shared.loop, shared.tls.value, connectMilliseconds: UInt64(max(1, connectMilliseconds)))
                }
                return socket
            } catch {
                mailbox.put([.closed(code: nil, reason: (error as? ClientError)?.message ?? "\(error)")])
                return NoSocket()
            }
        }

        func send(_ texts: [[UInt8]], whenSent: @escaping @Sendable () -> Void) {
            onLoop { $0.send(texts, whenSent) }
        }

        func readOn() { onLoop { $0.readOn() } }

        func close(code: UInt16?) { onLoop { $0.close(code) } }

        private func onLoop(_ work: @escaping @Sendable (LoopConnection) -> Void) {
            connection.loop.execute { [connection] in work(connection.value) }
        }
    }

    /// The loop on which the sockets of all clients live. It runs until the process ends: a client has no end that could
    /// be waited for.
    struct ClientLoop: Sendable {
        let loop: EventLoop
        let tls: LoopBound<TLSOutput>

        static let shared = Result {
            let loop = try EventLoop(name: "chatroom client")
            loop.start()
            return ClientLoop(loop: loop, tls: LoopBound(TLSOutput(), loop: loop))
        }
    }

    extension TLSOptions {
        func context(_ host: String) throws -> TLSContext {
            try TLSContext(
                trusted: try trustedCertificatesPEM.map { pem throws(ClientError) in try PEM.certificates(pem) },
                serverName: host, verifies: verifiesCertificates)
        }
    }
#endif
