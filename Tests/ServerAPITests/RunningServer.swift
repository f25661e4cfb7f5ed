import ChatModel
import Logging
import ServerAPI
import Synchronization

/// Runs a server on a free port of the loopback for as long as `body` takes.
func withServer(
    configure: (inout APIServerConfiguration) -> Void = { _ in },
    _ body: @Sendable (LoopbackClient, FakeCluster) async throws -> Void
) async throws {
    let cluster = FakeCluster()
    var configuration = APIServerConfiguration(port: 0)
    configure(&configuration)
    let (ports, port) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
    var logger = Logger(label: "test")
    logger.logLevel = .critical
    let server = APIServer(
        configuration: configuration, service: cluster, logger: logger, onBound: { port.yield($0) },
        now: { Timestamp(1_700_000_000_123) })
    try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
            defer { port.finish() }
            try await server.run()
        }
        var bound = ports.makeAsyncIterator()
        if let port = await bound.next() {
            try await body(LoopbackClient(port: port), cluster)
            group.cancelAll()
        }
        do {
            try await group.waitForAll()
        } catch is CancellationError {
            // The way in which a cancelled server ends.
        }
    }
}
