import ChatModel
import ClientCore
import Wire

/// The calls about the session.
extension ChatroomClient {
    /// Connects, and stays connected until ``close()``: returns when the first connection is up.
    /// - Throws: what ended the last of the tries (`ClientSettings.retryCount`).
    public func connect() async throws(ClientError) { _ = try await ask { .start(ticket: $0) } }

    /// Leaves all rooms and closes the connection. ``connect()`` starts anew.
    public func close() { take([.stop]) }

    /// Gives the server a new token of the same user; the client does so by itself when the server asks.
    /// - Returns: when it ends.
    @discardableResult
    public func refresh(token: String) async throws(ClientError) -> Timestamp {
        guard case .refresh(let result) = try await perform(.refresh(RefreshRequest(token: token))) else {
            throw .mismatch
        }
        return result.expiresAt
    }

    /// Asks whether the way is open.
    /// - Returns: the server's clock.
    @discardableResult
    public func ping() async throws(ClientError) -> Timestamp {
        guard case .ping(let result) = try await perform(.ping) else { throw .mismatch }
        return result.time
    }

    /// A room, to be entered or not: makes no request.
    public nonisolated func room(_ id: RoomID) -> Chatroom { Chatroom(client: self, id: id) }

    /// A room by the text of its ID.
    /// - Throws: `invalidID` for text that is no room ID.
    public nonisolated func room(_ id: String) throws(ClientError) -> Chatroom {
        guard let id = RoomID(id) else { throw ClientError(.invalidID, "\(id.prefix(80)) is no room ID") }
        return Chatroom(client: self, id: id)
    }

    /// Calls `handler` with each event of the client, one after the other.
    /// - Returns: false, and nothing is added, if there is a listener under this key.
    @discardableResult
    public func addListener(_ key: String, _ handler: @escaping @Sendable (ClientEvent) async -> Void) -> Bool {
        guard !hasListener(key) else { return false }
        let events = events()
        return listen(key) { for await event in events { await handler(event) } }
    }

    /// As ``Chatroom/addListener(_:_:)``.
    func addListener(
        _ key: String, room: RoomID, _ handler: @escaping @Sendable (RoomEvent) async -> Void
    ) -> Bool {
        guard !hasListener(key) else { return false }
        let events = RoomEvents(feed: subscribe(to: room, lasting: true))
        return listen(key) { for await event in events { await handler(event) } }
    }
}

extension ClientError {
    /// An answer of another operation.
    static var mismatch: ClientError {
        ClientError(.protocolViolation, "the server answered another operation than was asked")
    }
}
