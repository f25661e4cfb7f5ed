import ChatroomClient
import Synchronization
import WaitTestKit

/// Collects the events of a room and lets a test wait for what must come.
actor RoomWatch {
    private(set) var events: [RoomEvent] = []
    private var hasEnded = false
    private let changes = Changes()
    private var reading: Task<Void, Never>?

    init(_ events: RoomEvents) async {
        reading = Task { [weak self] in
            for await event in events { await self?.take(event) }
            await self?.end()
        }
    }

    deinit { reading?.cancel() }

    private func take(_ event: RoomEvent) {
        events.append(event)
        changes.note()
    }

    private func end() {
        hasEnded = true
        changes.note()
    }

    /// Waits for the first event from index `start` on in which `match` finds something.
    func event<Value: Sendable>(
        _ what: String, from start: Int = 0, _ match: @Sendable (RoomEvent) -> Value?
    ) async throws -> Value {
        var index = start
        return try await changes.wait(for: "\(what) among \(events.suffix(10))") {
            while index < events.count {
                if let value = match(events[index]) { return value }
                index += 1
            }
            if hasEnded { throw TestFailure("no \(what) among \(events.suffix(10))") }
            return nil
        }
    }

    func text(_ text: String, from start: Int = 0) async throws {
        try await event("message \(text)", from: start) { event -> Void? in
            guard case .message(let message) = event, message.text == text else { return nil }
            return ()
        }
    }

    func state(_ state: ConnectionState, from start: Int = 0) async throws {
        try await event("state \(state)", from: start) { event -> Void? in
            event == .state(state) ? () : nil
        }
    }

    /// Waits until the sequence has ended.
    func ended() async throws {
        try await changes.wait(for: "the end of the events") { hasEnded ? () : nil }
    }

    /// The texts that came, in order.
    var texts: [String] {
        events.compactMap { if case .message(let message) = $0 { message.text } else { nil } }
    }

    /// The seqs that came as messages, in order.
    var seqs: [UInt64] { events.compactMap { if case .message(let message) = $0 { message.seq } else { nil } } }
}

extension TestNode {
    /// A client of the SDK that finds this node also after it was started again.
    func sdkConfiguration(_ user: String?) -> ChatroomConfiguration {
        var configuration = ChatroomConfiguration()
        configuration.addressProvider = { ["ws://127.0.0.1:\(self.clientPort)"] }
        if let user {
            configuration.tokenProvider = { try self.token(user) }
        } else {
            configuration.settings.anonymous = true
        }
        configuration.settings.gapWaitMilliseconds = 200
        return configuration
    }

    func sdkClient(_ user: String) async throws -> ChatroomClient {
        let client = ChatroomClient(sdkConfiguration(user))
        try await client.connect()
        return client
    }
}

extension ChatroomClient {
    /// Enters a room and watches it.
    func entered(_ id: RoomID, _ options: EnterOptions = EnterOptions()) async throws -> (Chatroom, RoomWatch) {
        let room = room(id)
        let watch = await RoomWatch(await room.events())
        try await room.enter(options)
        return (room, watch)
    }
}
