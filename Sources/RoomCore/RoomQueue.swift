import ChatModel

/// A room's ordered key/value list (PROTOCOL.md, "Seats").
struct RoomQueue: Sendable {
    /// An element's place in the order; positions are never given twice in one life of a room.
    struct Place: Sendable, Hashable, Comparable {
        var position: Int64
        var key: String

        static func < (a: Place, b: Place) -> Bool {
            a.position < b.position || a.position == b.position && a.key.utf8.lexicographicallyPrecedes(b.key.utf8)
        }
    }

    struct Held: Sendable, Hashable {
        var element: QueueElement
        var position: Int64
    }

    /// By the bytes of the key, as the rows are.
    private(set) var held: [ExactText: Held] = [:]
    private(set) var order = SortedList<Place>()
    /// Keys of each user's transient elements, so that an exit costs nothing when there are none.
    private var transientKeys: [UserID: [String]] = [:]
    /// The position of the next new element.
    var nextPosition: Int64

    init(nextPosition: Int64 = 1) { self.nextPosition = nextPosition }

    var count: Int { held.count }
    subscript(key: String) -> QueueElement? { held[ExactText(key)]?.element }
    var head: QueueElement? { order.first.flatMap { held[ExactText($0.key)]?.element } }
    var elements: [QueueElement] { order.elements.compactMap { held[ExactText($0.key)]?.element } }

    /// Owners of transient elements, in no particular order.
    var transientOwners: Dictionary<UserID, [String]>.Keys { transientKeys.keys }

    func transientCount(of owner: UserID) -> Int { transientKeys[owner]?.count ?? 0 }

    /// In the queue's order.
    func transientElements(of owner: UserID) -> [QueueElement] {
        guard let keys = transientKeys[owner] else { return [] }
        return sorted(keys)
    }

    /// In the queue's order.
    var transientElements: [QueueElement] { sorted(transientKeys.values.flatMap { $0 }) }

    private func sorted(_ keys: [String]) -> [QueueElement] {
        keys.compactMap { held[ExactText($0)] }.sorted { $0.position < $1.position }.map(\.element)
    }

    /// Puts a new element at the end, or overwrites one in its place; returns the position.
    @discardableResult
    mutating func set(_ element: QueueElement) -> Int64 {
        let position: Int64
        if let old = held[ExactText(element.key)] {
            position = old.position
        } else {
            position = nextPosition
            // Wraps after 2^63 new elements; two equal positions would still be ordered by key.
            nextPosition &+= 1
        }
        put(element, at: position)
        return position
    }

    /// Puts an element at a known position.
    mutating func put(_ element: QueueElement, at position: Int64) {
        if let old = held[ExactText(element.key)] {
            forget(old.element)
            order.remove(Place(position: old.position, key: element.key))
        }
        held[ExactText(element.key)] = Held(element: element, position: position)
        order.insert(Place(position: position, key: element.key))
        if element.transient { transientKeys[element.owner, default: []].append(element.key) }
    }

    @discardableResult
    mutating func remove(_ key: String) -> QueueElement? {
        guard let old = held.removeValue(forKey: ExactText(key)) else { return nil }
        order.remove(Place(position: old.position, key: key))
        forget(old.element)
        return old.element
    }

    private mutating func forget(_ element: QueueElement) {
        guard element.transient, var keys = transientKeys.removeValue(forKey: element.owner) else { return }
        let gone = ExactText(element.key)
        keys.removeAll { ExactText($0) == gone }
        if !keys.isEmpty { transientKeys[element.owner] = keys }
    }
}
