import ChatModel
import Logging
import ServerAPI
import ServiceLifecycle
import Testing

@Suite struct ShutdownTests {
    @Test func `a graceful shutdown ends the server without an error`() async throws {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let (bound, port) = AsyncStream.makeStream(of: Int.self, bufferingPolicy: .bufferingNewest(1))
        let server = APIServer(
            configuration: APIServerConfiguration(port: 0), service: FakeCluster(), logger: logger,
            onBound: { port.yield($0) })
        let group = ServiceGroup(configuration: .init(services: [server], logger: logger))
        try await withThrowingTaskGroup(of: Void.self) { tasks in
            tasks.addTask {
                defer { port.finish() }
                try await group.run()
            }
            var ports = bound.makeAsyncIterator()
            let port = try #require(await ports.next())
            let answer = try await LoopbackClient(port: port).call("GET", "/healthz")
            #expect(answer.status == 200)
            await group.triggerGracefulShutdown()
            try await tasks.waitForAll()
            await #expect(throws: (any Error).self) { try await LoopbackClient(port: port).call("GET", "/healthz") }
        }
    }
}
