import ChatModel
import Foundation
import Hummingbird
import HummingbirdCore
import HummingbirdTLS
import Logging
import NIOCore
import ServiceLifecycle

/// The server API of one node: HTTP/1.1 JSON for app servers and operators (contract, section 4).
///
/// Any node answers for all rooms, because `ClusterService` reaches all of them. `run()` returns after a graceful
/// shutdown, when the requests in progress have been answered, or throws when its task is cancelled.
public struct APIServer: Service {
    private let configuration: APIServerConfiguration
    private let handler: APIHandler
    private let certificate: APICertificate?
    private let name: String
    private let onBound: @Sendable (Int) async -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - certificate: with one, the port speaks TLS only.
    ///   - onBound: called once with the port, when connections are accepted.
    ///   - now: the clock by which barrage is stamped.
    public init(
        configuration: APIServerConfiguration, service: any ClusterService, logger: Logger,
        certificate: APICertificate? = nil, onBound: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        now: @escaping @Sendable () -> Timestamp = Self.systemTime
    ) {
        self.init(
            "server API", Routes.all(bodyBytesMax: configuration.bodyBytesMax), configuration, service, logger,
            certificate, onBound, now)
    }

    /// Of probes and metrics alone, on a port of their own: they have connections of their own, so that whatever goes on
    /// at the server API's port does not silence them.
    public init(
        probes configuration: APIServerConfiguration, service: any ClusterService, logger: Logger,
        certificate: APICertificate? = nil, onBound: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) {
        self.init(
            "probes", Routes.operating, configuration, service, logger, certificate, onBound, Self.systemTime)
    }

    private init(
        _ name: String, _ routes: [Route], _ configuration: APIServerConfiguration, _ service: any ClusterService,
        _ logger: Logger, _ certificate: APICertificate?, _ onBound: @escaping @Sendable (Int) async -> Void,
        _ now: @escaping @Sendable () -> Timestamp
    ) {
        self.name = name
        self.configuration = configuration
        self.certificate = certificate
        self.onBound = onBound
        self.logger = logger
        handler = APIHandler(table: RouteTable(routes), service: service, logger: logger, now: now)
    }

    /// Serves until it is shut down.
    /// - Throws: `ServerAPIError` when the address cannot be bound.
    public func run() async throws {
        let http = HTTPServerBuilder.http1(configuration: channelConfiguration)
        let application = try Application(
            responder: APIResponder(handler: handler, configuration: configuration),
            server: certificate.map { try .tls(http, tlsConfiguration: $0.configuration) } ?? http,
            configuration: ApplicationConfiguration(
                // Nobody is kept waiting there: who comes is taken, and somebody else gives way (``APIPlaces``).
                address: .hostname(configuration.host, port: configuration.port), backlog: 1_024),
            onServerRunning: { await onBound($0.localAddress?.port ?? configuration.port) },
            logger: logger)
        do {
            try await application.run()
        } catch let error as CancellationError {
            throw error
        } catch {
            throw ServerAPIError(
                code: .listening,
                message: "the \(name) cannot listen on \(configuration.host):\(configuration.port): \(error)")
        }
    }

    /// The machine's wall clock.
    public static func systemTime() -> Timestamp {
        Timestamp(Int64(Date().timeIntervalSince1970 * 1000))
    }

    private var channelConfiguration: HTTP1Channel.Configuration {
        let connections = APIConnections(configuration)
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [APIConnectionWatch(connections)],
            idleTimeout: .seconds(configuration.idleSeconds),
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: configuration.headerFieldBytesMax,
                maxHeaderListSize: configuration.headerBytesMax,
                maxHeaderFieldCount: configuration.headerCountMax))
    }
}
