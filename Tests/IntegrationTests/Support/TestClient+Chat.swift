import ChatModel
import HTTPWebSocket
import Wire

/// The operations as tests want them: the result, or an error thrown.
extension TestClient {
    /// Opens a WebSocket and connects.
    static func connected(
        _ node: TestNode, _ user: String, session: SessionID? = nil, rooms: [String]? = nil,
        encoding: ClientEncoding = TestClient.standardEncoding
    ) async throws -> TestClient {
        let client = try await TestClient.open(port: node.clientPort, encoding: encoding)
        try await client.connect(token: node.token(user, rooms: rooms), session: session)
        return client
    }

    @discardableResult
    func connect(token: String, session: SessionID? = nil) async throws -> ConnectResult {
        var request = ConnectRequest(token: token)
        request.session = session
        return try await connect(request)
    }

    func connect(_ request: ConnectRequest) async throws -> ConnectResult {
        guard case .connect(let result) = try await ask(.connect(request)).get() else {
            throw TestFailure("connect has another result")
        }
        remember(result)
        return result
    }

    @discardableResult
    func enter(_ room: RoomID, since: UInt64? = nil, epoch: String? = nil) async throws -> EnterResult {
        try await enter(EnterRequest(room: room, since: since, epoch: epoch))
    }

    @discardableResult
    func enter(_ request: EnterRequest) async throws -> EnterResult {
        guard case .enter(let result) = try await ask(.enter(request)).get() else {
            throw TestFailure("enter has another result")
        }
        return result
    }

    @discardableResult
    func send(_ room: RoomID, _ text: String, clientID: String? = nil) async throws -> SendResult {
        guard case .send(let result) = try await ask(.text(room, text, clientID: clientID)).get() else {
            throw TestFailure("send has another result")
        }
        return result
    }

    /// Requests in one frame are taken at one moment, whatever the machine's speed. Of a client that speaks JSON.
    func askAtOnce(_ operations: [ClientOperation]) async throws -> [Result<OperationResult, ChatError>] {
        var json: [UInt8] = []
        var ids: [UInt32] = []
        for operation in operations {
            ids.append(takeID())
            if !json.isEmpty { json.append(UInt8(ascii: "\n")) }
            ClientRequest(id: ids.last, operation: operation).appendJSON(to: &json)
        }
        await write(.text, json)
        return try await ids.asyncMap { try await self.reply(to: $0) }
    }

    func history(_ room: RoomID, _ query: HistoryRequest = HistoryRequest()) async throws -> MessagesResult {
        guard case .history(let result) = try await ask(.history(RoomHistoryRequest(room: room, query: query))).get()
        else { throw TestFailure("history has another result") }
        return result
    }

    /// Everything that is kept after `seq`, oldest first, page by page.
    func wholeHistory(_ room: RoomID, after seq: UInt64 = 0) async throws -> [Message] {
        var all: [Message] = []
        while true {
            var query = HistoryRequest()
            query.ascending = true
            query.limit = 100
            query.afterSeq = all.last?.seq ?? seq
            let page = try await history(room, query)
            all += page.messages
            guard page.more == true else { return all }
        }
    }

    func members(_ room: RoomID, _ kind: MemberKind = .temporary) async throws -> [Member] {
        guard case .members(let result) = try await ask(.members(MembersRequest(room: room, kind: kind))).get() else {
            throw TestFailure("members has another result")
        }
        return result.members
    }

    /// What has come of a room's messages, notifications included.
    func messages(of room: RoomID) -> [Message] {
        items.compactMap {
            guard case .push(.message(let message)) = $0, message.room == room else { return nil }
            return message
        }
    }

    /// The texts that have come of a room.
    func texts(of room: RoomID) -> [String] { messages(of: room).compactMap(\.text) }

    /// The notifications about a user that have come.
    func events(of room: RoomID, about user: String) -> [EventCode] {
        messages(of: room).compactMap(\.notification).filter { $0.targets.contains { $0.user.text == user } }.map(
            \.event)
    }

    /// Waits until a message with that text has come.
    @discardableResult
    func message(_ text: String, from start: Int = 0) async throws -> Message {
        try await item("the message \(text.prefix(40))", from: start) {
            guard case .push(.message(let message)) = $0, message.text == text else { return nil }
            return message
        }
    }

    /// Waits until a barrage item with that text has come.
    @discardableResult
    func barrage(_ text: String, from start: Int = 0) async throws -> BarrageItem {
        try await item("the barrage \(text.prefix(40))", from: start) {
            guard case .push(.barrage(let push)) = $0 else { return nil }
            return push.items.first { $0.text == text }
        }
    }

    /// Waits for a notification about a user.
    @discardableResult
    func notification(_ event: EventCode, of user: String, from start: Int = 0) async throws -> Notification {
        try await item("notification \(event.rawValue) of \(user)", from: start) {
            guard case .push(.message(let message)) = $0, let notification = message.notification,
                notification.event == event, notification.targets.contains(where: { $0.user.text == user })
            else { return nil }
            return notification
        }
    }
}

extension ClientOperation {
    /// A TEXT; without a `clientID` one that nobody else has.
    static func text(_ room: RoomID, _ text: String, clientID: String? = nil) -> ClientOperation {
        let unique = String(UInt64.random(in: .min ... .max), radix: 36)
        return .send(
            SendRequest(room: room, clientID: clientID ?? unique, draft: MessageDraft(body: .text(text))))
    }
}

extension Message {
    var text: String? { if case .text(let text) = body { text } else { nil } }
    var notification: Notification? { if case .notification(let notification) = body { notification } else { nil } }
}
