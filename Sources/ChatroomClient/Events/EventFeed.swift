import ChatModel
import ClientCore

/// The events of one consumer: pushed by the client, taken by the consumer at its own pace.
final class EventFeed<Overflow: EventOverflow>: Sendable {
    private struct State {
        var buffer: EventBuffer<Overflow>
        var isFinished = false
        var waiter: CheckedContinuation<Overflow.Event?, Never>?
    }

    private let state: Locked<State>

    init(eventsMax: Int) { state = Locked(State(buffer: EventBuffer(eventsMax: eventsMax))) }

    func push(_ event: Overflow.Event) {
        let due = state.withLock { state -> (CheckedContinuation<Overflow.Event?, Never>, Overflow.Event?)? in
            guard !state.isFinished else { return nil }
            state.buffer.append(event)
            guard let waiter = state.waiter else { return nil }
            state.waiter = nil
            return (waiter, state.buffer.next())
        }
        if let (waiter, event) = due { waiter.resume(returning: event) }
    }

    /// No more events: the consumer takes what is there and comes to its end.
    func finish() {
        let waiter = state.withLock { state in
            state.isFinished = true
            defer { state.waiter = nil }
            return state.waiter
        }
        waiter?.resume(returning: nil)
    }

    /// The next event; nil at the end, when the task is cancelled, or for a second consumer at once.
    func next() async -> Overflow.Event? {
        await withTaskCancellationHandler {
            await withCheckedContinuation { (continuation: CheckedContinuation<Overflow.Event?, Never>) in
                let now = state.withLock { state -> Overflow.Event?? in
                    if let event = state.buffer.next() { return .some(event) }
                    if state.isFinished || state.waiter != nil || Task.isCancelled { return .some(nil) }
                    state.waiter = continuation
                    return nil
                }
                if let now { continuation.resume(returning: now) }
            }
        } onCancel: {
            let waiter = state.withLock { state in
                defer { state.waiter = nil }
                return state.waiter
            }
            waiter?.resume(returning: nil)
        }
    }
}

/// A feed that the client does not keep alive: it is gone with its consumer.
struct WeakFeed<Overflow: EventOverflow> {
    private(set) weak var feed: EventFeed<Overflow>?

    init(_ feed: EventFeed<Overflow>) { self.feed = feed }
}

extension [RoomID: [WeakFeed<RoomOverflow>]] {
    /// Forgets the feeds of a room whose consumers are gone.
    mutating func purge(_ room: RoomID) {
        guard var feeds = self[room] else { return }
        feeds.removeAll { $0.feed == nil }
        self[room] = feeds.isEmpty ? nil : feeds
    }
}
