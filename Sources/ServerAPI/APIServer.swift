import ChatModel
import EventLoop
internal import Glibc
import Logging
import ServiceLifecycle
import Synchronization
import Transport

/// The server API of one node: HTTP/1.1 JSON for app servers and operators (PROTOCOL.md, "Server API").
///
/// Any node answers for all rooms, because `ClusterService` reaches all of them. `run()` returns after a graceful
/// shutdown, when the requests in progress have been answered, or throws when its task is cancelled.
public struct APIServer: Service {
    private let configuration: APIServerConfiguration
    private let handler: APIHandler
    private let certificate: APICertificate?
    private let name: String
    private let onBound: @Sendable (Int) async -> Void
    private let whileStopping: @Sendable () async -> Void
    private let logger: Logger

    /// - Parameters:
    ///   - certificate: with one, the port speaks TLS only.
    ///   - figures: counts the requests; nil: nobody does.
    ///   - whileStopping: after a graceful shutdown has begun, requests are served until it returns.
    ///   - onBound: called once with the port, when connections are accepted.
    ///   - now: the clock by which barrage is stamped.
    public init(
        configuration: APIServerConfiguration, service: any ClusterService, logger: Logger,
        certificate: APICertificate? = nil, figures: APIFigures? = nil,
        whileStopping: @escaping @Sendable () async -> Void = {},
        onBound: @escaping @Sendable (_ port: Int) async -> Void = { _ in },
        now: @escaping @Sendable () -> Timestamp = Self.systemTime
    ) {
        self.init(
            "server API", Routes.all(bodyBytesMax: configuration.bodyBytesMax), configuration, service: service,
            logger: logger, certificate: certificate, onBound: onBound, now: now, figures: figures,
            whileStopping: whileStopping)
    }

    /// The port of probes and metrics alone: they have connections of their own, so that whatever goes on at the server
    /// API's port does not silence them.
    public init(
        probes configuration: APIServerConfiguration, service: any ClusterService, logger: Logger,
        certificate: APICertificate? = nil, figures: APIFigures? = nil,
        whileStopping: @escaping @Sendable () async -> Void = {},
        onBound: @escaping @Sendable (_ port: Int) async -> Void = { _ in }
    ) {
        self.init(
            "probes", Routes.operating, configuration, service: service, logger: logger, certificate: certificate,
            onBound: onBound, now: Self.systemTime, figures: figures, hasConsole: false, whileStopping: whileStopping)
    }

    init(
        _ name: String, _ routes: [Route], _ configuration: APIServerConfiguration, service: any ClusterService,
        logger: Logger, certificate: APICertificate?, onBound: @escaping @Sendable (Int) async -> Void,
        now: @escaping @Sendable () -> Timestamp, figures: APIFigures? = nil, hasConsole: Bool = true,
        whileStopping: @escaping @Sendable () async -> Void = {}
    ) {
        self.name = name
        self.whileStopping = whileStopping
        self.configuration = configuration
        self.certificate = certificate
        self.onBound = onBound
        self.logger = logger
        handler = APIHandler(
            table: RouteTable(routes), service: service, logger: logger, now: now, figures: figures,
            hasConsole: hasConsole)
    }

    /// Serves until it is shut down.
    /// - Throws: `ServerAPIError` when the address cannot be bound.
    public func run() async throws {
        // A loop of its own: what strangers do to this port, TLS handshakes above all, holds up no room and no client.
        let loop: EventLoop
        do throws(EventLoopError) {
            loop = try EventLoop(name: name == "probes" ? "probes" : "api")
        } catch {
            throw ServerAPIError(code: .listening, message: "the \(name) has no event loop: \(error)")
        }
        loop.start()
        let (configuration, handler, certificate) = (configuration, handler, certificate)
        let port = await loop.run {
            LoopBound(onLoop: APIPort(loop: loop, configuration, handler, certificate), loop: loop)
        }
        let result: Result<Int, TransportError> = await loop.run {
            do throws(TransportError) {
                return .success(try port.value.listen())
            } catch {
                return .failure(error)
            }
        }
        switch result {
        case .failure(let error):
            loop.shutdown()
            await loop.joined()
            throw ServerAPIError(
                code: .listening,
                message: "the \(name) cannot listen on \(configuration.host):\(configuration.port): \(error)")
        case .success(let number): await onBound(number)
        }
        // Whether the loop takes work; a signal to end may come when it has just ended.
        let isServing = Served()
        let whileStopping = whileStopping
        let endServing: @Sendable () -> Void = {
            isServing.value.withLock { isServing in
                guard isServing else { return }
                loop.execute {
                    port.value.drain()
                    loop.schedule(afterMilliseconds: Self.drainMilliseconds) { port.value.cut() }
                }
            }
        }
        await withTaskCancellationHandler {
            await withGracefulShutdownHandler {
                await withCheckedContinuation { continuation in
                    loop.execute { port.value.whenEmpty(continuation) }
                }
            } onGracefulShutdown: {
                Task {
                    await whileStopping()
                    endServing()
                }
            }
        } onCancel: {
            isServing.value.withLock { isServing in
                guard isServing else { return }
                loop.execute { port.value.cut() }
            }
        }
        isServing.value.withLock { $0 = false }
        loop.shutdown()
        await loop.joined()
        try Task.checkCancellation()
    }

    private final class Served: Sendable {
        let value = Mutex(true)
    }

    /// So long requests under way may take after a graceful shutdown has begun.
    private static let drainMilliseconds: UInt64 = 10_000

    /// The machine's wall clock.
    public static func systemTime() -> Timestamp {
        var now = timespec()
        clock_gettime(CLOCK_REALTIME, &now)
        return Timestamp(Int64(now.tv_sec) * 1000 + Int64(now.tv_nsec) / 1_000_000)
    }
}
