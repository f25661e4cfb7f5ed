/// What happens when, as a binary heap: the earliest first, of one time what was added first.
package struct EventQueue<Event> {
    /// Small, because items move; the events stay where they are.
    private struct Item {
        let at: Duration
        let order: Int
        let slot: Int

        func isBefore(_ other: Item) -> Bool { at < other.at || (at == other.at && order < other.order) }
    }

    private var heap: [Item] = []
    private var events: [Event?] = []
    private var freeSlots: [Int] = []
    private var order = 0

    package init() {}

    package mutating func add(_ event: Event, at: Duration) {
        order += 1
        let slot = freeSlots.popLast() ?? events.count
        if slot == events.count { events.append(event) } else { events[slot] = event }
        let item = Item(at: at, order: order, slot: slot)
        heap.append(item)
        var place = heap.count - 1
        while place > 0, item.isBefore(heap[(place - 1) / 2]) {
            heap[place] = heap[(place - 1) / 2]
            place = (place - 1) / 2
        }
        heap[place] = item
    }

    /// The next one that is due by `end`.
    package mutating func popNext(until end: Duration) -> (at: Duration, event: Event)? {
        guard let next = heap.first, next.at <= end, let last = heap.popLast() else { return nil }
        let event = events[next.slot]
        events[next.slot] = nil
        freeSlots.append(next.slot)
        if !heap.isEmpty {
            var place = 0
            while 2 * place + 1 < heap.count {
                var child = 2 * place + 1
                if child + 1 < heap.count, heap[child + 1].isBefore(heap[child]) { child += 1 }
                guard heap[child].isBefore(last) else { break }
                heap[place] = heap[child]
                place = child
            }
            heap[place] = last
        }
        return event.map { (next.at, $0) }
    }
}
