@_exported import ChatModel
@_exported import ClientCore
import Wire

/// A client of the Chatroom Cluster: one session, with any number of rooms (the server allows 10).
///
/// All decisions are made by a value, `ClientCore`; this actor gives it what happens and does what it asks for. Its socket
/// is the platform's. See <doc:ChatroomClient> for how to begin.
public actor ChatroomClient {
    nonisolated let configuration: ChatroomConfiguration

    private var core: ClientCore
    private var inbox = Fifo<ClientInput>()
    private var isWorking = false
    /// By connection. Two at most, while a connection takes the place of another.
    private var lines: [UInt64: Line] = [:]
    private var alarm: (at: ClientInstant, task: Task<Void, Never>)?

    private var lastAddress: GatewayAddress?
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
    private var renewingToken: Task<Void, Never>?

    public init(_ configuration: ChatroomConfiguration) {
        self.configuration = configuration
        var random = SystemRandomNumberGenerator()
        core = ClientCore(
            settings: configuration.settings, addresses: configuration.gateways,
            asksForAddresses: configuration.addressProvider != nil, seed: random.next())
    }

    deinit {
        alarm?.task.cancel()
        for line in lines.values { line.socket.close(code: nil) }
        for task in [findingAddresses, fetchingToken, renewingToken] { task?.cancel() }
        for listener in listeners.values { listener.cancel() }
        // Nobody waits for what cannot come any more.
        for feed in stayFeeds.values.joined() { feed.feed?.finish() }
        for feed in lastingFeeds.values.joined() { feed.feed?.finish() }
        for feed in clientFeeds { feed.feed?.finish() }
    }

    // MARK: - State

    /// How the client stands with the cluster.
    public var state: ClientState { core.state }

    /// The user that the server says this is; nil before the first connect.
    public var user: UserID? { core.user }

    /// The gateway that is connected, or was last.
    func gatewayAddress() throws(ClientError) -> GatewayAddress {
        guard let lastAddress else { throw ClientError(.notConnected, "the client has not been connected yet") }
        return lastAddress
    }

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
        inbox.append(contentsOf: inputs)
        guard !isWorking else { return }
        isWorking = true
        while let input = inbox.popFirst() {
            for effect in core.handle(input, at: ClientClock.now) { perform(effect) }
        }
        isWorking = false
        for line in lines.values { line.flush() }
        setAlarm()
    }

    /// The alarm stays where it is when the deadline moves away, as it does with everything that is heard: it rings once
    /// for nothing then, and is set anew.
    private func setAlarm() {
        guard let due = core.nextDeadline else {
            alarm?.task.cancel()
            return alarm = nil
        }
        if let alarm, alarm.at <= due { return }
        alarm?.task.cancel()
        let now = ClientClock.now
        let milliseconds = min(max(1, due.milliseconds - now.milliseconds), Self.alarmMilliseconds)
        let at = now.adding(milliseconds: milliseconds)
        let task = Task { [weak self] in
            try? await Task.sleep(nanoseconds: UInt64(milliseconds) * 1_000_000)
            guard !Task.isCancelled else { return }
            await self?.ring(at)
        }
        alarm = (at, task)
    }

    private func ring(_ at: ClientInstant) {
        guard alarm?.at == at else { return }
        alarm = nil
        if let due = core.nextDeadline, due <= ClientClock.now { take([.deadline]) } else { setAlarm() }
    }

    private func perform(_ effect: ClientEffect) {
        switch effect {
        case .findAddresses(let attempt): findAddresses(attempt)
        case .fetchToken(let attempt):
            fetchingToken?.cancel()
            fetchingToken = fetchToken { .token(attempt: attempt, $0) }
        case .renewToken:
            renewingToken?.cancel()
            renewingToken = fetchToken { .renewedToken($0) }
        case .open(let connection, let url): open(connection, url)
        case .write(let connection, let request): write(connection, request)
        case .close(let connection, let code): close(connection, code)
        case .complete(let ticket, let result): complete(ticket, result)
        case .roomEvent(let room, let event): notify(room, event)
        case .stayEnded(let room):
            for feed in stayFeeds.removeValue(forKey: room) ?? [] { feed.feed?.finish() }
        case .clientEvent(let event):
            clientFeeds.removeAll { $0.feed == nil }
            for feed in clientFeeds { feed.feed?.push(event) }
        case .log(let level, let text):
            if level >= configuration.logLevel { configuration.logHandler?(level, text) }
        }
    }

    private func notify(_ room: RoomID, _ event: RoomEvent) {
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

    private func fetchToken(_ input: @escaping @Sendable (String?) -> ClientInput) -> Task<Void, Never> {
        let provider = configuration.tokenProvider
        return Task { [weak self] in
            let token = try? await provider?()
            await self?.take([input(token)])
        }
    }

    // MARK: - The connection

    private func open(_ connection: UInt64, _ url: String) {
        for (number, line) in lines where !core.wants(number) {
            line.socket.close(code: nil)
            lines[number] = nil
        }
        // A task for what comes together, not for each thing. The mailbox keeps the order.
        let mailbox = SocketMailbox { [weak self] mailbox in
            Task { [weak self] in await self?.empty(mailbox, of: connection) }
        }
        do throws(ClientError) {
            let address = try GatewayAddress(url)
            lastAddress = address
            let socket = PlatformSocket.open(
                address, tls: configuration.tls,
                connectMilliseconds: configuration.settings.connectMilliseconds, mailbox: mailbox)
            lines[connection] = Line(socket: socket)
        } catch {
            mailbox.put([.closed(code: nil, reason: error.message)])
        }
    }

    private func empty(_ mailbox: SocketMailbox, of connection: UInt64) {
        let (events, wasFull) = mailbox.takeAll()
        var inputs: [ClientInput] = []
        for event in events { event.appendInputs(connection: connection, to: &inputs) }
        take(inputs)
        if wasFull { lines[connection]?.socket.readOn() }
    }

    private func write(_ connection: UInt64, _ request: ClientRequest) {
        guard let line = lines[connection] else { return }
        // Nobody waits for a request without an answer, so nothing else bounds it.
        guard request.id != nil || line.takesMore else { return }
        var json: [UInt8] = []
        request.appendJSON(to: &json)
        line.write(json)
    }

    private func close(_ connection: UInt64, _ code: UInt16) {
        guard let line = lines.removeValue(forKey: connection) else { return }
        // Bytes that were written in this turn go out before: the exits of a client that stops.
        line.flush()
        line.socket.close(code: code)
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

    /// The client's events from now on, for one consumer.
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
