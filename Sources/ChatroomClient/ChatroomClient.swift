@_exported import ChatModel
@_exported import ClientCore
import NIOCore
import NIOPosix
import Wire

/// A client of the Chatroom Cluster: one session, with any number of rooms (the server allows 10).
///
/// It lives on one event loop. All decisions are made by a value, `ClientCore`; this actor gives it what happens and
/// does what it asks for. See <doc:ChatroomClient> for how to begin.
public actor ChatroomClient {
    private nonisolated let loop: any EventLoop
    private nonisolated let executor: any SerialExecutor
    nonisolated let configuration: ChatroomConfiguration
    private let connector: Connector

    private var core: ClientCore
    private var inbox: [ClientInput] = []
    private var isWorking = false
    private var channel: (any Channel)?
    private var channelConnection: UInt64 = 0
    private var hasUnflushed = false
    private var alarm: Scheduled<Void>?
    private var alarmAt: ClientInstant?

    private var nextTicket: UInt64 = 1
    private var waiting: [UInt64: CheckedContinuation<Result<ClientAnswer, ClientError>, Never>] = [:]
    /// Consumers of one stay's events, and those that go on from stay to stay.
    private var stayFeeds: [RoomID: [WeakFeed<RoomOverflow>]] = [:]
    private var lastingFeeds: [RoomID: [WeakFeed<RoomOverflow>]] = [:]
    private var clientFeeds: [WeakFeed<ClientOverflow>] = []
    private var listeners: [String: Task<Void, Never>] = [:]
    /// The app's providers that were asked last. One that takes too long is cancelled when it is asked again.
    private var findingAddresses: Task<Void, Never>?
    private var fetchingToken: Task<Void, Never>?

    public nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

    public init(_ configuration: ChatroomConfiguration) {
        let group = configuration.eventLoopGroup ?? MultiThreadedEventLoopGroup.singleton
        let loop = group.next()
        self.loop = loop
        executor = loop.executor
        self.configuration = configuration
        connector = Connector(
            loop: loop, tls: configuration.tls, connectMilliseconds: configuration.settings.connectMilliseconds)
        var random = SystemRandomNumberGenerator()
        core = ClientCore(
            settings: configuration.settings, addresses: configuration.gateways,
            asksForAddresses: configuration.addressProvider != nil, seed: random.next())
    }

    deinit {
        alarm?.cancel()
        channel?.close(promise: nil)
        for task in [findingAddresses, fetchingToken] { task?.cancel() }
        for listener in listeners.values { listener.cancel() }
        // Nobody waits for what cannot come any more.
        for feed in stayFeeds.values.joined() { feed.feed?.finish() }
        for feed in lastingFeeds.values.joined() { feed.feed?.finish() }
        for feed in clientFeeds { feed.feed?.finish() }
    }

    // MARK: - State

    /// How the client stands with the cluster.
    public var state: ClientState { core.state }

    /// Who the server says this is; nil before the first connect.
    public var user: UserID? { core.user }

    /// How this client stands with a room; nil when it is not wanted in it.
    public func state(of room: RoomID) -> ConnectionState? { core.connectionState(of: room) }

    // MARK: - Asking

    func ask(_ input: (UInt64) -> ClientInput) async throws(ClientError) -> ClientAnswer {
        let ticket = nextTicket
        nextTicket += 1
        let input = input(ticket)
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                waiting[ticket] = continuation
                if Task.isCancelled {
                    complete(ticket, .failure(Self.cancelled))
                } else {
                    take([input])
                }
            }
        } onCancel: {
            Task { await self.complete(ticket, .failure(Self.cancelled)) }
        }.get()
    }

    private static let cancelled = ClientError(.cancelled, "the task was cancelled")

    private func complete(_ ticket: UInt64, _ result: Result<ClientAnswer, ClientError>) {
        waiting.removeValue(forKey: ticket)?.resume(returning: result)
    }

    func perform(_ operation: ClientOperation) async throws(ClientError) -> OperationResult {
        guard case .result(let result) = try await ask({ .perform(ticket: $0, operation) }) else {
            throw ClientError(.protocolViolation, "the server answered another operation than was asked")
        }
        return result
    }

    // MARK: - The core

    /// Gives the core what happened and does what it asks for, one after the other.
    func take(_ inputs: [ClientInput]) {
        inbox += inputs
        guard !isWorking else { return }
        isWorking = true
        var next = 0
        while next < inbox.count {
            let input = inbox[next]
            next += 1
            for effect in core.handle(input, at: Self.now) { perform(effect) }
        }
        inbox.removeAll(keepingCapacity: inbox.capacity <= 64)
        isWorking = false
        if hasUnflushed {
            hasUnflushed = false
            channel?.flush()
        }
        setAlarm()
    }

    /// By a clock that goes on while the device sleeps: after 10 minutes of sleep no send may be repeated.
    private static var now: ClientInstant {
        ClientInstant(milliseconds: Int64((ContinuousClock.now - started) / .milliseconds(1)))
    }

    private static let started = ContinuousClock.now

    private func setAlarm() {
        let due = core.nextDeadline
        guard due != alarmAt else { return }
        alarm?.cancel()
        alarmAt = due
        guard let due else { return alarm = nil }
        let milliseconds = max(1, due.milliseconds - Self.now.milliseconds)
        alarm = loop.scheduleTask(in: .milliseconds(min(milliseconds, Self.alarmMilliseconds))) { [weak self] in
            self?.assumeIsolated { client in
                client.alarmAt = nil
                client.take([.deadline])
            }
        }
    }

    private func perform(_ effect: ClientEffect) {
        switch effect {
        case .findAddresses(let attempt): findAddresses(attempt)
        case .fetchToken(let attempt): fetchToken { .token(attempt: attempt, $0) }
        case .renewToken: fetchToken { .renewedToken($0) }
        case .open(let connection, let url): open(connection, url)
        case .write(let connection, let request): write(connection, request)
        case .close(let connection, let code): close(connection, code)
        case .complete(let ticket, let result): complete(ticket, result)
        case .roomEvent(let room, let event): tell(room, event)
        case .stayEnded(let room):
            for feed in stayFeeds.removeValue(forKey: room) ?? [] { feed.feed?.finish() }
        case .clientEvent(let event):
            clientFeeds.removeAll { $0.feed == nil }
            for feed in clientFeeds { feed.feed?.push(event) }
        case .log(let level, let text):
            if level >= configuration.logLevel { configuration.logHandler?(level, text) }
        }
    }

    private func tell(_ room: RoomID, _ event: RoomEvent) {
        var event = event
        switch event {
        case .message(let message): if isIgnored(message, room) { return }
        case .unsupported(let what): if let message = what.message, isIgnored(message, room) { return }
        case .filled(let messages):
            event = .filled(messages.filter { !isIgnored($0, room) })
            if event == .filled([]) { return }
        default: break
        }
        for feed in stayFeeds[room] ?? [] { feed.feed?.push(event) }
        for feed in lastingFeeds[room] ?? [] { feed.feed?.push(event) }
    }

    private func isIgnored(_ message: Message, _ room: RoomID) -> Bool {
        guard let ignores = configuration.ignoresNotification, case .notification(let notification) = message.body
        else {
            return false
        }
        return ignores(room, notification)
    }

    // MARK: - Providers

    private func findAddresses(_ attempt: UInt64) {
        let provider = configuration.addressProvider
        findingAddresses?.cancel()
        findingAddresses = Task { [weak self] in
            let urls = try? await provider?()
            await self?.take([.addresses(attempt: attempt, urls)])
        }
    }

    private func fetchToken(_ input: @escaping @Sendable (String?) -> ClientInput) {
        let provider = configuration.tokenProvider
        fetchingToken?.cancel()
        fetchingToken = Task { [weak self] in
            let token = try? await provider?()
            await self?.take([input(token)])
        }
    }

    // MARK: - The connection

    private func open(_ connection: UInt64, _ url: String) {
        let receive: @Sendable ([ClientInput]) -> Void = { [weak self] inputs in
            self?.assumeIsolated { $0.take(inputs) }
        }
        let opening = connector.open(url, connection: connection, receive: receive)
        channelConnection = connection
        opening.whenComplete { [weak self] result in
            guard let self else {
                if case .success(let channel) = result { channel.close(promise: nil) }
                return
            }
            self.assumeIsolated { $0.came(connection, result) }
        }
    }

    private func came(_ connection: UInt64, _ result: Result<any Channel, any Error>) {
        switch result {
        case .success(let channel):
            guard connection == channelConnection, core.wants(connection) else { return channel.close(promise: nil) }
            self.channel = channel
        case .failure(let error):
            take([.closed(connection: connection, code: nil, reason: "\(error)")])
        }
    }

    private func write(_ connection: UInt64, _ request: ClientRequest) {
        guard connection == channelConnection, let channel else { return }
        // What has no answer is not waited for by anybody, so nothing else bounds it.
        guard request.id != nil || channel.isWritable else { return }
        var json: [UInt8] = []
        request.appendJSON(to: &json)
        let frame = WebSocketFrameEncoder.frame(.text, json, mask: RandomBytes.make(4))
        channel.write(channel.allocator.buffer(bytes: frame), promise: nil)
        hasUnflushed = true
    }

    private func close(_ connection: UInt64, _ code: UInt16) {
        guard connection == channelConnection, let channel else { return }
        self.channel = nil
        hasUnflushed = false
        let frame = WebSocketFrameEncoder.close(code: code, reason: "", mask: RandomBytes.make(4))
        channel.writeAndFlush(channel.allocator.buffer(bytes: frame), promise: nil)
        channel.close(promise: nil)
    }

    // MARK: - Consumers

    func subscribe(to room: RoomID, lasting: Bool) -> EventFeed<RoomOverflow> {
        let feed = EventFeed<RoomOverflow>(eventsMax: configuration.waitingEventsMax)
        if lasting {
            lastingFeeds.purge(room)
            lastingFeeds[room, default: []].append(WeakFeed(feed))
        } else {
            stayFeeds.purge(room)
            stayFeeds[room, default: []].append(WeakFeed(feed))
        }
        return feed
    }

    /// What happens to the client from now on, for one consumer.
    public func events() -> ClientEvents {
        let feed = EventFeed<ClientOverflow>(eventsMax: configuration.waitingEventsMax)
        clientFeeds.append(WeakFeed(feed))
        return ClientEvents(feed: feed)
    }

    /// Runs `work` for a key, unless something runs for it already.
    func listen(_ key: String, _ work: @escaping @Sendable () async -> Void) -> Bool {
        guard listeners[key] == nil else { return false }
        listeners[key] = Task { await work() }
        return true
    }

    func hasListener(_ key: String) -> Bool { listeners[key] != nil }

    /// Ends what was added under this key; false if nothing was.
    @discardableResult
    public func removeListener(_ key: String) -> Bool {
        guard let listener = listeners.removeValue(forKey: key) else { return false }
        listener.cancel()
        return true
    }

    /// An alarm is never longer ahead than this, whatever the core's numbers.
    private static let alarmMilliseconds: Int64 = 3_600_000
}
