import ClientCore
import NIOCore
import NIOPosix
import NIOSSL

/// Opens WebSocket connections, plain and with TLS.
struct Connector: Sendable {
    let loop: any EventLoop
    let tls: TLSOptions
    let connectMilliseconds: Int64

    /// Opens a connection.
    /// - Parameter receive: called on the loop with all that happens on the connection, once it is there.
    func open(
        _ url: String, connection: UInt64, receive: @escaping @Sendable ([ClientInput]) -> Void
    ) -> EventLoopFuture<any Channel> {
        do {
            let address = try GatewayAddress(url)
            let context = address.isSecure ? try sslContext() : nil
            return ClientBootstrap(group: loop)
                .connectTimeout(.milliseconds(connectMilliseconds))
                .channelOption(.socketOption(.tcp_nodelay), value: 1)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        let pipeline = channel.pipeline.syncOperations
                        if let context {
                            try pipeline.addHandler(
                                NIOSSLClientHandler(context: context, serverHostname: address.serverName))
                        }
                        try pipeline.addHandler(
                            WebSocketHandler(address: address, connection: connection, receive: receive))
                    }
                }
                .connect(host: address.host, port: address.port)
        } catch {
            return loop.makeFailedFuture(error)
        }
    }

    private func sslContext() throws -> NIOSSLContext {
        var configuration = TLSConfiguration.makeClientConfiguration()
        if let pem = tls.trustedCertificatesPEM {
            configuration.trustRoots = .certificates(try NIOSSLCertificate.fromPEMBytes(pem))
        }
        if !tls.verifiesCertificates { configuration.certificateVerification = .none }
        return try NIOSSLContext(configuration: configuration)
    }
}
