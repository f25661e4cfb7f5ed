import ChatModel
import Wire

/// What tests of roles, queues and recalls ask and wait for.
extension TestClient {
    /// Connects and enters.
    static func entered(_ node: TestNode, _ user: String, _ room: RoomID) async throws -> TestClient {
        let client = try await connected(node, user)
        _ = try await client.enter(EnterRequest(room: room, nick: "nick of \(user)"))
        return client
    }

    /// Performs an operation that must succeed.
    @discardableResult
    func done(_ operation: ClientOperation) async throws -> OperationResult { try await ask(operation).get() }

    /// Sends a draft; its ack.
    func post(_ room: RoomID, _ draft: MessageDraft, clientID: String? = nil) async throws -> SendResult {
        let unique = clientID ?? String(UInt64.random(in: .min ... .max), radix: 36)
        guard case .send(let result) = try await done(.send(SendRequest(room: room, clientID: unique, draft: draft)))
        else { throw TestFailure("send has another result") }
        return result
    }

    /// Waits for the message of a notification of that kind.
    @discardableResult
    func event(_ event: EventCode, from start: Int = 0) async throws -> Message {
        try await item("notification \(event.rawValue)", from: start) {
            guard case .push(.message(let message)) = $0, message.notification?.event == event else { return nil }
            return message
        }
    }

    /// The notifications of a room that have come, in order.
    func notifications(of room: RoomID) -> [Notification] { messages(of: room).compactMap(\.notification) }

    /// Waits until the session has been put out of the room.
    @discardableResult
    func kicked(from room: RoomID, from start: Int = 0) async throws -> KickedPush {
        try await item("kicked from \(room)", from: start) {
            guard case .push(.kicked(let push)) = $0, push.room == room else { return nil }
            return push
        }
    }

    func queue(_ room: RoomID) async throws -> [QueueElement] {
        guard case .queue(let result) = try await done(.queue(QueueRequest(room: room))) else {
            throw TestFailure("queue has another result")
        }
        return result.elements
    }

    /// Sets an element of the queue; how it is then.
    @discardableResult
    func set(
        _ room: RoomID, _ key: String, _ value: String = "v", transient: Bool = false, ifVersion: Int64? = nil,
        clientID: String? = nil
    ) async throws -> QueueElement {
        var request = QueueSetRequest(room: room, key: key, value: value)
        request.transient = transient
        request.ifVersion = ifVersion
        request.clientID = clientID
        guard case .queueSet(let result) = try await done(.queueSet(request)) else {
            throw TestFailure("queueSet has another result")
        }
        return result.element
    }

    /// The newest message of history.
    func newest(_ room: RoomID) async throws -> Message? { try await history(room).messages.first }
}

/// A user of the tests.
func user(_ name: String) throws -> UserID {
    guard let user = UserID(name) else { throw TestFailure("\(name) is not a user ID") }
    return user
}
