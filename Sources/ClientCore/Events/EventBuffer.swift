import ChatModel

/// A summary, of bounded size, of events for which a consumer's buffer has no room.
package protocol EventOverflow: Sendable {
    associatedtype Event: Sendable
    init()
    /// Adds an event to the summary.
    mutating func fold(_ event: Event)
    /// The summary as events, in an order that makes sense to a consumer.
    func events() -> [Event]
}

/// The events that one consumer has not taken yet.
///
/// Bound: `eventsMax` events. At the bound new events go into a summary, and when the consumer has taken everything
/// that came before, it gets the summary in their place: a local gap, never silence.
package struct EventBuffer<Overflow: EventOverflow>: Sendable {
    private var waiting = Fifo<Overflow.Event>()
    private var overflow: Overflow?
    private let eventsMax: Int

    package init(eventsMax: Int) { self.eventsMax = max(1, eventsMax) }

    package var count: Int { waiting.count }

    package mutating func append(_ event: Overflow.Event) {
        // Everything behind the first one that did not fit is summarised with it, so that the order stays true.
        if overflow == nil, count < eventsMax { return waiting.append(event) }
        var summary = overflow ?? Overflow()
        summary.fold(event)
        overflow = summary
    }

    package mutating func next() -> Overflow.Event? {
        if count == 0, let summary = overflow {
            overflow = nil
            waiting = Fifo(summary.events())
        }
        return waiting.popFirst()
    }
}
