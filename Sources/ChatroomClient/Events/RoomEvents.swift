import ClientCore

/// The events of one stay in a room, for one consumer; each call of ``Chatroom/events()`` gives another.
///
/// It begins with what happens after that call and ends when the stay ends. A consumer that is slow loses nobody else
/// anything: beyond ``ChatroomConfiguration/waitingEventsMax`` its events are summarised as a `gap` with cause
/// `consumer` and as `skipped`.
public struct RoomEvents: AsyncSequence, Sendable {
    public typealias Element = RoomEvent
    public typealias Failure = Never

    let feed: EventFeed<RoomOverflow>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: EventFeed<RoomOverflow>

        public mutating func next() async -> RoomEvent? { await feed.next() }
    }
}

/// The events of the whole client, for one consumer; it ends with the client or with the consumer's task.
public struct ClientEvents: AsyncSequence, Sendable {
    public typealias Element = ClientEvent
    public typealias Failure = Never

    let feed: EventFeed<ClientOverflow>

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(feed: feed) }

    public struct AsyncIterator: AsyncIteratorProtocol {
        let feed: EventFeed<ClientOverflow>

        public mutating func next() async -> ClientEvent? { await feed.next() }
    }
}
