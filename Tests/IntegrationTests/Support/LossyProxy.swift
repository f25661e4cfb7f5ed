import NIOCore
import NIOPosix
import NIOSSL
import Synchronization

/// Between a client and a node: passes everything on, until it is told to lose an answer and the connection with it.
final class LossyProxy: Sendable {
    /// What all connections share.
    final class Plan: Sendable {
        private struct State {
            var loses: [UInt8]?
            var lost = 0
            var accepted = 0
        }

        private let state = Mutex(State())

        func noteAccepted() { state.withLock { $0.accepted += 1 } }

        /// Whether these bytes from the node are to be lost, and the connection with them.
        func losesNow(_ bytes: [UInt8]) -> Bool {
            state.withLock { state in
                guard let text = state.loses, bytes.contains(text) else { return false }
                state.loses = nil
                state.lost += 1
                return true
            }
        }

        func lose(_ text: String) { state.withLock { $0.loses = Array(text.utf8) } }
        var counts: (accepted: Int, lost: Int) { state.withLock { ($0.accepted, $0.lost) } }
    }

    let plan = Plan()
    let port: Int
    private let listener: any Channel

    /// - Parameters:
    ///   - target: the node's port.
    ///   - isSecure: takes clients with TLS, as `localhost` and 127.0.0.1.
    ///   - host: where it listens.
    init(target: Int, isSecure: Bool = false, host: String = "127.0.0.1") async throws {
        let plan = plan
        let context = isSecure ? try Self.tls() : nil
        listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { client in
                plan.noteAccepted()
                return ClientBootstrap(group: client.eventLoop).connect(host: "127.0.0.1", port: target).flatMap {
                    node in
                    client.eventLoop.makeCompletedFuture {
                        if let context {
                            try client.pipeline.syncOperations.addHandler(NIOSSLServerHandler(context: context))
                        }
                        try client.pipeline.syncOperations.addHandler(Pipe(to: node, plan: nil))
                        try node.pipeline.syncOperations.addHandler(Pipe(to: client, plan: plan))
                    }.flatMap { client.setOption(.autoRead, value: true) }
                }
            }
            .bind(host: host, port: 0).get()
        port = listener.localAddress?.port ?? 0
    }

    deinit { listener.close(promise: nil) }

    private static func tls() throws -> NIOSSLContext {
        let own = try TestCertificate.shared.get()
        let certificate = try NIOSSLCertificate(bytes: Array(own.certificatePEM.utf8), format: .pem)
        let key = try NIOSSLPrivateKey(bytes: Array(own.keyPEM.utf8), format: .pem)
        return try NIOSSLContext(
            configuration: .makeServerConfiguration(
                certificateChain: [.certificate(certificate)], privateKey: .privateKey(key)))
    }
}

/// One direction.
private final class Pipe: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let other: any Channel
    private let plan: LossyProxy.Plan?

    init(to other: any Channel, plan: LossyProxy.Plan?) {
        self.other = other
        self.plan = plan
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = unwrapInboundIn(data)
        if let plan, plan.losesNow(Array(bytes.readableBytesView)) {
            other.close(promise: nil)
            return context.close(promise: nil)
        }
        other.writeAndFlush(bytes, promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { other.close(promise: nil) }
}
