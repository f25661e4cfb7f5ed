import ChatModel
import EventLoop
import HTTPTestKit
import History
import Logging
import StorageTestKit
import Synchronization
import Telemetry
import Testing
import WaitTestKit
import Webhooks
import Wire

/// The failed calls of a shard's dispatcher, as its log tells of them.
@Suite(.timeLimit(.minutes(3))) struct WebhookFailureTests {
    /// The app's receiver and the log of the dispatcher that calls it.
    private final class App: Sendable {
        private let isAccepting = Mutex(false)
        private let logged = Mutex<[[String: String]]>([])

        var accepts: Bool {
            get { isAccepting.withLock { $0 } }
            set { isAccepting.withLock { $0 = newValue } }
        }

        /// The metadata of each line.
        var lines: [[String: String]] { logged.withLock { $0 } }

        func note(_ line: [String: String]) { logged.withLock { $0.append(line) } }
    }

    private struct Handler: LogHandler {
        let app: App
        var logLevel = Logger.Level.trace
        var metadata: Logger.Metadata = [:]
        var metadataProvider: Logger.MetadataProvider?

        init(app: App) { self.app = app }

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) { app.note((event.metadata ?? [:]).mapValues { "\($0)" }) }
    }

    private struct Parts: Sendable {
        let app: App
        let room: RoomID
        let loop: EventLoop
        let callbacks: LoopBound<LoopCallbacks>
        let dispatcher: LoopBound<WebhookDispatcher?>
        let figures: WebhookFigures

        func offer() async {
            let (callbacks, room) = (callbacks, room)
            await loop.run {
                callbacks.value.offer(.enter, WebhookFailureTests.shard) {
                    WebhookItem(id: "", room: room, event: .enter, time: WebhookFailureTests.now())
                }
            }
        }
    }

    private static let shard = ShardID(0)
    /// It stands still, so the first of many failures alone is logged.
    private static let now: @Sendable () -> Timestamp = { Timestamp(1_800_000_000_000) }

    /// Runs the body with a dispatcher of a shard that owes nothing, and an app that refuses every call until it is told
    /// otherwise. The waits are the shortest of their bounds. At the end of the body no call may be under way.
    private func run(_ body: (Parts) async throws -> Void) async throws {
        let room = try #require(RoomID("live"))
        let loop = try EventLoop(name: "webhook")
        loop.start()
        let app = App()
        let server = TestServer(loop: loop, tls: nil) { _ in
            .bytes(
                app.accepts ? TestServer.ok("") : "HTTP/1.1 500 Internal Server Error\r\nContent-Length: 0\r\n\r\n")
        }
        try await server.start()
        let port = await server.port
        let client = CallbackClient(loop: loop)
        let directory = try TemporaryDirectory()
        let pool = StoragePool(writers: 1, readers: 1)
        let storage = try ShardStorage.open(
            Self.shard, directory: directory.path + "/shard", pool: pool,
            configuration: StorageConfiguration(now: Self.now))
        let parts = Parts(
            app: app, room: room, loop: loop, callbacks: LoopBound(LoopCallbacks(client: client), loop: loop),
            dispatcher: LoopBound<WebhookDispatcher?>(nil, loop: loop),
            figures: WebhookFigures(metrics: MetricsRegistry(), now: Self.now))
        await loop.run {
            let dispatcher = WebhookDispatcher(
                WebhookDispatcher.Shard(
                    id: Self.shard, storage: storage, isLeader: { true },
                    read: { _, completion in completion(nil) },
                    record: { _, _, completion in completion(.isThere) },
                    pumpLater: { parts.loop.executeLater { parts.dispatcher.value?.pump() } }),
                loop: parts.loop, callbacks: parts.callbacks, figures: parts.figures,
                logger: Logger(label: "test", factory: { _ in Handler(app: parts.app) }), now: Self.now,
                random: { 0 })
            parts.dispatcher.value = dispatcher
            parts.callbacks.value.add(dispatcher, of: Self.shard)
            var settings = WebhookSettings()
            settings.url = "http://127.0.0.1:\(port)/"
            settings.secret = "secret"
            parts.callbacks.value.setWebhook(settings)
        }
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(parts))
        } catch {
            result = .failure(error)
        }
        await client.shutdown()
        await server.stop()
        try await server.waitForNoConnection()
        storage.close()
        pool.close()
        withExtendedLifetime(directory) {}
        loop.shutdown()
        await loop.joined()
        try result.get()
    }

    /// The room that each line names, and the wait.
    private func told(_ app: App) -> [[String?]] { app.lines.map { [$0["room"], $0["retryMs"]] } }

    @Test func `a failure is logged once a minute, with a room of the batch, whatever is accepted meanwhile`()
        async throws
    {
        try await run { parts in
            await parts.offer()
            try await poll("a second failure") { parts.figures.failed.value >= 2 }
            #expect(told(parts.app) == [["live", "250"]])
            parts.app.accepts = true
            try await poll("a delivery") { parts.figures.delivered.value == 1 }
            parts.app.accepts = false
            let failures = parts.figures.failed.value
            await parts.offer()
            try await poll("another failure") { parts.figures.failed.value > failures }
            parts.app.accepts = true
            try await poll("another delivery") { parts.figures.delivered.value == 2 }
            #expect(told(parts.app) == [["live", "250"]])
        }
    }

    @Test func `a node that leads anew forgets the failures of its earlier leadership`() async throws {
        try await run { parts in
            await parts.offer()
            // The next call comes a second later: none is under way.
            try await poll("a third failure") { parts.figures.failed.value >= 3 }
            #expect(told(parts.app) == [["live", "250"]])
            await parts.loop.run { parts.dispatcher.value?.reset() }
            await parts.offer()
            try await poll("another failure") { parts.figures.failed.value >= 4 }
            parts.app.accepts = true
            try await poll("a delivery") { parts.figures.delivered.value == 1 }
            #expect(told(parts.app) == [["live", "250"], ["live", "250"]])
        }
    }
}
