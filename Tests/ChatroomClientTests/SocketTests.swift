import ChatModel
import ChatroomClient
import Synchronization
import Testing

/// The shell of the SDK: its socket, its providers, its consumers.
@Suite(.timeLimit(.minutes(3))) struct SocketTests {
    private func configuration(_ gateway: FakeGateway?) -> ChatroomConfiguration {
        var configuration = ChatroomConfiguration(gateways: gateway.map { [$0.url] } ?? [])
        configuration.tokenProvider = { "t" }
        configuration.settings.reconnectMinMilliseconds = 1
        configuration.settings.reconnectMaxMilliseconds = 4
        return configuration
    }

    /// The events of a sequence up to the first that matches.
    private func events<Events: AsyncSequence>(
        _ events: Events, until match: (Events.Element) -> Bool
    ) async throws -> [Events.Element] {
        var all: [Events.Element] = []
        for try await event in events {
            all.append(event)
            if match(event) { break }
        }
        return all
    }

    @Test func `what is unknown comes as unsupported through the socket, and nothing breaks`() async throws {
        let gateway = try await FakeGateway()
        let client = ChatroomClient(configuration(gateway))
        let clientEvents = await client.events()
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        let head = #""room":"live","messageId":"m","time":1"#
        gateway.say(
            #"{"message":{\#(head),"seq":1,"type":"HOLOGRAM","depth":3}}"#,
            #"{"message":{\#(head),"seq":2,"type":"NOTIFICATION","event":399,"targets":[],"data":{"x":1}}}"#,
            #"{"hologram":{"room":"live"}}"#, #"{"state":{"room":"live","state":"PONDERING"}}"#,
            #"{"broadcast":{"messageId":"b","time":1,"type":"HOLOGRAM"}}"#,
            #"{"id":4000000,"error":{"code":13099,"name":"NEW","message":"no"}}"#,
            #"{"message":{\#(head),"seq":3,"type":"TEXT","text":"plain","later":[1]}}"#,
            #"{"kicked":{"room":"live","reason":42,"ext":"why"}}"#)
        var unsupported: [Unsupported] = []
        var rest: [RoomEvent] = []
        for await event in roomEvents {
            switch event {
            case .unsupported(let what): unsupported.append(what)
            case .message, .kicked: rest.append(event)
            default: break
            }
        }
        #expect(unsupported.map { $0.message?.seq } == [1, 2])
        guard case .message(let message) = rest.first else { return #expect(Bool(false), "no message") }
        #expect(message.seq == 3 && message.body == .text("plain"))
        #expect(rest.last == .kicked(Kick(reason: .unknown, ext: "why")))
        var told = 0
        for await event in clientEvents {
            if case .unsupported = event { told += 1 }
            if told == 3 { break }
        }
        #expect(await client.state == .connected)
        #expect(gateway.requestCount == 2, "connect and enter: it does not come back by itself")
    }

    @Test(
        arguments: [(4403, .forcedOffline), (4410, .takenOver), (1008, .protocolViolation)]
            as [(UInt16, ClientError.Code)])
    func `a close that means to stop stops, and the next connect begins anew`(
        code: UInt16, error: ClientError.Code
    ) async throws {
        let gateway = try await FakeGateway()
        let client = ChatroomClient(configuration(gateway))
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        gateway.close(code)
        var last: RoomEvent?
        for await event in roomEvents { last = event }
        guard case .state(.failed(let why)) = last else { return #expect(Bool(false), "must have failed") }
        #expect(why.code == error)
        await #expect(throws: ClientError.self) { try await room.send("x") }
        try await client.connect()
        try await room.enter()
        #expect(try await room.send("x").seq == 1)
        #expect(gateway.tokens.count == 2)
    }

    @Test func `4401 asks for a new token and comes back`() async throws {
        let gateway = try await FakeGateway()
        let asked = Mutex(0)
        var configuration = configuration(gateway)
        configuration.tokenProvider = {
            asked.withLock {
                $0 += 1
                return "t\($0)"
            }
        }
        let client = ChatroomClient(configuration)
        let clientEvents = await client.events()
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        gateway.close(4401)
        _ = try await events(clientEvents) { $0 == .tokenExpired }
        let states = try await events(roomEvents) {
            if case .entered(let entry) = $0 { entry.recovery == .complete } else { false }
        }
        #expect(states.contains(.state(.lost)))
        #expect(gateway.tokens == ["t1", "t2"])
    }

    @Test func `what is said right before the end is heard`() async throws {
        let gateway = try await FakeGateway()
        let client = ChatroomClient(configuration(gateway))
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        gateway.close(4401, saying: #"{"kicked":{"room":"live","reason":6}}"#)
        let told = try await events(roomEvents) { if case .kicked = $0 { true } else { false } }
        #expect(told.last == .kicked(Kick(reason: .tokenRevoked)))
        #expect(!told.contains(.state(.lost)))
    }

    @Test func `a node that leaves names another one, and the client goes there`() async throws {
        let (gateway, other) = (try await FakeGateway(), try await FakeGateway())
        let client = ChatroomClient(configuration(gateway))
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        gateway.close(1001, saying: #"{"reconnect":{"minMs":1,"maxMs":2,"gateways":["\#(other.url)"]}}"#)
        _ = try await events(roomEvents) { $0 == .state(.lost) }
        _ = try await events(roomEvents) { $0 == .state(.entered) }
        #expect(gateway.tokens.count == 1 && other.tokens.count == 1)
    }

    private static let arrival: [RoomEvent] = [.state(.connecting), .state(.entering), .state(.entered)]

    @Test func `a node that stops is left over a second socket, and neither sends nor messages are lost`() async throws
    {
        let gateway = try await FakeGateway()
        let client = ChatroomClient(configuration(gateway))
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        let clientEvents = await client.events()
        let hasMoved = Mutex(false)
        let sending = Task {
            var seqs: [UInt64?] = []
            while !hasMoved.withLock({ $0 }) { seqs.append(try await room.send("x").seq) }
            return seqs + [try await room.send("x").seq]
        }
        var told = try await events(roomEvents) { if case .message = $0 { true } else { false } }
        gateway.say(#"{"reconnect":{"minMs":1,"maxMs":2,"cause":"DRAIN","gateways":["\#(gateway.url)"]}}"#)
        told += try await events(roomEvents) {
            if case .entered(let entry) = $0 { entry.recovery == .complete } else { false }
        }
        hasMoved.withLock { $0 = true }
        let seqs = try await sending.value
        #expect(seqs.compactMap { $0 } == Array(1...UInt64(seqs.count)))
        told += try await events(roomEvents) {
            if case .message(let message) = $0 { message.seq == seqs.last } else { false }
        }
        #expect(Script.seqs(told) == seqs.compactMap { $0 })
        #expect(told.filter { if case .state = $0 { true } else { false } } == Self.arrival)
        #expect(gateway.tokens.count == 2)
        gateway.close(1001)
        let first = try await events(clientEvents) { _ in true }
        #expect(first == [.state(.lost)], "nothing before")
    }

    @Test func `a provider that takes too long is cancelled when it is asked again`() async throws {
        let gateway = try await FakeGateway()
        let asked = Mutex(0)
        let cancelled = Mutex(0)
        let (stream, told) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingOldest(4))
        var configuration = configuration(gateway)
        configuration.settings.providerMilliseconds = 20
        configuration.settings.retryCount = 1
        configuration.tokenProvider = {
            asked.withLock { $0 += 1 }
            do { try await Task.sleep(for: .seconds(3_600)) } catch {
                cancelled.withLock { $0 += 1 }
                told.yield()
                throw error
            }
            return "t"
        }
        do {
            let client = ChatroomClient(configuration)
            await #expect { try await client.connect() } throws: { ($0 as? ClientError)?.code == .tokenUnavailable }
        }
        // The second ends with the client.
        var ends = stream.makeAsyncIterator()
        for _ in 1...2 { _ = await ends.next() }
        // Not before: a provider may be called only when its time is over.
        #expect(asked.withLock { $0 } == 2)
        #expect(cancelled.withLock { $0 } == 2)
    }

    @Test func `an address provider that takes too long leaves the last known gateways`() async throws {
        let gateway = try await FakeGateway()
        let asked = Mutex(0)
        var configuration = configuration(nil)
        // Enough for the calls that do answer.
        configuration.settings.providerMilliseconds = 5_000
        let url = gateway.url
        configuration.addressProvider = {
            if asked.withLock({
                $0 += 1
                return $0 > 1
            }) {
                try await Task.sleep(for: .seconds(3_600))
            }
            return [url]
        }
        let client = ChatroomClient(configuration)
        let clientEvents = await client.events()
        try await client.connect()
        gateway.close(1001)
        let told = try await events(clientEvents) { $0 == .state(.lost) }
        #expect(told.contains(.state(.connected)))
        _ = try await events(clientEvents) { $0 == .state(.connected) }
        #expect(asked.withLock { $0 } == 2)
    }

    @Test func `consumers end with the client`() async throws {
        let clientEvents: ClientEvents
        let roomEvents: RoomEvents
        do {
            let client = ChatroomClient(configuration(nil))
            clientEvents = await client.events()
            roomEvents = await client.room(Script.room).events()
        }
        for await event in clientEvents { Issue.record("\(event)") }
        for await event in roomEvents { Issue.record("\(event)") }
    }

    @Test(arguments: LogLevel.allCases) func `the log handler gets what its level lets through`(
        level: LogLevel
    ) async throws {
        let gateway = try await FakeGateway()
        let lines = Mutex<[(level: LogLevel, text: String)]>([])
        var configuration = configuration(gateway)
        configuration.tokenProvider = { "a secret token" }
        configuration.gateways.insert("ws://127.0.0.1:1", at: 0)
        configuration.logLevel = level
        configuration.logHandler = { level, text in lines.withLock { $0.append((level, text)) } }
        let client = ChatroomClient(configuration)
        try await client.connect()
        let told = lines.withLock { $0 }
        #expect(told.allSatisfy { $0.level >= level && !$0.text.contains("secret") })
        #expect(told.contains { $0.level == .debug } == (level == .debug))
        #expect(told.contains { $0.level == .info } == (level <= .info))
        #expect(told.contains { $0.level == .warning } == (level <= .warning))
    }

    @Test func `a cancelled call returns at once, and what it asked for goes on`() async throws {
        let gateway = try await FakeGateway()
        let client = ChatroomClient(configuration(gateway))
        try await client.connect()
        let room = client.room(Script.room)
        let roomEvents = await room.events()
        try await room.enter()
        // The room's owner is away, so the send waits.
        gateway.say(#"{"state":{"room":"live","state":"LOST"}}"#)
        _ = try await events(roomEvents) { $0 == .state(.lost) }
        let sending = Task { try await room.send("x") }
        _ = try await events(roomEvents) { if case .delivery = $0 { true } else { false } }
        sending.cancel()
        await #expect { _ = try await sending.value } throws: { ($0 as? ClientError)?.code == .cancelled }
        gateway.say(#"{"state":{"room":"live","state":"ENTERED"}}"#)
        _ = try await events(roomEvents) {
            if case .delivery(let change) = $0, case .sent = change.status { true } else { false }
        }
    }
}
