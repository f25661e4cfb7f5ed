import ChatModel
import Logging
import Synchronization

@testable import ServerAPI

/// Runs a server on a free port of the loopback for as long as `body` takes.
func withServer(
    configure: (inout APIServerConfiguration) -> Void = { _ in }, figures: APIFigures? = nil,
    _ body: @Sendable (LoopbackClient, FakeCluster) async throws -> Void
) async throws {
    let cluster = FakeCluster()
    var configuration = APIServerConfiguration(port: 0)
    configure(&configuration)
    try await run({ [configuration] onBound in
        APIServer(
            configuration: configuration, service: cluster, logger: quiet, figures: figures, onBound: onBound,
            now: { Timestamp(1_700_000_000_123) })
    }) { try await body($0, cluster) }
}

/// The same with a server of probes.
func withProbes(_ body: @Sendable (LoopbackClient) async throws -> Void) async throws {
    try await run(
        { onBound in
            APIServer(
                probes: APIServerConfiguration(port: 0), service: FakeCluster(), logger: quiet, onBound: onBound)
        }, body)
}

/// The same with routes of the test's own.
func withServer(
    routes: [Route], configure: (inout APIServerConfiguration) -> Void = { _ in },
    _ body: @Sendable (LoopbackClient) async throws -> Void
) async throws {
    var configuration = APIServerConfiguration(port: 0)
    configure(&configuration)
    try await run(
        { [configuration] onBound in
            APIServer(
                "test", routes, configuration, service: FakeCluster(), logger: quiet, certificate: nil,
                onBound: onBound, now: APIServer.systemTime)
        }, body)
}

private let quiet: Logger = {
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    return logger
}()

private func run(
    _ make: (@escaping @Sendable (Int) async -> Void) -> APIServer,
    _ body: @Sendable (LoopbackClient) async throws -> Void
) async throws {
    let (ports, port) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
    let server = make { port.yield($0) }
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { port.finish() }
            try await server.run()
        }
        var bound = ports.makeAsyncIterator()
        if let port = await bound.next() {
            try await body(LoopbackClient(port: port))
            group.cancelAll()
        }
        do {
            try await group.waitForAll()
        } catch is CancellationError {
            // The way in which a cancelled server ends.
        }
    }
}
