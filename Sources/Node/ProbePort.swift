import Logging
import ServerAPI
import Synchronization

/// Probes and metrics on a port of their own (`probes.host`, `probes.port`), which nothing that happens to the server
/// API's port can silence.
final class ProbePort: Sendable {
    private let configuration: APIServerConfiguration
    private let service: any ClusterService
    private let certificate: APICertificate?
    private let figures: APIFigures
    private let logger: Logger
    private let whileStopping: @Sendable () async -> Void
    private let bound = Mutex<Int?>(nil)

    /// nil where no such port is wanted.
    init?(
        _ configuration: NodeConfiguration, service: any ClusterService, certificate: APICertificate?,
        figures: APIFigures, logger: Logger, whileStopping: @escaping @Sendable () async -> Void
    ) {
        guard let port = configuration.probesPort else { return nil }
        self.configuration = APIServerConfiguration(host: configuration.probesHost, port: port)
        self.service = service
        self.certificate = certificate
        self.figures = figures
        self.logger = logger
        self.whileStopping = whileStopping
    }

    /// The port; nil before it is bound.
    var port: Int? { bound.withLock { $0 } }

    /// Serves both until the end of either: first the probes, then, when their port is bound, the server API.
    func run(beside api: APIServer) async throws {
        let (isBound, bind) = AsyncStream.makeStream(of: Void.self)
        let probes = APIServer(
            probes: configuration, service: service, logger: logger, certificate: certificate, figures: figures,
            whileStopping: whileStopping
        ) { [self] port in
            bound.withLock { $0 = port }
            bind.finish()
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await probes.run() }
            group.addTask {
                for await _ in isBound {}
                try Task.checkCancellation()
                try await api.run()
            }
            // An error ends the other one, too; a graceful shutdown ends both.
            try await group.waitForAll()
        }
    }
}
