/// The queue of this project: first in, first out, with amortised O(1) operations. Memory follows the number of elements,
/// and what an element holds is let go of when it is removed.
///
/// All of it is inlinable: other modules would run its generic form, which looks up its types in each call.
public struct Fifo<Element> {
    /// nil: removed.
    @usableFromInline var elements: [Element?] = []
    @usableFromInline var head = 0

    /// Storage for more elements than this, which one crowd needed, is given back.
    @usableFromInline static var capacityKept: Int { 1_024 }

    @inlinable
    public init(_ elements: [Element] = []) { self.elements = elements }

    @inlinable public var count: Int { elements.count - head }
    @inlinable public var isEmpty: Bool { head == elements.count }
    @inlinable public var first: Element? { head < elements.count ? elements[head] : nil }

    /// The element with so many before it.
    @inlinable
    public subscript(offset: Int) -> Element {
        guard offset >= 0, offset < count, let element = elements[head + offset] else {
            preconditionFailure("there is no element \(offset) of \(count)")
        }
        return element
    }

    @inlinable
    public mutating func append(_ element: Element) { elements.append(element) }

    @inlinable
    public mutating func append(contentsOf more: some Sequence<Element>) {
        for element in more { elements.append(element) }
    }

    @inlinable
    public mutating func removeFirst() {
        guard head < elements.count else { return }
        elements[head] = nil
        head += 1
        compact()
    }

    /// Removes so many from the front; all when there are fewer.
    @inlinable
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
    @inlinable
    public mutating func popFirst() -> Element? {
        guard head < elements.count else { return nil }
        // Moved and not copied: the element may be many references.
        let first = elements[head].take()
        head += 1
        compact()
        return first
    }

    @inlinable
    mutating func compact() {
        // At least half is dead: moving the rest is paid for by what was removed.
        guard head * 2 >= elements.count, head >= 64 || head == elements.count else { return }
        if head == elements.count {
            elements.removeAll(keepingCapacity: elements.count <= Self.capacityKept)
        } else if elements.count > Self.capacityKept {
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
        @usableFromInline var rest: ArraySlice<Element?>.Iterator

        @inlinable
        init(_ rest: ArraySlice<Element?>) { self.rest = rest.makeIterator() }

        @inlinable
        public mutating func next() -> Element? { rest.next() ?? nil }
    }

    @inlinable
    public func makeIterator() -> Iterator { Iterator(elements[head...]) }

    @inlinable public var underestimatedCount: Int { count }
}

extension Fifo: Equatable where Element: Equatable {
    @inlinable
    public static func == (a: Fifo, b: Fifo) -> Bool { a.count == b.count && a.elementsEqual(b) }
}

extension Fifo: Hashable where Element: Hashable {
    @inlinable
    public func hash(into hasher: inout Hasher) {
        hasher.combine(count)
        for element in self { hasher.combine(element) }
    }
}
