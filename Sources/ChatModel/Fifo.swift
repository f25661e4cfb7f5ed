/// The queue of this project: first in, first out, with amortised O(1) operations. Memory follows the number of elements,
/// and what an element holds is let go of when it is removed.
public struct Fifo<Element> {
    /// nil: removed.
    private var elements: [Element?] = []
    private var head = 0

    /// Storage for more elements than this, which one crowd needed, is given back.
    private static var capacityKept: Int { 1_024 }

    public init(_ elements: [Element] = []) { self.elements = elements }

    public var count: Int { elements.count - head }
    public var isEmpty: Bool { head == elements.count }
    public var first: Element? { head < elements.count ? elements[head] : nil }

    /// The element with so many before it.
    public subscript(offset: Int) -> Element {
        guard offset >= 0, offset < count, let element = elements[head + offset] else {
            preconditionFailure("there is no element \(offset) of \(count)")
        }
        return element
    }

    public mutating func append(_ element: Element) { elements.append(element) }

    public mutating func append(contentsOf more: some Sequence<Element>) {
        for element in more { elements.append(element) }
    }

    public mutating func removeFirst() {
        guard head < elements.count else { return }
        elements[head] = nil
        head += 1
        compact()
    }

    /// Removes so many from the front; all when there are fewer.
    public mutating func removeFirst(_ removed: Int) {
        precondition(removed >= 0)
        let end = head + Swift.min(removed, count)
        while head < end {
            elements[head] = nil
            head += 1
        }
        compact()
    }

    /// Removes the first element and returns it; nil when there is none.
    public mutating func popFirst() -> Element? {
        guard let first else { return nil }
        removeFirst()
        return first
    }

    private mutating func compact() {
        // At least half is dead: moving the rest is paid for by what was removed.
        guard head * 2 >= elements.count, head >= 64 || head == elements.count else { return }
        if elements.count > Self.capacityKept {
            elements = Array(elements[head...])
        } else {
            elements.removeSubrange(..<head)
        }
        head = 0
    }
}

extension Fifo: Sendable where Element: Sendable {}

extension Fifo: Sequence {
    public struct Iterator: IteratorProtocol {
        private var rest: ArraySlice<Element?>.Iterator

        fileprivate init(_ rest: ArraySlice<Element?>) { self.rest = rest.makeIterator() }

        public mutating func next() -> Element? { rest.next() ?? nil }
    }

    public func makeIterator() -> Iterator { Iterator(elements[head...]) }

    public var underestimatedCount: Int { count }
}

extension Fifo: Equatable where Element: Equatable {
    public static func == (a: Fifo, b: Fifo) -> Bool { a.count == b.count && a.elementsEqual(b) }
}

extension Fifo: Hashable where Element: Hashable {
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in self { hasher.combine(element) }
    }
}
